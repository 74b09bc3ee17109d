/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ends as the boot arguments say: `status=N` is the exit status, `restart` restarts the machine,
 * `unfinished` prints a last line without a newline.
 */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/panic.h"
#include "kernel/print.h"

int application_main(void)
{
    int status = (int)boot_argument_number("status", 0, 0, 255);
    char value[2];

    if (boot_argument("restart", value, sizeof value)) {
        print("restarting\n");
        machine_restart();
    }
    print("ending with %d\n", status);
    if (boot_argument("unfinished", value, sizeof value)) {
        print("unfinished");
    }
    return status;
}
