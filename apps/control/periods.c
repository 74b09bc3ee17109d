/* SPDX-License-Identifier: BSD-2-Clause */
#include "periods.h"

#include "kernel/thread.h"
#include "kernel/time.h"

void periods_begin(struct periods *periods, uint64_t length)
{
    *periods = (struct periods){.length = length, .due = time_now()};
}

void periods_wait(struct periods *periods)
{
    uint64_t late;

    periods->due += periods->length;
    thread_sleep_until(periods->due);
    late = time_now() - periods->due;
    periods->count++;
    periods->missed += late >= periods->length;
    periods->worst = late > periods->worst ? late : periods->worst;
}
