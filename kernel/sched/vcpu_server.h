/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The server of a VCPU's budget: one interface to the sporadic server of a Main VCPU and to the
 * PIBS server of an I/O VCPU (schedule/). They unblock by calls of their own, because that of an
 * I/O VCPU depends on the threads that wait for it. Times are counter values and ticks of the
 * counter.
 */
#ifndef SCHED_VCPU_SERVER_H
#define SCHED_VCPU_SERVER_H

#include "schedule/pibs_server.h"
#include "schedule/sporadic_server.h"
#include "schedule/ticks.h"
#include <stdbool.h>
#include <stdint.h>

struct vcpu_server {
    bool is_io;
    union {
        struct sporadic_server main;
        struct pibs_server io;
    };
};

/* Sets up a server that is blocked. Errors as sporadic_server_init(), pibs_server_init(). */
enum schedule_error vcpu_server_init(struct vcpu_server *server, bool is_io, uint64_t budget,
                                     uint64_t period, uint64_t now);

/* Changes budget and period. Errors as sporadic_server_set_parameters(). */
enum schedule_error vcpu_server_set_parameters(struct vcpu_server *server, uint64_t budget,
                                               uint64_t period, uint64_t now);

/* The last of the server's threads blocks. Its execution has been charged. */
void vcpu_server_block(struct vcpu_server *server, uint64_t now);

/* Charges execution. */
void vcpu_server_charge(struct vcpu_server *server, uint64_t ticks);

/* Returns three quarters of the budget, rounded down. The budget of an I/O VCPU never has pieces:
 * returns 0. */
uint64_t vcpu_server_most(const struct vcpu_server *server);

/* Returns the time from which on the next tick of the budget is available. The server has budget if
 * this is not in the future. */
uint64_t vcpu_server_eligible(const struct vcpu_server *server);

/* Returns the time from which on a blocked server has budget. */
uint64_t vcpu_server_resumes(const struct vcpu_server *server);

/* Returns the ticks that are left of the present budget, 0 if there is none. */
uint64_t vcpu_server_available(const struct vcpu_server *server, uint64_t now);

/* Returns the end of the budget if a thread of the server runs from `now` on, or the time of the
 * next budget if it has none now. */
uint64_t vcpu_server_next_event(const struct vcpu_server *server, uint64_t now);

#endif
