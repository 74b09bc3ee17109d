/* SPDX-License-Identifier: BSD-2-Clause */
/* Attacks by TLB and cache maintenance, which the processor broadcasts to all cores of the Inner
 * Shareable domain. */
#include "kernel/print.h"
#include "kernel/time.h"
#include "rogue.h"

void attack_maintenance(uint64_t where)
{
    static uint64_t line;
    uint64_t end = time_after((where != 0 ? where : 1) * NANOSECONDS_PER_SECOND);
    unsigned rounds = 0;

    while (time_now() < end) {
        __asm__ volatile("dsb ishst\n\t"
                         "tlbi vmalle1is\n\t"
                         "tlbi vaae1is, xzr\n\t"
                         "tlbi aside1is, xzr\n\t"
                         "ic ialluis\n\t"
                         "dc civac, %0\n\t"
                         "ic ivau, %0\n\t"
                         "dsb ish\n\t"
                         "isb"
                         :
                         : "r"(&line)
                         : "memory");
        rounds++;
    }
    print("%u rounds\n", rounds);
}
