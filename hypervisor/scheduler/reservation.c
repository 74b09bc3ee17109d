/* SPDX-License-Identifier: BSD-2-Clause */
#include "scheduler/reservation.h"

static uint32_t bit_of(unsigned level)
{
    return UINT32_C(1) << level;
}

static bool is_io(const struct reservation *reservation, unsigned level)
{
    return (reservation->io >> level & 1) != 0;
}

static uint64_t eligible_time(const struct reservation *reservation, unsigned level)
{
    const union reservation_server *server = reservation->servers[level];

    return is_io(reservation, level) ? pibs_server_eligible(&server->io)
                                     : sporadic_server_eligible(&server->main);
}

/* Updates the scheduler after a change of the VCPU's budget: it is funded now, or its next
 * replenishment is noted. */
static void refresh(struct reservation *reservation, unsigned level, uint64_t now)
{
    uint64_t eligible = eligible_time(reservation, level);

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
    reservation->io = 0;
    tournament_init(&reservation->replenishments);
}

void reservation_add(struct reservation *reservation, unsigned level,
                     union reservation_server *server)
{
    reservation->servers[level] = server;
}

void reservation_add_io(struct reservation *reservation, unsigned level,
                        union reservation_server *server)
{
    reservation->servers[level] = server;
    reservation->io |= bit_of(level);
}

/* Ends the use of the VCPU's server, after the VCPU has blocked and was charged for its
 * execution. */
static void end_execution(struct reservation *reservation, unsigned level, uint64_t now)
{
    union reservation_server *server = reservation->servers[level];

    if (is_io(reservation, level)) {
        pibs_server_block(&server->io);
    } else {
        sporadic_server_block(&server->main, now);
    }
}

/* Begins the use of the VCPU's server. An I/O VCPU may not have been charged after it blocked; then
 * its last use ends here. */
static void begin_execution(struct reservation *reservation, unsigned level, uint64_t now)
{
    union reservation_server *server = reservation->servers[level];

    if (is_io(reservation, level)) {
        pibs_server_block(&server->io);
        pibs_server_unblock(&server->io, server->io.share_period, now);
    } else {
        sporadic_server_unblock(&server->main, now);
    }
}

void reservation_unblock(struct reservation *reservation, unsigned level, uint64_t now)
{
    if ((reservation->runnable & bit_of(level)) == 0) {
        reservation->runnable |= bit_of(level);
        begin_execution(reservation, level, now);
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
    union reservation_server *server = reservation->servers[level];

    if (is_io(reservation, level)) {
        pibs_server_charge(&server->io, ticks);
    } else {
        sporadic_server_charge(&server->main, ticks);
    }
    if ((reservation->runnable & bit_of(level)) != 0) {
        refresh(reservation, level, now);
    } else {
        end_execution(reservation, level, now);
    }
}

unsigned reservation_choose(struct reservation *reservation, uint64_t now)
{
    uint32_t ready;

    /* The loop has at most one round for each VCPU, whose time is UINT64_MAX afterwards. */
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
        const union reservation_server *server = reservation->servers[executing];
        uint64_t end = is_io(reservation, executing)
                           ? pibs_server_next_event(&server->io, now)
                           : sporadic_server_next_event(&server->main, now);

        next = end < next ? end : next;
    }
    return next;
}
