/* SPDX-License-Identifier: BSD-2-Clause */
/* A guest that executes all the time, and prints once. */
#include "machine.h"

void guest_main(void)
{
    print("spins\n");
    for (;;) {
        __asm__ volatile("" : : : "memory");
    }
}
