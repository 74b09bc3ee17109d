/* SPDX-License-Identifier: BSD-2-Clause */
#include "schedule/ticks.h"

struct quotient {
    uint64_t value;
    uint64_t remainder;
};

enum schedule_error schedule_check_parameters(uint64_t budget, uint64_t period)
{
    if (period == 0 || period > SCHEDULE_PERIOD_MAX) {
        return SCHEDULE_PERIOD_OUT_OF_RANGE;
    }
    return budget == 0 || budget > period ? SCHEDULE_BUDGET_OUT_OF_RANGE : SCHEDULE_OK;
}

/* Returns value * numerator / denominator for numerator < denominator. The algorithm is schoolbook
 * multiplication by the bits of `value`, highest first, reduced after each step. The quotient is
 * less than `value`. */
static struct quotient multiply_fraction(uint64_t value, uint64_t numerator, uint64_t denominator)
{
    struct quotient result = {0, 0};

    for (unsigned bit = 64; bit-- > 0;) {
        result.value *= 2;
        result.remainder *= 2;
        if ((value >> bit & 1) != 0) {
            result.remainder += numerator;
        }
        while (result.remainder >= denominator) { /* the loop has at most two rounds */
            result.remainder -= denominator;
            result.value++;
        }
    }
    return result;
}

/* Does the same as multiply_divide(), for products of more than 64 bits. */
static struct quotient multiply_divide_wide(uint64_t value, uint64_t numerator,
                                            uint64_t denominator)
{
    struct quotient result = multiply_fraction(value, numerator % denominator, denominator);
    uint64_t whole;

    if (__builtin_mul_overflow(value, numerator / denominator, &whole) ||
        __builtin_add_overflow(result.value, whole, &result.value)) {
        return (struct quotient){UINT64_MAX, 0};
    }
    return result;
}

static struct quotient multiply_divide(uint64_t value, uint64_t numerator, uint64_t denominator)
{
    uint64_t product;

    if (__builtin_mul_overflow(value, numerator, &product)) {
        return multiply_divide_wide(value, numerator, denominator);
    }
    return (struct quotient){product / denominator, product % denominator};
}

uint64_t schedule_ratio_floor(uint64_t value, uint64_t numerator, uint64_t denominator)
{
    return multiply_divide(value, numerator, denominator).value;
}

uint64_t schedule_ratio_ceiling(uint64_t value, uint64_t numerator, uint64_t denominator)
{
    struct quotient result = multiply_divide(value, numerator, denominator);

    if (result.remainder != 0 && result.value != UINT64_MAX) {
        return result.value + 1;
    }
    return result.value;
}
