/* SPDX-License-Identifier: BSD-2-Clause */
#include "schedule/sporadic_server.h"

uint64_t sporadic_server_eligible(const struct sporadic_server *server)
{
    return replenishment_queue_at(&server->replenishments, 0)->time + server->usage;
}

enum schedule_error sporadic_server_init(struct sporadic_server *server, uint64_t budget,
                                         uint64_t period, unsigned capacity, uint64_t now)
{
    enum schedule_error error = schedule_check_parameters(budget, period);

    if (error == SCHEDULE_OK) {
        error = replenishment_queue_init(&server->replenishments, capacity);
    }
    if (error != SCHEDULE_OK) {
        return error;
    }
    server->budget = budget;
    server->period = period;
    server->usage = 0;
    replenishment_queue_append(&server->replenishments, now, budget);
    return SCHEDULE_OK;
}

void sporadic_server_set_piece(struct sporadic_server *server, uint64_t piece)
{
    server->replenishments.smallest = piece;
}

uint64_t sporadic_server_available(const struct sporadic_server *server, uint64_t now)
{
    if (sporadic_server_eligible(server) > now) {
        return 0;
    }
    return replenishment_queue_at(&server->replenishments, 0)->amount - server->usage;
}

/* Returns the number of periods by which the last replenishment can be postponed. */
static uint64_t periods_left(const struct sporadic_server *server)
{
    const struct replenishment_queue *queue = &server->replenishments;
    uint64_t last = replenishment_queue_at(queue, queue->count - 1u)->time;

    return last < SCHEDULE_TIME_MAX ? (SCHEDULE_TIME_MAX - last) / server->period : 0;
}

/*
 * Subtracts whole budgets from a usage of several budgets. Each of them postpones every
 * replenishment by one period, so that the loop of post_used_heads() ends within two rounds. Usage
 * that would postpone them beyond SCHEDULE_TIME_MAX is dropped, because the server does not execute
 * again before that time.
 */
static void post_whole_budgets(struct sporadic_server *server)
{
    uint64_t rounds = server->usage / server->budget;
    uint64_t rounds_max = periods_left(server);

    server->usage %= server->budget;
    if (rounds > rounds_max) {
        rounds = rounds_max;
        server->usage = 0;
    }
    replenishment_queue_delay(&server->replenishments, rounds * server->period);
}

/* The budget check: posts each head that is used up, for one period later. */
static void post_used_heads(struct sporadic_server *server)
{
    struct replenishment_queue *queue = &server->replenishments;

    while (server->usage >= replenishment_queue_head(queue)->amount) {
        server->usage -= replenishment_queue_head(queue)->amount;
        replenishment_queue_requeue_head(queue, server->period);
    }
}

void sporadic_server_charge(struct sporadic_server *server, uint64_t used)
{
    if (__builtin_add_overflow(server->usage, used, &server->usage)) {
        server->usage = UINT64_MAX;
    }
    if (server->usage >= 2 * server->budget) {
        post_whole_budgets(server);
    }
    post_used_heads(server);
}

/*
 * Posts the used part of the head for one period later. The rest keeps the head's time: it is
 * available, and the unblock check sets its time. If an overrun took the used part from a head of a
 * later time, the rest begins behind the used part.
 */
static void split_head(struct sporadic_server *server, uint64_t now)
{
    struct replenishment_queue *queue = &server->replenishments;
    struct replenishment *head = replenishment_queue_head(queue);
    uint64_t time = head->time + server->period, used = server->usage;

    if (used == 0) {
        return;
    }
    if (sporadic_server_eligible(server) > now) {
        head->time += used;
    }
    head->amount -= used;
    server->usage = 0;
    if (replenishment_queue_is_full(queue)) {
        replenishment_queue_postpone_head(queue);
    }
    replenishment_queue_append(queue, time, used);
}

void sporadic_server_block(struct sporadic_server *server, uint64_t now)
{
    split_head(server, now);
}

void sporadic_server_unblock(struct sporadic_server *server, uint64_t now)
{
    struct replenishment_queue *queue = &server->replenishments;

    /* Splits the head for a caller that did not call sporadic_server_block(). */
    split_head(server, now);
    if (replenishment_queue_head(queue)->time > now) {
        return;
    }
    replenishment_queue_head(queue)->time = now;
    replenishment_queue_merge_head(queue);
}

uint64_t sporadic_server_next_event(const struct sporadic_server *server, uint64_t now)
{
    const struct replenishment_queue *queue = &server->replenishments;
    uint64_t end;

    if (sporadic_server_eligible(server) > now) {
        return sporadic_server_eligible(server);
    }
    end = now + sporadic_server_available(server, now);
    for (unsigned i = 1; i < queue->count && replenishment_queue_at(queue, i)->time <= end; i++) {
        end += replenishment_queue_at(queue, i)->amount;
    }
    return end;
}

enum schedule_error sporadic_server_set_parameters(struct sporadic_server *server, uint64_t budget,
                                                   uint64_t period, uint64_t now)
{
    struct replenishment_queue *queue = &server->replenishments;
    enum schedule_error error = schedule_check_parameters(budget, period);
    uint64_t time = sporadic_server_eligible(server) > now ? sporadic_server_eligible(server) : now;
    uint64_t rest = replenishment_queue_head(queue)->amount - server->usage;

    if (error != SCHEDULE_OK) {
        return error;
    }
    if (rest > budget) {
        rest = budget;
    }
    server->budget = budget;
    server->period = period;
    server->usage = 0;
    replenishment_queue_clear(queue);
    replenishment_queue_append(queue, time, rest);
    if (rest < budget) {
        uint64_t used = budget - rest;

        replenishment_queue_append(queue, time + (period - used), used);
    }
    return SCHEDULE_OK;
}
