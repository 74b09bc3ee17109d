/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tournament tree finds the earliest of up to 32 times (Knuth, The Art of Computer Programming,
 * volume 3, 5.4.1). Each VCPU that waits for budget has a place with the time of its replenishment.
 * A change of one time takes five comparisons, whatever the other times are and however many there
 * are. So a decision of a scheduler takes as long with many VCPUs as with few.
 */
#ifndef SCHEDULE_TOURNAMENT_H
#define SCHEDULE_TOURNAMENT_H

#include <stdint.h>

#define TOURNAMENT_ROUNDS 5u
#define TOURNAMENT_PLACES (1u << TOURNAMENT_ROUNDS)

struct tournament {
    /* time[1] is the earliest time, time[n] the earlier one of time[2n] and time[2n + 1], and
     * time[TOURNAMENT_PLACES + p] the time of place p. time[0] is not used. */
    uint64_t time[2 * TOURNAMENT_PLACES];
};

/* Sets the times of all places to UINT64_MAX. */
void tournament_init(struct tournament *tournament);

/* Sets the time of a place. `place`: less than TOURNAMENT_PLACES. */
void tournament_set(struct tournament *tournament, unsigned place, uint64_t time);

/* Returns the earliest time. */
static inline uint64_t tournament_earliest(const struct tournament *tournament)
{
    return tournament->time[1];
}

/* Returns the time of a place. */
static inline uint64_t tournament_at(const struct tournament *tournament, unsigned place)
{
    return tournament->time[TOURNAMENT_PLACES + place];
}

/* Does the same as tournament_set(), for a caller that often sets the time that the place has
 * already. */
static inline void tournament_change(struct tournament *tournament, unsigned place, uint64_t time)
{
    if (tournament_at(tournament, place) != time) {
        tournament_set(tournament, place, time);
    }
}

/* Returns the place of the earliest time. If several places have it, returns the smallest one. */
unsigned tournament_winner(const struct tournament *tournament);

#endif
