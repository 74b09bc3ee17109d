/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits that keep the processor. Citations: Arm Architecture Reference Manual for
 * A-profile, DDI 0487 ("Arm ARM"). */
#ifndef ARCH_WAIT_H
#define ARCH_WAIT_H

#include <stdint.h>

/*
 * Returns when the word does not have the value, after an interrupt, after 0.2 ms at most
 * (kernel/machine/arm64/timer starts the event stream), or earlier. The word is in Normal cacheable
 * memory: an exclusive load of other memory may fault. It may be read-only. Thread context.
 *
 * The load opens the exclusive monitor on the word. The first store of any processor to it sends an
 * event, which ends the WFE (Arm ARM, "WFE wake-up events": the global monitor changes from
 * Exclusive to Open Access). SEVL and the first WFE consume an event from before.
 */
static inline void arch_wait_for_store(const uint64_t *word, uint64_t value)
{
    uint64_t loaded;

    __asm__ volatile("sevl\n\twfe\n\tldxr %0, %2\n\tcmp %0, %1\n\tb.ne 1f\n\twfe\n1:"
                     : "=&r"(loaded)
                     : "r"(value), "Q"(*word)
                     : "cc", "memory");
}

/* Gives other hardware threads of the core their turn. An emulator that executes one core at a time
 * continues with another core. Any context. */
static inline void arch_yield(void)
{
    __asm__ volatile("yield" : : : "memory");
}

#endif
