/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scheduler of a shared core: each VCPU has a sporadic server (C, T), and the one with the
 * shortest period executes of those that have work and budget. A VCPU without budget waits for its
 * next replenishment (Quest-V, 3.3). Level 0 is the most urgent.
 *
 * The VCPU of a level can be an I/O VCPU instead. It has a PIBS server, which always serves VCPUs
 * of one period, so its level does not change.
 *
 * It is pure logic on the servers of schedule/: no clock, no register. `now` is read once for a
 * decision. All times are ticks of one clock.
 */
#ifndef SCHEDULER_RESERVATION_H
#define SCHEDULER_RESERVATION_H

#include "schedule/pibs_server.h"
#include "schedule/sporadic_server.h"
#include "schedule/tournament.h"
#include <stdint.h>

#define RESERVATION_LEVELS TOURNAMENT_PLACES
#define RESERVATION_NONE   RESERVATION_LEVELS /* no VCPU */

union reservation_server {
    struct sporadic_server main;
    struct pibs_server io; /* its utilization is a budget in each of the periods that it serves */
};

struct reservation {
    uint32_t runnable; /* bit n: the VCPU of level n has work ... */
    uint32_t funded;   /* ... and budget now */
    uint32_t io;       /* bit n: the VCPU of level n is an I/O VCPU */
    union reservation_server *servers[RESERVATION_LEVELS];
    struct tournament replenishments; /* of VCPUs that have work and no budget */
};

/* Makes a scheduler without VCPUs. */
void reservation_init(struct reservation *reservation);

/* Adds a VCPU, or an I/O VCPU, which is blocked. `server`: initialized. A level has one of them. */
void reservation_add(struct reservation *reservation, unsigned level,
                     union reservation_server *server);
void reservation_add_io(struct reservation *reservation, unsigned level,
                        union reservation_server *server);

/* The VCPU has work. No effect if it had work before. */
void reservation_unblock(struct reservation *reservation, unsigned level, uint64_t now);

/* The VCPU has no more work. What it has executed, and the change to another VCPU, is charged
 * later. */
void reservation_block(struct reservation *reservation, unsigned level);

/* The core was the VCPU's for `ticks` until `now`. */
void reservation_charge(struct reservation *reservation, unsigned level, uint64_t ticks,
                        uint64_t now);

/* Returns the level of the VCPU that is to execute now, or RESERVATION_NONE. */
unsigned reservation_choose(struct reservation *reservation, uint64_t now);

/* Returns the time at which another choice is due although no VCPU blocks or unblocks: the end of
 * the budget of `executing`, which may be RESERVATION_NONE, or the next replenishment. UINT64_MAX:
 * none. */
uint64_t reservation_next_choice(const struct reservation *reservation, unsigned executing,
                                 uint64_t now);

#endif
