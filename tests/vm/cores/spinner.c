/* SPDX-License-Identifier: BSD-2-Clause */
/* A guest that always has work, and uses nothing but its core. */
#include "machine.h"

void guest_main(void)
{
    print("spins\n");
    for (;;) {
    }
}
