/* SPDX-License-Identifier: BSD-2-Clause */
#include "tokens.h"

#include "schedule_test.h"
#include <inttypes.h>
#include <stdio.h>

void tokens_init(struct tokens *tokens, uint64_t budget, uint64_t period, uint64_t now)
{
    assert_true(budget <= TOKENS_MAX);
    tokens->count = (unsigned)budget;
    tokens->period = period;
    for (unsigned i = 0; i < tokens->count; i++) {
        tokens->time[i] = now + i;
    }
}

uint64_t tokens_execute(struct tokens *tokens)
{
    uint64_t used = tokens->time[0];

    for (unsigned i = 1; i < tokens->count; i++) {
        tokens->time[i - 1] = tokens->time[i];
    }
    tokens->time[tokens->count - 1] = used + tokens->period;
    return used;
}

void tokens_unblock(struct tokens *tokens, uint64_t now)
{
    for (unsigned i = 0; i < tokens->count; i++) {
        if (tokens->time[i] < now + i) {
            tokens->time[i] = now + i;
        }
    }
}

unsigned tokens_available(const struct tokens *tokens, uint64_t now)
{
    unsigned count = 0;

    while (count < tokens->count && tokens->time[count] <= now + count) {
        count++;
    }
    return count;
}

void tokens_of_server(struct tokens *tokens, const struct sporadic_server *server)
{
    const struct replenishment_queue *queue = &server->replenishments;

    tokens->count = 0;
    tokens->period = server->period;
    for (unsigned i = 0; i < queue->count; i++) {
        const struct replenishment *entry = replenishment_queue_at(queue, i);

        assert_true(entry->amount <= TOKENS_MAX - tokens->count);
        for (uint64_t k = 0; k < entry->amount; k++) {
            tokens->time[tokens->count++] = entry->time + k;
        }
    }
    for (uint64_t i = 0; i < server->usage; i++) {
        tokens_execute(tokens);
    }
}

void check_server(const struct sporadic_server *server)
{
    const struct replenishment_queue *queue = &server->replenishments;
    uint64_t end = 0;
    uint64_t sum = 0;

    assert_in_range(queue->count, 1, queue->capacity);
    for (unsigned i = 0; i < queue->count; i++) {
        const struct replenishment *entry = replenishment_queue_at(queue, i);

        assert_true(entry->amount > 0);
        assert_true(i == 0 || entry->time >= end);
        end = entry->time + entry->amount;
        sum += entry->amount;
    }
    assert_true(sum == server->budget);
    assert_true(server->usage < replenishment_queue_at(queue, 0)->amount);
}

void check_replenishments(const struct sporadic_server *server, const char *expected,
                          const char *file, int line)
{
    const struct replenishment_queue *queue = &server->replenishments;
    char text[1024] = "";
    size_t used = 0;

    for (unsigned i = 0; i < queue->count; i++) {
        const struct replenishment *entry = replenishment_queue_at(queue, i);
        int length = snprintf(text + used, sizeof(text) - used, "%s%" PRIu64 "@%" PRIu64,
                              i == 0 ? "" : " ", entry->amount, entry->time);

        assert_true(length > 0 && (size_t)length < sizeof(text) - used);
        used += (size_t)length;
    }
    _assert_string_equal(text, expected, file, line);
}
