/* SPDX-License-Identifier: BSD-2-Clause */
#include "scheduler/credit.h"

#include <stdbool.h>

static uint32_t bit_of(unsigned place)
{
    return UINT32_C(1) << place;
}

static uint64_t smaller(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

static uint64_t larger(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

void credit_init(struct credit *credit, uint64_t quantum)
{
    credit->runnable = 0;
    credit->woken = 0;
    credit->boosted = 0;
    credit->turn = CREDIT_NONE;
    credit->turn_left = 0;
    credit->quantum = quantum;
    credit->floor = 0;
    credit->total = 0;
    credit->gangs = 0;
    tournament_init(&credit->accounts);
    tournament_init(&credit->expiries);
}

void credit_add(struct credit *credit, unsigned place, uint32_t weight)
{
    struct credit_vcpu *vcpu = &credit->vcpus[place];

    vcpu->weight = weight;
    vcpu->remainder = 0;
    vcpu->account = 0;
    vcpu->boost_due = 0;
    vcpu->boost_left = 0;
    credit->total += weight;
}

void credit_align(struct credit *credit, unsigned place, uint32_t interval, uint32_t phase)
{
    credit->gangs |= bit_of(place);
    credit->slots[place] = (struct credit_slots){interval, phase};
}

void credit_unblock(struct credit *credit, unsigned place)
{
    if ((credit->runnable & bit_of(place)) == 0) {
        credit->runnable |= bit_of(place);
        credit->woken |= bit_of(place);
        tournament_change(&credit->expiries, place, UINT64_MAX);
    }
}

void credit_sleep(struct credit *credit, unsigned place, uint64_t expiry)
{
    tournament_change(&credit->expiries, place, expiry);
}

unsigned credit_find_expired(const struct credit *credit, uint64_t now)
{
    return tournament_earliest(&credit->expiries) <= now ? tournament_winner(&credit->expiries)
                                                         : CREDIT_NONE;
}

void credit_block(struct credit *credit, unsigned place)
{
    credit->runnable &= ~bit_of(place);
    credit->woken &= ~bit_of(place);
    credit->boosted &= ~bit_of(place);
    tournament_change(&credit->accounts, place, UINT64_MAX);
    if (credit->turn == place) {
        credit->turn = CREDIT_NONE;
    }
}

/* Returns the time, rounded up, in which the VCPU's share grows by `ticks`. `ticks`: a quantum at
 * most, so the product has less than 32 + 21 bits. */
static uint64_t refill_time(const struct credit *credit, const struct credit_vcpu *vcpu,
                            uint64_t ticks)
{
    return (ticks * credit->total + vcpu->weight - 1) / vcpu->weight;
}

/* Defers the VCPU's next boost after an execution of `ticks` until `now`. A VCPU may execute beyond
 * its share while no other needs the time. That must not defer boosts without a bound, so the next
 * boost is due at the latest when the share has grown by a quantum. */
static void defer_boost(const struct credit *credit, struct credit_vcpu *vcpu, uint64_t ticks,
                        uint64_t now)
{
    uint64_t charged = refill_time(credit, vcpu, smaller(ticks, credit->quantum));
    uint64_t latest = now + refill_time(credit, vcpu, credit->quantum);

    vcpu->boost_due = smaller(larger(vcpu->boost_due, now - ticks) + charged, latest);
}

/* Makes a VCPU that was woken take part in choices. Raises its account to the floor, and boosts it
 * if its boost is due. */
static void admit(struct credit *credit, unsigned place, uint64_t now)
{
    struct credit_vcpu *vcpu = &credit->vcpus[place];

    vcpu->account = larger(vcpu->account, credit->floor);
    tournament_change(&credit->accounts, place, vcpu->account);
    if (vcpu->boost_due <= now) {
        credit->boosted |= bit_of(place);
        vcpu->boost_left = credit->quantum;
    }
}

void credit_charge(struct credit *credit, unsigned place, uint64_t ticks, uint64_t now)
{
    struct credit_vcpu *vcpu = &credit->vcpus[place];
    uint64_t uncounted = vcpu->remainder + ticks;

    if ((credit->woken & bit_of(place)) != 0) {
        credit->woken &= ~bit_of(place);
        admit(credit, place, now - ticks);
    }
    vcpu->account += uncounted / vcpu->weight;
    vcpu->remainder = (uint32_t)(uncounted % vcpu->weight);
    defer_boost(credit, vcpu, ticks, now);
    if ((credit->boosted & bit_of(place)) != 0) {
        vcpu->boost_left -= smaller(vcpu->boost_left, ticks);
        credit->boosted &= vcpu->boost_left == 0 ? ~bit_of(place) : UINT32_MAX;
    } else if (credit->turn == place) {
        credit->turn_left -= smaller(credit->turn_left, ticks);
    }
    if ((credit->runnable & bit_of(place)) != 0) {
        tournament_change(&credit->accounts, place, vcpu->account);
    }
    credit->floor =
        larger(credit->floor, smaller(vcpu->account, tournament_earliest(&credit->accounts)));
}

/* Returns the ticks of the longest turn on a core with gangs. */
static uint64_t longest_turn(const struct credit *credit)
{
    return credit->quantum + credit->quantum / 4;
}

/* Returns true if the VCPU may have a turn before the one with the smallest account: it is ahead by
 * one turn at most, in an account that is rounded. */
static bool is_within_turn(const struct credit *credit, unsigned place)
{
    const struct credit_vcpu *vcpu = &credit->vcpus[place];
    uint64_t ahead = vcpu->account - tournament_earliest(&credit->accounts);

    return ahead <= longest_turn(credit) / vcpu->weight + 1;
}

/* Returns the VCPU that has the slot and may have the turn, or CREDIT_NONE. */
static unsigned find_in_slot(const struct credit *credit, uint64_t slot)
{
    for (uint32_t left = credit->gangs & credit->runnable; left != 0; left &= left - 1) {
        unsigned place = (unsigned)__builtin_ctz(left);
        const struct credit_slots *slots = &credit->slots[place];

        if (slot % slots->interval == slots->phase && is_within_turn(credit, place)) {
            return place;
        }
    }
    return CREDIT_NONE;
}

/* Begins a turn that ends with the present slot. In the last quarter of a slot it is the next slot,
 * so that no turn is short. Not inline, because most cores have no gangs. */
static __attribute__((noinline)) void begin_turn_in_slot(struct credit *credit, uint64_t now)
{
    uint64_t slot = (now + credit->quantum / 4) / credit->quantum;
    unsigned chosen = find_in_slot(credit, slot);

    credit->turn_left = (slot + 1) * credit->quantum - now;
    if (chosen != CREDIT_NONE) {
        credit->turn = chosen;
    }
}

unsigned credit_choose(struct credit *credit, uint64_t now)
{
    /* The loop has at most one round for each VCPU. */
    for (uint32_t left = credit->woken; left != 0; left &= left - 1) {
        admit(credit, (unsigned)__builtin_ctz(left), now);
    }
    credit->woken = 0;
    if (credit->boosted != 0) {
        return (unsigned)__builtin_ctz(credit->boosted);
    }
    if (credit->runnable == 0) {
        return CREDIT_NONE;
    }
    if (credit->turn != CREDIT_NONE && credit->turn_left != 0) {
        return credit->turn;
    }
    credit->turn = tournament_winner(&credit->accounts);
    credit->turn_left = credit->quantum;
    if (credit->gangs != 0) {
        begin_turn_in_slot(credit, now);
    }
    return credit->turn;
}

/* Returns the time at which the boost or the turn of the VCPU ends, or UINT64_MAX if no other VCPU
 * has work. */
static uint64_t end_of_turn(const struct credit *credit, unsigned executing, uint64_t now)
{
    if (executing == CREDIT_NONE || credit->runnable == bit_of(executing)) {
        return UINT64_MAX;
    }
    if ((credit->boosted & bit_of(executing)) != 0) {
        return now + credit->vcpus[executing].boost_left;
    }
    return now + credit->turn_left;
}

uint64_t credit_next_choice(const struct credit *credit, unsigned executing, uint64_t now)
{
    return smaller(end_of_turn(credit, executing, now), tournament_earliest(&credit->expiries));
}
