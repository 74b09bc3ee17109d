/* SPDX-License-Identifier: BSD-2-Clause */
#include "scheduler/reservation.h"

/* Most VCPUs that get budget or work in one choice, so that no choice takes long. */
#define DUE_AT_ONCE 4u

static uint32_t bit_of(unsigned level)
{
    return UINT32_C(1) << level;
}

/* Returns true if the VCPU has no sporadic server. Most have one. */
static bool is_special(const struct reservation *reservation, unsigned level)
{
    return (reservation->special >> level & 1) != 0;
}

/* Returns true if the VCPU is aligned. False: an I/O VCPU, or one that is not special. */
static bool is_aligned(const struct reservation *reservation, unsigned level)
{
    return (reservation->aligned >> level & 1) != 0;
}

static uint64_t eligible_time(const struct reservation *reservation, unsigned level)
{
    const union reservation_server *server = reservation->servers[level];

    if (__builtin_expect(is_special(reservation, level), false)) {
        return is_aligned(reservation, level) ? deferrable_server_eligible(&server->aligned)
                                              : pibs_server_eligible(&server->io);
    }
    return sporadic_server_eligible(&server->main);
}

/* Updates the scheduler after a change of the VCPU's budget: it is funded now, or its next
 * replenishment is noted. */
static void refresh(struct reservation *reservation, unsigned level, uint64_t now)
{
    uint64_t eligible = eligible_time(reservation, level);

    if (eligible <= now) {
        reservation->funded |= bit_of(level);
        tournament_change(&reservation->due, level, UINT64_MAX);
    } else {
        reservation->funded &= ~bit_of(level);
        tournament_change(&reservation->due, level, eligible);
    }
}

void reservation_init(struct reservation *reservation)
{
    reservation->runnable = 0;
    reservation->funded = 0;
    reservation->special = 0;
    reservation->aligned = 0;
    tournament_init(&reservation->due);
}

void reservation_add(struct reservation *reservation, unsigned level,
                     union reservation_server *server)
{
    reservation->servers[level] = server;
}

void reservation_add_aligned(struct reservation *reservation, unsigned level,
                             union reservation_server *server)
{
    reservation->servers[level] = server;
    reservation->special |= bit_of(level);
    reservation->aligned |= bit_of(level);
}

void reservation_add_io(struct reservation *reservation, unsigned level,
                        union reservation_server *server)
{
    reservation->servers[level] = server;
    reservation->special |= bit_of(level);
}

/* Begins the use of the VCPU's server. An I/O VCPU may not have been charged after it blocked; then
 * its last use ends here. A deferrable server does not depend on when it is used. */
