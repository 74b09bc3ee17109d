/* SPDX-License-Identifier: BSD-2-Clause */
#include "schedule/tournament.h"

void tournament_init(struct tournament *tournament)
{
    for (unsigned i = 0; i < 2 * TOURNAMENT_PLACES; i++) {
        tournament->time[i] = UINT64_MAX;
    }
}

void tournament_set(struct tournament *tournament, unsigned place, uint64_t time)
{
    unsigned node = TOURNAMENT_PLACES + place;

#pragma GCC unroll 5 /* TOURNAMENT_ROUNDS; a third fewer instructions */
    for (unsigned round = 0; round < TOURNAMENT_ROUNDS; round++) {
        uint64_t other = tournament->time[node ^ 1u];

        tournament->time[node] = time;
        time = other < time ? other : time;
        node /= 2;
    }
    tournament->time[1] = time;
}

unsigned tournament_winner(const struct tournament *tournament)
{
    unsigned node = 1;

#pragma GCC unroll 5
    for (unsigned round = 0; round < TOURNAMENT_ROUNDS; round++) {
        node *= 2;
        node += tournament->time[node] != tournament->time[1] ? 1u : 0u;
    }
    return node - TOURNAMENT_PLACES;
}
