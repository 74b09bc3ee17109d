/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest whose timer always expires soon. QEMU with -icount executes the cores of a machine in
 * turns, each until the next timer of the machine at most. So the turns are short beside the
 * budgets of the other cores.
 */
#include "machine.h"

#define PERIOD_US 40u

void guest_main(void)
{
    uint64_t period = counter_frequency() / 1000000 * PERIOD_US;

    print("paces\n");
    for (;;) {
        uint64_t next = counter() + period;

        __asm__ volatile("msr cntv_cval_el0, %0\n\tmsr cntv_ctl_el0, %1\n\tisb"
                         :
                         : "r"(next), "r"(UINT64_C(1)));
        while (counter() < next) {
        }
    }
}
