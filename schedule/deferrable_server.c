/* SPDX-License-Identifier: BSD-2-Clause */
#include "schedule/deferrable_server.h"

#include <stdbool.h>

enum schedule_error deferrable_server_init(struct deferrable_server *server, uint64_t budget,
                                           uint64_t period, uint64_t now)
{
    enum schedule_error error = schedule_check_parameters(budget, period);

    if (error == SCHEDULE_OK) {
        *server = (struct deferrable_server){
            .budget = budget, .period = period, .release = now - now % period};
    }
    return error;
}

uint64_t deferrable_server_eligible(const struct deferrable_server *server)
{
    return server->release + server->usage;
}

/* Returns true if a later release than the one that is counted has happened. */
static bool has_new_release(const struct deferrable_server *server, uint64_t now)
{
    return now >= server->release && now - server->release >= server->period;
}

uint64_t deferrable_server_available(const struct deferrable_server *server, uint64_t now)
{
    if (has_new_release(server, now)) {
        return server->budget;
    }
    return deferrable_server_eligible(server) <= now ? server->budget - server->usage : 0;
}

/* Counts the last release before `now`. The server has not executed since the release before. */
static void renew(struct deferrable_server *server, uint64_t now)
{
    if (has_new_release(server, now)) {
        server->release = now - now % server->period;
        server->usage = 0;
    }
}

/* Takes usage of a budget or more from the next budgets. A server that would get budget after
 * SCHEDULE_TIME_MAX does not execute again before that time. */
static void take_from_next(struct deferrable_server *server)
{
    uint64_t budgets = server->usage / server->budget;
    uint64_t most = (SCHEDULE_TIME_MAX - server->release) / server->period;

    server->usage %= server->budget;
    server->release += (budgets < most ? budgets : most) * server->period;
}

/* Returns the ticks of an execution that a whole budget does not contain. */
static uint64_t beyond_budget(const struct deferrable_server *server, uint64_t executed)
{
    return executed > server->budget ? executed - server->budget : 0;
}

/* Counts the releases in an execution from `begin` until `end`, of which at least one is later than
 * the one that is counted. The usage becomes the part that the budgets before the last release did
 * not contain. Returns the last release. */
static uint64_t pass_releases(struct deferrable_server *server, uint64_t begin, uint64_t end)
{
    uint64_t first = server->release + server->period;
    uint64_t periods = (end - first) / server->period;

    server->usage = beyond_budget(server, server->usage + (first - begin)) +
                    periods * beyond_budget(server, server->period);
    server->release = first + periods * server->period;
    return server->release;
}

void deferrable_server_charge(struct deferrable_server *server, uint64_t used, uint64_t now)
{
    uint64_t begin = now - used;

    renew(server, begin);
    if (has_new_release(server, now) && begin >= server->release) {
        begin = pass_releases(server, begin, now);
    }
    server->usage += now - begin;
    if (server->usage >= server->budget) {
        take_from_next(server);
    }
}

uint64_t deferrable_server_next_event(const struct deferrable_server *server, uint64_t now)
{
    struct deferrable_server present = *server;
    uint64_t end;

    renew(&present, now);
    if (deferrable_server_eligible(&present) > now) {
        return deferrable_server_eligible(&present);
    }
    end = now + present.budget - present.usage;
    return end < present.release + present.period
               ? end
               : present.release + present.period + server->budget;
}
