/* SPDX-License-Identifier: BSD-2-Clause */
#include "schedule/tournament.h"

#include <stddef.h>

void tournament_init(struct tournament *tournament)
{
    for (unsigned i = 0; i < 2 * TOURNAMENT_PLACES; i++) {
        tournament->time[i] = UINT64_MAX;
    }
}

/* Not inline, because schedulers call it from many places. */
__attribute__((noinline)) void tournament_set(struct tournament *tournament, unsigned place,
                                              uint64_t time)
{
    /* size_t, because a narrower index would need a conversion. */
    size_t node = TOURNAMENT_PLACES + place;

#pragma GCC unroll 5 /* TOURNAMENT_ROUNDS; unrolled, the loop takes a third fewer instructions */
    for (unsigned round = 0; round < TOURNAMENT_ROUNDS; round++) {
        uint64_t other = tournament->time[node ^ 1];

        tournament->time[node] = time;
        time = other < time ? other : time;
        node /= 2;
    }
    tournament->time[1] = time;
}

unsigned tournament_winner(const struct tournament *tournament)
{
    size_t node = 1;

#pragma GCC unroll 5
    for (unsigned round = 0; round < TOURNAMENT_ROUNDS; round++) {
        node *= 2;
        node += tournament->time[node] != tournament->time[1] ? 1 : 0;
    }
    return (unsigned)(node - TOURNAMENT_PLACES);
}
