/* SPDX-License-Identifier: BSD-2-Clause */
#include "schedule/supply.h"

/* Pieces of consecutive ticks of a budget besides those of `piece` ticks or more. */
#define MORE_PIECES 3u

#define NANOSECONDS 1000000000u /* in a second */

static uint64_t least(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

bool supply_is_valid(const struct supply *supply)
{
    if (supply->budget == 0) {
        return true;
    }
    return schedule_check_parameters(supply->budget, supply->period) == SCHEDULE_OK &&
           supply->waiting < supply->budget && supply->piece > 0 &&
           supply->piece <= supply->budget && supply->delay <= SCHEDULE_PERIOD_MAX &&
           supply->cost <= SCHEDULE_PERIOD_MAX;
}

static uint64_t ticks_down(uint64_t nanoseconds, uint64_t frequency)
{
    return schedule_ratio_floor(nanoseconds, frequency, NANOSECONDS);
}

static uint64_t ticks_up(uint64_t nanoseconds, uint64_t frequency)
{
    return schedule_ratio_ceiling(nanoseconds, frequency, NANOSECONDS);
}

struct supply supply_in_ticks(const struct supply *nanoseconds, uint64_t frequency)
{
    struct supply supply = {
        .budget = ticks_down(nanoseconds->budget, frequency),
        .period = ticks_up(nanoseconds->period, frequency),
        .delay = ticks_up(nanoseconds->delay, frequency),
        .waiting = ticks_up(nanoseconds->waiting, frequency),
        .piece = ticks_down(nanoseconds->piece, frequency),
        .cost = ticks_up(nanoseconds->cost, frequency),
    };

    supply.waiting = least(supply.waiting, supply.budget > 0 ? supply.budget - 1 : 0);
    supply.piece = supply.piece > 0 ? supply.piece : 1;
    return supply;
}

/* Returns the ticks of the first budget that do not wait for the second one. */
static uint64_t prompt(const struct supply *supply)
{
    return supply->budget - supply->waiting;
}

/* Returns the time at which the second budget begins with the ticks of the first that have waited
 * for it. */
static uint64_t second_begin(const struct supply *supply)
{
    return 2 * supply->period - supply->budget - supply->waiting;
}

/* Returns the ticks of budget that are available within `time`. */
static uint64_t available_within(const struct supply *supply, uint64_t time)
{
    uint64_t gap = supply->period - supply->budget;
    uint64_t begin = second_begin(supply);
    uint64_t ticks;

    if (time <= gap) {
        return 0;
    }
    ticks = least(time - gap, prompt(supply));
    if (time > begin) {
        ticks += (time - begin) / supply->period * supply->budget;
        ticks += least((time - begin) % supply->period, supply->budget);
    }
    return ticks;
}

/* Returns the least time within which so many ticks of budget, at least 1, are available. */
static uint64_t available_time(const struct supply *supply, uint64_t ticks)
{
    uint64_t periods, time;

    if (ticks <= prompt(supply)) {
        return supply->period - supply->budget + ticks;
    }
    ticks -= prompt(supply) + 1;
    periods = ticks / supply->budget;
    if (__builtin_mul_overflow(periods, supply->period, &time) ||
        __builtin_add_overflow(time, second_begin(supply) + ticks % supply->budget + 1, &time)) {
        return SCHEDULE_NEVER;
    }
    return time;
}

/* Returns what the costs of so many pieces leave of `ticks`. */
static uint64_t less_costs(const struct supply *supply, uint64_t ticks, uint64_t pieces)
{
    uint64_t costs = pieces * supply->cost;

    return ticks > costs ? ticks - costs : 0;
}

/* Returns the ticks that so many consecutive ticks of budget leave for the guest. The cost of one
 * more piece may exceed the ticks of this piece; the guest then has what the pieces before left. */
static uint64_t left_for_guest(const struct supply *supply, uint64_t ticks)
{
    uint64_t whole = ticks / supply->piece;
    uint64_t with, without;

    if (supply->piece <= supply->cost) {
        return 0;
    }
    with = less_costs(supply, ticks, whole + MORE_PIECES);
    without =
        whole == 0 ? 0 : less_costs(supply, whole * supply->piece - 1, whole - 1 + MORE_PIECES);
    return with > without ? with : without;
}

/* Returns the least number of consecutive ticks of budget that leave `ticks`, at least 1, for the
 * guest; SCHEDULE_NEVER if there is none. */
static uint64_t budget_for_guest(const struct supply *supply, uint64_t ticks)
{
    uint64_t whole = 0, in_pieces, costs;

    if (supply->piece <= supply->cost) {
        return SCHEDULE_NEVER;
    }
    ticks += MORE_PIECES * supply->cost;
    if (ticks >= supply->piece) {
        whole = (ticks - supply->piece) / (supply->piece - supply->cost) + 1;
    }
    if (__builtin_mul_overflow(whole, supply->piece, &in_pieces) ||
        __builtin_mul_overflow(whole, supply->cost, &costs)) {
        return SCHEDULE_NEVER;
    }
    return in_pieces > ticks + costs ? in_pieces : ticks + costs;
}

uint64_t supply_within(const struct supply *supply, uint64_t time)
{
    if (supply->budget == 0 || time <= supply->delay) {
        return 0;
    }
    return left_for_guest(supply, available_within(supply, time - supply->delay));
}

uint64_t supply_time(const struct supply *supply, uint64_t ticks)
{
    uint64_t budget, time;

    if (ticks == 0) {
        return 0;
    }
    if (supply->budget == 0 || ticks > SCHEDULE_NOW_MAX) {
        return SCHEDULE_NEVER;
    }
    budget = budget_for_guest(supply, ticks);
    time = budget == SCHEDULE_NEVER ? SCHEDULE_NEVER : available_time(supply, budget);
    return time <= SCHEDULE_NOW_MAX - supply->delay ? time + supply->delay : SCHEDULE_NEVER;
}
