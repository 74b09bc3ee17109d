/* SPDX-License-Identifier: BSD-2-Clause */
#include "shared/reservation.h"

static uint32_t bit_of(unsigned level)
{
    return UINT32_C(1) << level;
}

/* The VCPU's budget may have changed: notes whether it has some, or when it gets some. */
static void refresh(struct reservation *reservation, unsigned level, uint64_t now)
{
    uint64_t eligible = sporadic_server_eligible(reservation->servers[level]);

    if (eligible <= now) {
        reservation->funded |= bit_of(level);
        tournament_change(&reservation->replenishments, level, UINT64_MAX);
    } else {
        reservation->funded &= ~bit_of(level);
        tournament_change(&reservation->replenishments, level, eligible);
    }
}

void reservation_init(struct reservation *reservation)
{
    reservation->runnable = 0;
    reservation->funded = 0;
    tournament_init(&reservation->replenishments);
}

void reservation_add(struct reservation *reservation, unsigned level,
                     struct sporadic_server *server)
{
    reservation->servers[level] = server;
}

void reservation_unblock(struct reservation *reservation, unsigned level, uint64_t now)
{
    if ((reservation->runnable & bit_of(level)) == 0) {
        reservation->runnable |= bit_of(level);
        sporadic_server_unblock(reservation->servers[level], now);
        refresh(reservation, level, now);
    }
}

void reservation_block(struct reservation *reservation, unsigned level)
{
    reservation->runnable &= ~bit_of(level);
    reservation->funded &= ~bit_of(level);
    tournament_change(&reservation->replenishments, level, UINT64_MAX);
}

void reservation_charge(struct reservation *reservation, unsigned level, uint64_t ticks,
                        uint64_t now)
{
    sporadic_server_charge(reservation->servers[level], ticks);
    if ((reservation->runnable & bit_of(level)) != 0) {
        refresh(reservation, level, now);
    } else {
        sporadic_server_block(reservation->servers[level], now);
    }
}

unsigned reservation_choose(struct reservation *reservation, uint64_t now)
{
    uint32_t ready;

    /* At most one round for each VCPU: its place then is UINT64_MAX. */
    while (tournament_earliest(&reservation->replenishments) <= now) {
        unsigned level = tournament_winner(&reservation->replenishments);

        reservation->funded |= bit_of(level);
        tournament_change(&reservation->replenishments, level, UINT64_MAX);
    }
    ready = reservation->runnable & reservation->funded;
    return ready != 0 ? (unsigned)__builtin_ctz(ready) : RESERVATION_NONE;
}

uint64_t reservation_next_choice(const struct reservation *reservation, unsigned executing,
                                 uint64_t now)
{
    uint64_t next = tournament_earliest(&reservation->replenishments);

    if (executing != RESERVATION_NONE) {
        uint64_t end = sporadic_server_next_event(reservation->servers[executing], now);

        next = end < next ? end : next;
    }
    return next;
}
