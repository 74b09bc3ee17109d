/* SPDX-License-Identifier: BSD-2-Clause */
/* A guest that never has work. */
#include "machine.h"

void guest_main(void)
{
    for (;;) {
        __asm__ volatile("wfi");
    }
}
