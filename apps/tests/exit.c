/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ends the way the boot arguments say: `status=N` is the exit status; `restart` starts the machine
 * anew; `unfinished` is the last thing said, on a line that does not end.
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
