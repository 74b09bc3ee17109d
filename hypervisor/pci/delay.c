/* SPDX-License-Identifier: BSD-2-Clause */
#include "pci/function.h"

/* Returns the physical counter. The ISB keeps the counter from being read early (Arm ARM, "The
 * physical counter"). */
static uint64_t counter(void)
{
    uint64_t ticks;

    __asm__ volatile("isb\n\tmrs %0, cntpct_el0" : "=r"(ticks) : : "memory");
    return ticks;
}

void pci_delay(uint32_t microseconds)
{
    uint64_t start = counter(), frequency;

    __asm__("mrs %0, cntfrq_el0" : "=r"(frequency));
    while ((counter() - start) * 1000000 < frequency * microseconds) {
    }
}
