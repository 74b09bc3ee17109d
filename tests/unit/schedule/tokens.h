/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plain model of a sporadic server, tick by tick, and what a real server's state means in its
 * terms. The model has one token for each tick of the budget, with the time from which that tick
 * can be used, and no queue, usage or merging.
 */
#ifndef TOKENS_H
#define TOKENS_H

#include "schedule/sporadic_server.h"
#include <stdbool.h>
#include <stdint.h>

#define TOKENS_MAX 256u

struct tokens {
    uint64_t time[TOKENS_MAX]; /* rising */
    unsigned count;
    uint64_t period;
};

void tokens_init(struct tokens *tokens, uint64_t budget, uint64_t period, uint64_t now);
/* Executes one tick: the first token comes back one period after it was available. Returns when it
 * was available. */
uint64_t tokens_execute(struct tokens *tokens);
/* Execution begins anew: the token number k is used no earlier than at now + k. */
void tokens_unblock(struct tokens *tokens, uint64_t now);
/* Returns the number of tokens that can be used from `now` on without a gap. */
unsigned tokens_available(const struct tokens *tokens, uint64_t now);

/* The tokens of a server's state. */
void tokens_of_server(struct tokens *tokens, const struct sporadic_server *server);

/* Fails the test unless the state is consistent: see sporadic_server.h. */
void check_server(const struct sporadic_server *server);

/* Fails the test unless a server has these replenishments, "2@40 18@50". */
void check_replenishments(const struct sporadic_server *server, const char *expected,
                          const char *file, int line);
#define CHECK_REPLENISHMENTS(server, expected) \
    check_replenishments(server, expected, __FILE__, __LINE__)

#endif
