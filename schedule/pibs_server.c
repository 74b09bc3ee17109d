/* SPDX-License-Identifier: BSD-2-Clause */
#include "schedule/pibs_server.h"

uint64_t pibs_server_share(uint64_t budget, uint64_t period, uint64_t served_period)
{
    uint64_t share = schedule_ratio_floor(served_period, budget, period);

    return share > 0 ? share : 1;
}

static uint64_t share_of(const struct pibs_server *server, uint64_t served_period)
{
    return pibs_server_share(server->share_budget, server->share_period, served_period);
}

enum schedule_error pibs_server_init(struct pibs_server *server, uint64_t budget, uint64_t period,
                                     uint64_t now)
{
    enum schedule_error error = schedule_check_parameters(budget, period);

    if (error == SCHEDULE_OK) {
        *server = (struct pibs_server){
            .share_budget = budget, .share_period = period, .eligible = now, .active = false};
    }
    return error;
}

/* Ends a budget: delays the eligible time by usage / U, and grants the next budget. */
static void renew(struct pibs_server *server)
{
    uint64_t paid =
        schedule_ratio_ceiling(server->usage, server->share_period, server->share_budget);

    if (__builtin_add_overflow(server->eligible, paid, &server->eligible) ||
        server->eligible > SCHEDULE_TIME_MAX) {
        server->eligible = SCHEDULE_TIME_MAX;
    }
    server->usage = 0;
    server->budget = share_of(server, server->period);
}

enum schedule_error pibs_server_set_parameters(struct pibs_server *server, uint64_t budget,
                                               uint64_t period)
{
    enum schedule_error error = schedule_check_parameters(budget, period);

    if (error == SCHEDULE_OK) {
        renew(server);
        server->share_budget = budget;
        server->share_period = period;
        server->budget = share_of(server, server->period);
    }
    return error;
}

static void start(struct pibs_server *server, uint64_t served_period, uint64_t now)
{
    server->active = true;
    server->period = served_period;
    server->budget = share_of(server, served_period);
    if (server->eligible < now) {
        server->eligible = now;
    }
}

static void inherit_shorter(struct pibs_server *server, uint64_t served_period, uint64_t now)
{
    uint64_t share = share_of(server, served_period);

    pibs_server_raise(server, now);
    server->period = served_period;
    if (server->budget > share) {
        server->budget = share;
    }
    if (server->usage >= server->budget) {
        renew(server);
    }
}

void pibs_server_unblock(struct pibs_server *server, uint64_t served_period, uint64_t now)
{
    if (!server->active) {
        start(server, served_period, now);
    } else if (served_period < server->period) {
        inherit_shorter(server, served_period, now);
    }
}

void pibs_server_raise(struct pibs_server *server, uint64_t now)
{
    uint64_t paid = schedule_ratio_floor(server->usage, server->share_period, server->share_budget);

    if (paid <= now && server->eligible < now - paid) {
        server->eligible = now - paid;
    }
}

uint64_t pibs_server_eligible(const struct pibs_server *server)
{
    return server->active ? server->eligible : SCHEDULE_NEVER;
}

uint64_t pibs_server_available(const struct pibs_server *server, uint64_t now)
{
    return server->active && server->eligible <= now ? server->budget - server->usage : 0;
}

void pibs_server_charge(struct pibs_server *server, uint64_t used)
{
    if (__builtin_add_overflow(server->usage, used, &server->usage)) {
        server->usage = UINT64_MAX;
    }
    if (server->usage >= server->budget) {
        renew(server);
    }
}

void pibs_server_block(struct pibs_server *server)
{
    renew(server);
    server->active = false;
}

uint64_t pibs_server_next_event(const struct pibs_server *server, uint64_t now)
{
    if (!server->active) {
        return SCHEDULE_NEVER;
    }
    return server->eligible > now ? server->eligible : now + pibs_server_available(server, now);
}
