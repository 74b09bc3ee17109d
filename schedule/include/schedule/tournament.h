/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The earliest of up to 32 times: a tournament tree (Knuth, The Art of Computer Programming, volume
 * 3, 5.4.1). Each VCPU that waits for budget has a place with the time of its replenishment. A
 * change of one time takes five comparisons, whatever the other times are and however many there
 * are: a decision of a scheduler so takes as long with many VCPUs as with few.
 */
#ifndef SCHEDULE_TOURNAMENT_H
#define SCHEDULE_TOURNAMENT_H

#include <stdint.h>

#define TOURNAMENT_ROUNDS 5u
#define TOURNAMENT_PLACES (1u << TOURNAMENT_ROUNDS)

struct tournament {
    /* time[1] is the earliest of all; time[n] the earlier one of time[2n] and time[2n + 1];
     * time[TOURNAMENT_PLACES + p] that of place p. time[0] is not used. */
    uint64_t time[2 * TOURNAMENT_PLACES];
};

/* Gives all places the time UINT64_MAX. */
void tournament_init(struct tournament *tournament);

/* Gives a place, less than TOURNAMENT_PLACES, another time. */
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

/* The same as tournament_set(), for a caller that often gives a place the time that it has. */
static inline void tournament_change(struct tournament *tournament, unsigned place, uint64_t time)
{
    if (tournament_at(tournament, place) != time) {
        tournament_set(tournament, place, time);
    }
}

/* Returns the place of the earliest time; of equal times the smallest place. */
unsigned tournament_winner(const struct tournament *tournament);

#endif
