/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory and checksum functions of libc/arm64, against plain loops. */
#include "../../tests/unit/memory_checks.h"
#include "kernel/application.h"
#include "kernel/print.h"
#include <libc/internet_checksum.h>
#include <string.h>

int application_main(void)
{
    static const struct memory_functions functions = {
        .copy = memcpy,
        .move = memmove,
        .set = memset,
        .compare = memcmp,
        .checksum = internet_checksum,
        .checksum_copy = internet_checksum_copy,
    };
    const char *wrong = memory_checks(&functions);

    if (wrong != NULL) {
        print("FAIL: %s\n", wrong);
        return 1;
    }
    print("PASS\n");
    return 0;
}
