/* SPDX-License-Identifier: BSD-2-Clause */
#include "sched/vcpu_server.h"

/* The smallest piece of a budget, as a part of it. So there are at most PIECES + 2 pieces. */
#define PIECES 12u

_Static_assert(PIECES + 2 <= REPLENISHMENT_CAPACITY_MAX, "a place for each replenishment");

static void set_piece(struct sporadic_server *server)
{
    sporadic_server_set_piece(server, (server->budget + PIECES - 1) / PIECES);
}

enum schedule_error vcpu_server_init(struct vcpu_server *server, bool is_io, uint64_t budget,
                                     uint64_t period, uint64_t now)
{
    enum schedule_error error;

    server->is_io = is_io;
    if (is_io) {
        error = pibs_server_init(&server->io, budget, period, now);
        server->io.period = period; /* until the server inherits another */
        return error;
    }
    error = sporadic_server_init(&server->main, budget, period, PIECES + 2, now);
    if (error == SCHEDULE_OK) {
        set_piece(&server->main);
    }
    return error;
}

enum schedule_error vcpu_server_set_parameters(struct vcpu_server *server, uint64_t budget,
                                               uint64_t period, uint64_t now)
{
    enum schedule_error error;

    if (server->is_io) {
        return pibs_server_set_parameters(&server->io, budget, period);
    }
    error = sporadic_server_set_parameters(&server->main, budget, period, now);
    if (error == SCHEDULE_OK) {
        set_piece(&server->main);
    }
    return error;
}

void vcpu_server_block(struct vcpu_server *server, uint64_t now)
{
    if (server->is_io) {
        pibs_server_block(&server->io);
    } else {
        sporadic_server_block(&server->main, now);
    }
}

void vcpu_server_charge(struct vcpu_server *server, uint64_t ticks)
{
    if (server->is_io) {
        pibs_server_charge(&server->io, ticks);
    } else {
        sporadic_server_charge(&server->main, ticks);
    }
}

uint64_t vcpu_server_most(const struct vcpu_server *server)
{
    return server->is_io ? 0 : server->main.budget / 4 * 3;
}

uint64_t vcpu_server_eligible(const struct vcpu_server *server)
{
    return server->is_io ? pibs_server_eligible(&server->io)
                         : sporadic_server_eligible(&server->main);
}

uint64_t vcpu_server_resumes(const struct vcpu_server *server)
{
    return server->is_io ? server->io.eligible : sporadic_server_eligible(&server->main);
}

uint64_t vcpu_server_available(const struct vcpu_server *server, uint64_t now)
{
    return server->is_io ? pibs_server_available(&server->io, now)
                         : sporadic_server_available(&server->main, now);
}

uint64_t vcpu_server_next_event(const struct vcpu_server *server, uint64_t now)
{
    return server->is_io ? pibs_server_next_event(&server->io, now)
                         : sporadic_server_next_event(&server->main, now);
}