static void begin_execution(struct reservation *reservation, unsigned level, uint64_t now)
{
    union reservation_server *server = reservation->servers[level];

    if (!is_special(reservation, level)) {
        sporadic_server_unblock(&server->main, now);
    } else if (!is_aligned(reservation, level)) {
        pibs_server_block(&server->io);
        pibs_server_unblock(&server->io, server->io.share_period, now);
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
    tournament_change(&reservation->due, level, UINT64_MAX);
}

/* Lets the VCPU of a server sleep, which is eligible from then on. */
static void sleep_until(struct reservation *reservation, unsigned level, uint64_t expiry,
                        uint64_t eligible)
{
    tournament_change(&reservation->due, level, expiry > eligible ? expiry : eligible);
}

/* Returns the time from which on a VCPU that sleeps may have work. */
static uint64_t sleep_eligible_time(const struct reservation *reservation, unsigned level)
{
    const union reservation_server *server = reservation->servers[level];

    if (!is_special(reservation, level)) {
        return sporadic_server_eligible(&server->main);
    }
    return is_aligned(reservation, level) ? deferrable_server_eligible(&server->aligned)
                                          : server->io.eligible;
}

void reservation_sleep(struct reservation *reservation, unsigned level, uint64_t expiry)
{
    sleep_until(reservation, level, expiry, sleep_eligible_time(reservation, level));
}

/* Charges a VCPU that has no sporadic server. Returns the time from which on it is eligible, or may
 * have work if it sleeps. Not inline, because most VCPUs have a sporadic server. */
static __attribute__((noinline)) uint64_t charge_special(struct reservation *reservation,
                                                         unsigned level, uint64_t ticks,
                                                         uint64_t now)
{
    union reservation_server *server = reservation->servers[level];

    if (is_aligned(reservation, level)) {
        deferrable_server_charge(&server->aligned, ticks, now);
    } else {
        pibs_server_charge(&server->io, ticks);
        if ((reservation->runnable & bit_of(level)) == 0) {
            pibs_server_block(&server->io);
        }
    }
    return sleep_eligible_time(reservation, level);
}

void reservation_charge(struct reservation *reservation, unsigned level, uint64_t ticks,
                        uint64_t now, uint64_t expiry)
{
    union reservation_server *server = reservation->servers[level];
    bool has_work = (reservation->runnable & bit_of(level)) != 0;
    uint64_t eligible;

    if (is_special(reservation, level)) {
        eligible = charge_special(reservation, level, ticks, now);
    } else {
        sporadic_server_charge(&server->main, ticks);
        if (!has_work) {
            sporadic_server_block(&server->main, now);
        }
        eligible = sporadic_server_eligible(&server->main);
    }
    if (has_work) {
        refresh(reservation, level, now);
    } else {
        sleep_until(reservation, level, expiry, eligible);
    }
}

/* A VCPU that has slept has work since `due`. Not inline, because most VCPUs that are due have
 * work and get budget. */
static __attribute__((noinline)) void end_sleep(struct reservation *reservation, unsigned level,
                                                uint64_t due, uint64_t now)
{
    reservation->runnable |= bit_of(level);
    begin_execution(reservation, level, due);
    refresh(reservation, level, now);
}

/* Gives the VCPU that is due first its budget or work. */
static void handle_due(struct reservation *reservation, uint64_t now)
{
    uint64_t due = tournament_earliest(&reservation->due);
    unsigned level = tournament_winner(&reservation->due);

    if ((reservation->runnable & bit_of(level)) != 0) {
        reservation->funded |= bit_of(level);
        tournament_set(&reservation->due, level, UINT64_MAX);
    } else {
        end_sleep(reservation, level, due, now);
    }
}

unsigned reservation_find_due(const struct reservation *reservation, uint64_t now)
{
    return tournament_earliest(&reservation->due) <= now ? tournament_winner(&reservation->due)
                                                         : RESERVATION_NONE;
}

unsigned reservation_choose(struct reservation *reservation, uint64_t now)
{
    uint32_t ready;

    for (unsigned n = 0; n < DUE_AT_ONCE && tournament_earliest(&reservation->due) <= now; n++) {
        handle_due(reservation, now);
    }
    ready = reservation->runnable & reservation->funded;
    return ready != 0 ? (unsigned)__builtin_ctz(ready) : RESERVATION_NONE;
}

static uint64_t end_of_budget(const struct reservation *reservation, unsigned level, uint64_t now)
{
    const union reservation_server *server = reservation->servers[level];

    if (__builtin_expect(is_special(reservation, level), false)) {
        return is_aligned(reservation, level) ? deferrable_server_next_event(&server->aligned, now)
                                              : pibs_server_next_event(&server->io, now);
    }
    return sporadic_server_next_event(&server->main, now);
}

uint64_t reservation_next_choice(const struct reservation *reservation, unsigned executing,
                                 uint64_t now)
{
    uint64_t next = tournament_earliest(&reservation->due);

    if (executing != RESERVATION_NONE) {
        uint64_t end = end_of_budget(reservation, executing, now);

        next = end < next ? end : next;
    }
    return next;
}
