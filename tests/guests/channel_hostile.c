/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel_hostile.h"

#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include <channel/format.h>
#include <channel/words.h>

#define ROUNDS 400u
#define RACES  3000u /* stores of one race */
#define PAUSE  NANOSECONDS_PER_MILLISECOND
#define RINGS  50u

static struct {
    struct partition_channel *place;
    struct channel_control *own;
    const struct channel_control *peer; /* of the other end */
    uint8_t *ring;
    uint64_t ring_bytes;
    uint64_t random;
} hostile;

/* xorshift64 */
static uint64_t next_random(void)
{
    hostile.random ^= hostile.random << 13;
    hostile.random ^= hostile.random >> 7;
    hostile.random ^= hostile.random << 17;
    return hostile.random;
}

/* Returns a value near one that matters. */
static uint64_t next_value(void)
{
    const uint64_t bases[] = {
        0,
        word_load(&hostile.own->produced),
        word_load(&hostile.own->consumed),
        word_load(&hostile.peer->produced),
        word_load(&hostile.peer->consumed),
        word_load(&hostile.peer->consumed) + hostile.ring_bytes,
        word_load(&hostile.peer->generation),
        word_load(&hostile.own->generation),
        hostile.ring_bytes,
        channel_content_max(hostile.ring_bytes),
        CHANNEL_FORMAT_MESSAGES,
        CHANNEL_SKIP,
        UINT64_C(1) << next_random() % 64,
        next_random(),
    };
    uint64_t base = bases[next_random() % (sizeof(bases) / sizeof(bases[0]))];
    uint64_t offset = next_random() % 5 - 2;

    return base + ((next_random() & 1) != 0 ? offset : offset * CHANNEL_ALIGNMENT);
}

/* Returns a word of the control page. */
static uint64_t *next_word(void)
{
    uint64_t *const words[] = {
        &hostile.own->format,   &hostile.own->ring_bytes, &hostile.own->generation,
        &hostile.own->start,    &hostile.own->produced,   &hostile.own->acknowledged,
        &hostile.own->consumed, &hostile.own->connected,  &hostile.own->waits,
        &hostile.own->sent,     &hostile.own->received,   &hostile.own->errors,
    };

    return words[next_random() % (sizeof(words) / sizeof(words[0]))];
}

/* Returns the word of the ring at a position. */
static uint64_t *word_at(uint64_t position)
{
    return channel_word(hostile.ring + (position & (hostile.ring_bytes - CHANNEL_ALIGNMENT)));
}

/* Does what an honest end does at a connection, so that the other end gets beyond it. Sometimes
 * its format or start is wrong. */
static void pretend_to_connect(void)
{
    struct channel_control *own = hostile.own;
    uint64_t generation = word_load(&hostile.peer->generation);
    uint64_t start = next_random();

    if (next_random() % 8 != 0) {
        start &= ~(CHANNEL_ALIGNMENT - 1);
    }
    word_store(&own->format, next_random() % 16 == 0 ? next_value() : CHANNEL_FORMAT_MESSAGES);
    word_store(&own->ring_bytes, hostile.ring_bytes);
    word_store(&own->start, start);
    word_store(&own->produced, start);
    word_store(&own->consumed, word_load(&hostile.peer->produced));
    word_store(&own->acknowledged, generation);
    word_store(&own->connected, generation);
    word_store_release(&own->generation, next_random() | 1);
    partition_channel_set_state(hostile.place, 1);
}

/* Publishes a message with a possible length where the other end reads next. */
static void publish(void)
{
    uint64_t position = word_load(&hostile.peer->consumed);
    uint64_t words = next_random() % 16;

    word_store(word_at(position), words * CHANNEL_ALIGNMENT);
    word_store_release(&hostile.own->produced, position + (words + 1) * CHANNEL_ALIGNMENT);
    word_store(&hostile.own->consumed, word_load(&hostile.peer->produced));
    partition_channel_notify(hostile.place);
}

/* Publishes more than there is, of which the first header may be anything. */
static void publish_garbage(void)
{
    uint64_t position = word_load(&hostile.peer->consumed);

    for (unsigned i = 0; i < 8; i++) {
        word_store(word_at(position + i * CHANNEL_ALIGNMENT), next_value());
    }
    word_store_release(&hostile.own->produced,
                       position + next_random() % (hostile.ring_bytes / 4) * CHANNEL_ALIGNMENT);
}

/* Changes a word again and again while the other end reads it. */
static void race(void)
{
    uint64_t *word =
        next_random() % 2 == 0 ? word_at(word_load(&hostile.peer->consumed)) : next_word();
    uint64_t before = word_load(word), value = next_value();

    for (unsigned i = 0; i < RACES; i++) {
        word_store(word, i % 2 == 0 ? value : before);
    }
}

static void attack_once(void)
{
    switch (next_random() % 9) {
    case 0:
    case 1:
        word_store_release(next_word(), next_value());
        break;
    case 6:
        word_store_release(&hostile.own->consumed, next_value());
        break;
    case 2:
        publish_garbage();
        break;
    case 3:
        race();
        break;
    case 4:
        partition_channel_set_state(hostile.place, (uint32_t)next_value());
        break;
    case 5:
        for (unsigned i = 0; i < RINGS; i++) {
            partition_channel_notify(hostile.place);
        }
        break;
    default:
        publish();
        break;
    }
}

void channel_hostile_attack(struct partition_channel *place, uint64_t seed)
{
    hostile.place = place;
    hostile.own = place->own;
    hostile.peer = place->peer;
    hostile.ring = (uint8_t *)place->own + CHANNEL_CONTROL_BYTES;
    hostile.ring_bytes = place->section_bytes - CHANNEL_CONTROL_BYTES;
    hostile.random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    for (unsigned round = 0; round < ROUNDS; round++) {
        if (round % 4 == 0) {
            pretend_to_connect();
            partition_channel_notify(place);
            thread_sleep_until(time_after(PAUSE));
        }
        attack_once();
        if (next_random() % 2 == 0) {
            thread_sleep_until(time_after(PAUSE));
        }
    }
    print("channel: attacked with seed %llu\n", (unsigned long long)seed);
}
