/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void pair_create(struct pair *pair)
{
    *pair = (struct pair){.states = {1, 1}};
    for (unsigned i = 0; i < 2; i++) {
        pair->sections[i] = aligned_alloc(CHANNEL_CONTROL_BYTES, sizeof(struct section));
        assert_non_null(pair->sections[i]);
        memset(pair->sections[i], 0, sizeof(struct section));
    }
}

void pair_destroy(struct pair *pair)
{
    free(pair->sections[0]);
    free(pair->sections[1]);
}

static void ring_bell(void *context)
{
    (*(unsigned *)context)++;
}

void pair_open(struct pair *pair, unsigned side, bool with_states)
{
    const struct channel_memory memory = {
        .own = pair->sections[side],
        .peer = pair->sections[1 - side],
        .ring_bytes = PAIR_RING_BYTES,
        .peer_state = with_states ? &pair->states[1 - side] : NULL,
    };
    const struct channel_port port = {.context = &pair->bells[1 - side], .notify = ring_bell};

    assert_true(channel_open(&pair->sides[side], &memory, &port));
}

void pair_settle(struct pair *pair)
{
    enum channel_state before[2];

    do {
        before[0] = pair->sides[0].state;
        before[1] = pair->sides[1].state;
        channel_update(&pair->sides[0]);
        channel_update(&pair->sides[1]);
        channel_update(&pair->sides[0]);
    } while (before[0] != pair->sides[0].state || before[1] != pair->sides[1].state);
}

void pair_connect(struct pair *pair)
{
    pair_open(pair, 0, false);
    pair_open(pair, 1, false);
    pair_settle(pair);
    assert_int_equal(pair->sides[0].state, CHANNEL_CONNECTED);
    assert_int_equal(pair->sides[1].state, CHANNEL_CONNECTED);
}

int pair_set_up(void **state)
{
    static struct pair_fixture fixture;

    pair_create(&fixture.pair);
    pair_connect(&fixture.pair);
    fixture.sender = &fixture.pair.sides[0];
    fixture.receiver = &fixture.pair.sides[1];
    *state = &fixture;
    return 0;
}

int pair_tear_down(void **state)
{
    struct pair_fixture *fixture = *state;

    pair_destroy(&fixture->pair);
    return 0;
}

bool pair_send(struct channel *channel, uint64_t number)
{
    return channel_send(channel, &number, sizeof(number), (uint32_t)number) == CHANNEL_DONE;
}

void pair_expect(struct channel *channel, uint64_t number)
{
    uint64_t content = 0;
    uint64_t length = 0;
    uint32_t tag = 0;

    assert_int_equal(channel_receive(channel, &content, sizeof(content), &length, &tag),
                     CHANNEL_DONE);
    assert_int_equal(length, sizeof(content));
    assert_int_equal(content, number);
    assert_int_equal(tag, (uint32_t)number);
}

void pair_expect_nothing(struct channel *channel)
{
    uint64_t length;
    uint32_t tag;

    assert_null(channel_receive_begin(channel, &length, &tag));
}
