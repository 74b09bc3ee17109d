/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Units, limits and errors of the scheduling logic.
 *
 * Times and durations are unsigned ticks of one clock that never runs backwards. The logic never
 * reads a clock: the caller reads it once for a decision and passes the value as `now` to each call
 * of that decision. No function allocates memory, takes a lock, or loops without a bound. The
 * caller serialises all calls for one object. Any context.
 *
 * Periods up to SCHEDULE_PERIOD_MAX keep all arithmetic within 64 bits: 18 minutes at 1 GHz, 4
 * hours at 62.5 MHz. The latest time SCHEDULE_NOW_MAX is 146 years at 1 GHz.
 */
#ifndef SCHEDULE_TICKS_H
#define SCHEDULE_TICKS_H

#include <stdint.h>

#define SCHEDULE_PERIOD_MAX (UINT64_C(1) << 40)
#define SCHEDULE_NOW_MAX    (UINT64_C(1) << 62)
#define SCHEDULE_TIME_MAX   (UINT64_C(1) << 63) /* no budget is postponed beyond this time */
#define SCHEDULE_NEVER      UINT64_MAX

enum schedule_error {
    SCHEDULE_OK,
    SCHEDULE_PERIOD_OUT_OF_RANGE,   /* 0, or longer than SCHEDULE_PERIOD_MAX */
    SCHEDULE_BUDGET_OUT_OF_RANGE,   /* 0, or longer than the period */
    SCHEDULE_CAPACITY_OUT_OF_RANGE, /* the capacity of a replenishment queue */
    SCHEDULE_TOO_MANY_VCPUS,        /* more than ADMISSION_VCPUS_MAX */
    SCHEDULE_OVERLOADED,            /* a VCPU would miss its budget */
    /* The analysis did not end within ADMISSION_STEPS_MAX steps: refuse the set. */
    SCHEDULE_UNDECIDED,
};

/* Returns SCHEDULE_OK if 1 <= budget <= period <= SCHEDULE_PERIOD_MAX, or one of the first two
 * errors. */
enum schedule_error schedule_check_parameters(uint64_t budget, uint64_t period);

/*
 * Return value * numerator / denominator, rounded down or up. The product may exceed 64 bits. A
 * quotient that exceeds 64 bits is returned as UINT64_MAX. `denominator`: 1 to 2^62.
 */
uint64_t schedule_ratio_floor(uint64_t value, uint64_t numerator, uint64_t denominator);
uint64_t schedule_ratio_ceiling(uint64_t value, uint64_t numerator, uint64_t denominator);

#endif
