/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The clock of ./bulkhead campaign: it executes without a pause, on a core of its own. With one
 * thread for all processors, as QEMU's -icount has it, the emulated time is then the number of
 * executed instructions, because there is no time in which no processor executes.
 *
 * QEMU lets a processor execute until about the next event of a timer. So a timer that is always
 * about to expire makes the processors take short turns. Otherwise a processor that waits for
 * another one's lock would wait for milliseconds.
 */
#include "kernel/application.h"
#include "kernel/interrupt.h"
#include <stdint.h>

#define TURN_TICKS UINT64_C(2500) /* of the counter: 40 us */
/* CNTV_CTL_EL0 (Arm ARM): the timer counts, and its interrupt is masked. */
#define TIMER_ENABLE UINT64_C(1)
#define TIMER_IMASK  UINT64_C(2)
#define LOOPS_A_TURN 128u /* of 66 instructions: 8 us */

/*
 * A block of 64 instructions costs the emulator little when it is executed. QEMU ends a turn of a
 * processor anywhere in a block, and translates the part before and the rest of it anew: the blocks
 * are few, so that it soon has a translation for each part.
 */
static void execute_for_a_turn(void)
{
    for (unsigned i = 0; i < LOOPS_A_TURN; i++) {
        __asm__ volatile(".rept 62\n\tnop\n\t.endr");
    }
}

int application_main(void)
{
    (void)interrupts_save();
    __asm__ volatile("msr cntv_ctl_el0, %0" ::"r"(TIMER_ENABLE | TIMER_IMASK));
    for (;;) {
        __asm__ volatile("msr cntv_tval_el0, %0" ::"r"(TURN_TICKS));
        execute_for_a_turn();
    }
}
