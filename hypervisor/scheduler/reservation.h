/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scheduler of a core that is shared by budgets (docs/decisions/0030). Each VCPU has a sporadic
 * server (C, T). Of the VCPUs that have work and budget, the one with the shortest period executes.
 * A VCPU without budget waits for its next replenishment (Quest-V, 3.3). A level is the priority of
 * a VCPU; level 0 is the most urgent.
 *
 * The VCPU of a level can be an I/O VCPU. It has a PIBS server, which always serves VCPUs of one
 * period, so its level does not change (docs/decisions/0038). Or it is aligned with VCPUs of its
 * partition on other cores, by a deferrable server (docs/decisions/0061).
 *
 * A VCPU that has no work may sleep until its guest's timer expires. It gets work then, or when it
 * has budget again if that is later. So a VCPU without budget is never woken by its timer.
 *
 * The scheduler is pure logic on the servers of schedule/: no clock, no register. The caller reads
 * `now` once for a decision. All times are ticks of one clock.
 */
#ifndef SCHEDULER_RESERVATION_H
#define SCHEDULER_RESERVATION_H

#include "schedule/deferrable_server.h"
#include "schedule/pibs_server.h"
#include "schedule/sporadic_server.h"
#include "schedule/tournament.h"
#include <stdint.h>

#define RESERVATION_LEVELS TOURNAMENT_PLACES
#define RESERVATION_NONE   RESERVATION_LEVELS /* value of a level: no VCPU */

union reservation_server {
    struct sporadic_server main;
    struct deferrable_server aligned;
    struct pibs_server io; /* its utilization is a budget in each period that it serves */
};

struct reservation {
    uint32_t runnable; /* bit n: the VCPU of level n has work */
    uint32_t funded;   /* bit n: the VCPU of level n has work and budget */
    uint32_t special;  /* bit n: the VCPU of level n is aligned, or an I/O VCPU */
    uint32_t aligned;  /* bit n: it is aligned */
    union reservation_server *servers[RESERVATION_LEVELS];
    /* By level: the next replenishment of a VCPU that has work and no budget, or the time at which
     * a VCPU that sleeps gets work. UINT64_MAX: neither. */
    struct tournament due;
};

/* Initialises a scheduler without VCPUs. */
void reservation_init(struct reservation *reservation);

/* Add a VCPU, an aligned VCPU, or an I/O VCPU, that has no work. `level`: not used before.
 * `server`: initialised; stays in use. */
void reservation_add(struct reservation *reservation, unsigned level,
                     union reservation_server *server);
void reservation_add_aligned(struct reservation *reservation, unsigned level,
                             union reservation_server *server);
void reservation_add_io(struct reservation *reservation, unsigned level,
                        union reservation_server *server);

/* Notes that the VCPU has work. No effect if it had work before. `now`: may be less than that of
 * the last choice, but not than that of the VCPU's last charge. */
void reservation_unblock(struct reservation *reservation, unsigned level, uint64_t now);

/* Notes that the VCPU has no more work. A later reservation_charge() charges it for its execution,
 * and for the change to another VCPU. */
void reservation_block(struct reservation *reservation, unsigned level);

/* Charges the VCPU for `ticks` of the core's time, which ended at `now`. A VCPU that has no work
 * sleeps until `expiry` from then on. UINT64_MAX: until reservation_unblock(). */
void reservation_charge(struct reservation *reservation, unsigned level, uint64_t ticks,
                        uint64_t now, uint64_t expiry);

/* Changes the time until which a VCPU sleeps. */
void reservation_sleep(struct reservation *reservation, unsigned level, uint64_t expiry);

/* Returns the VCPU that gets budget or work now, the earliest one, or RESERVATION_NONE. */
unsigned reservation_find_due(const struct reservation *reservation, uint64_t now);

/* Returns the level of the VCPU that has to execute now, or RESERVATION_NONE. If more than a few
 * VCPUs get budget or work now, it handles the others in the next choice, which is due at once. */
unsigned reservation_choose(struct reservation *reservation, uint64_t now);

/* Returns the time at which another choice is due although no VCPU blocks or unblocks: the end of
 * the budget of `executing`, or the time at which another VCPU gets budget or work.
 * `executing`: the level that was just chosen, or RESERVATION_NONE. Returns UINT64_MAX if none is
 * due. */
uint64_t reservation_next_choice(const struct reservation *reservation, unsigned executing,
                                 uint64_t now);

#endif
