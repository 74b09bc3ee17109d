/* SPDX-License-Identifier: BSD-2-Clause */
#include "work.h"

#include "kernel/interrupt.h"
#include "kernel/time.h"

#define MEASURED_TURNS 100000u

void work_execute(uint64_t turns)
{
    for (volatile uint64_t turn = 0; turn < turns; turn++) {
    }
}

static uint64_t measure(void)
{
    interrupt_state state = interrupts_save();
    uint64_t before = time_now();
    uint64_t took;

    work_execute(MEASURED_TURNS);
    took = time_now() - before;
    interrupts_restore(state);
    return took;
}

uint64_t work_turns(uint64_t nanoseconds)
{
    static uint64_t measured; /* 0: not yet */

    if (measured == 0) {
        measured = measure();
    }
    return nanoseconds * MEASURED_TURNS / measured;
}
