/* SPDX-License-Identifier: BSD-2-Clause */
/* Two sides of a channel in one process, for tests. */
#ifndef TESTS_CHANNEL_PAIR_H
#define TESTS_CHANNEL_PAIR_H

#include "channel/copy.h"

#define PAIR_RING_BYTES CHANNEL_RING_MIN

/* A section, aligned to pages. */
struct section {
    struct channel_control control;
    uint8_t rest[CHANNEL_CONTROL_BYTES - sizeof(struct channel_control)];
    uint8_t ring[PAIR_RING_BYTES];
};

struct pair {
    struct section *sections[2];
    uint32_t states[2];
    struct channel sides[2];
    unsigned bells[2]; /* notifications to each side */
};

/* Allocates zeroed sections; no side has a life yet. */
void pair_create(struct pair *pair);
void pair_destroy(struct pair *pair);

/* Begins a life of a side, with the state table if `with_states`. */
void pair_open(struct pair *pair, unsigned side, bool with_states);

/* Begins a life of both, and connects them. */
void pair_connect(struct pair *pair);

/* Updates both sides until nothing changes. */
void pair_settle(struct pair *pair);

/* The fixture of tests in which one side sends and the other receives, both connected. */
struct pair_fixture {
    struct pair pair;
    struct channel *sender;
    struct channel *receiver;
};

int pair_set_up(void **state);
int pair_tear_down(void **state);

/* Sends a message with `number` as its content and tag. Returns false if there is no space. */
bool pair_send(struct channel *channel, uint64_t number);

/* Receives one message, and fails the test if its content is not `number`. */
void pair_expect(struct channel *channel, uint64_t number);

/* Fails the test if there is a message. */
void pair_expect_nothing(struct channel *channel);

#endif
