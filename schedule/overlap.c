/* SPDX-License-Identifier: BSD-2-Clause */
#include "schedule/overlap.h"

static uint64_t smaller(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

static uint64_t larger(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

/*
 * Let g be the lag, C the budget less the overrun, and w the waiting ticks. Budget number n, from
 * 0, is supplied from begin(n) = g + T - C + n T on, and from w ticks earlier if n > 0. The supply
 * before it is n C - w ticks, 0 if n = 0. Two supplies exceed the interval x ticks later if 2 (n C
 * - w + x) > begin + x, which is within the budget if (n + 1) (2 C - T) > g + w. So begin + x is 2
 * (begin - (n C - w)) at most while they do not.
 */
uint64_t overlap_of_any(uint64_t budget, uint64_t period, uint64_t waiting,
                        const struct overlap_vcpu *one, const struct overlap_vcpu *other)
{
    uint64_t lag = larger(one->lag, other->lag);
    uint64_t overrun = larger(one->overrun, other->overrun);
    uint64_t begin, before;

    if (budget <= overrun + waiting || 2 * (budget - overrun) <= period) {
        return SCHEDULE_NEVER;
    }
    budget -= overrun;
    uint64_t number = (lag + waiting) / (2 * budget - period);

    if (number > SCHEDULE_PERIOD_MAX / period) {
        return SCHEDULE_NEVER; /* of no use to anybody */
    }
    begin = lag + period - budget + number * period;
    before = 0;
    if (number > 0) {
        begin -= waiting;
        before = number * budget - waiting;
    }
    return 2 * (begin - before);
}

uint64_t overlap_of_aligned(uint64_t budget, uint64_t period, const struct overlap_vcpu *one,
                            const struct overlap_vcpu *other)
{
    uint64_t lag = larger(one->lag, other->lag);
    uint64_t as_any = overlap_of_any(budget, period, 0, one, other);

    if (lag + larger(one->overrun, other->overrun) >= budget) {
        return as_any;
    }
    return smaller(period - budget + lag + one->lag + other->lag, as_any);
}
