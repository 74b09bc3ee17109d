/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library's own rings. Only their beginnings are written again: GenMC can't execute a copy of a
 * struct to where a pointer says.
 */
#ifndef TESTS_MEMORY_ORDER_GENMC_RINGS_H
#define TESTS_MEMORY_ORDER_GENMC_RINGS_H

#define ring_producer_begin producer_begin_by_copy
#define ring_consumer_begin consumer_begin_by_copy
#include "../../../channel/ring.c"
#undef ring_producer_begin
#undef ring_consumer_begin

void ring_producer_begin(struct ring_producer *producer, void *section,
                         const struct channel_control *peer, uint64_t ring_bytes, uint64_t position)
{
    struct channel_control *own = section;

    producer->produced = &own->produced;
    producer->sent = &own->sent;
    producer->errors = &own->errors;
    producer->waits = &peer->waits;
    producer->consumed = &peer->consumed;
    producer->ring = (uint8_t *)section + CHANNEL_CONTROL_BYTES;
    producer->bytes = ring_bytes;
    producer->limit = position + ring_bytes;
    producer->is_open = true;
    move_producer(producer, position);
}

void ring_consumer_begin(struct ring_consumer *consumer, const void *section,
                         struct channel_control *own, uint64_t ring_bytes, uint64_t position)
{
    const struct channel_control *peer = section;

    consumer->consumed = &own->consumed;
    consumer->received = &own->received;
    consumer->errors = &own->errors;
    consumer->waits = &peer->waits;
    consumer->produced = &peer->produced;
    consumer->ring = (const uint8_t *)section + CHANNEL_CONTROL_BYTES;
    consumer->bytes = ring_bytes;
    consumer->positions.complete = position;
    consumer->positions.checked = position;
    consumer->is_open = true;
    move_consumer(consumer, position);
    word_store(consumer->consumed, position);
}

#endif
