/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures channels. The systems are
 * - channel: a connection (connection.h), whose peer might wait;
 * - ring: the rings alone (ring.h), whose peer always polls.
 * With the suffix -run, batches are sent as runs (run.h).
 */
#include "channel/run.h"
#include "exchange.h"
#include <string.h>

struct side {
    struct channel channel;
};

ALWAYS_INLINE uint32_t write_batch(struct send_batch *batch, struct shape shape, uint64_t number)
{
    while (batch->count < shape.batch) {
        uint8_t *place = send_batch_reserve(batch, shape.bytes);

        if (place == NULL) {
            break;
        }
        write_content(place, shape, number + batch->count);
        send_batch_commit(batch, shape.bytes, 0);
    }
    return (uint32_t)batch->count;
}

ALWAYS_INLINE uint32_t write_run(struct send_run *run, struct shape shape, uint64_t number)
{
    uint64_t count;
    uint8_t *places = send_run_reserve_many(run, shape.batch, &count);

    write_contents(places, shape, number, count);
    send_run_commit_many(run, count);
    return (uint32_t)count;
}

ALWAYS_INLINE uint32_t read_batch(struct receive_batch *batch, struct shape shape, uint64_t number)
{
    uint64_t count;
    uint32_t run_tag;
    const uint8_t *contents =
        receive_batch_next_many(batch, shape.bytes, shape.batch, &count, &run_tag);

    check_contents(contents, shape, number, count);
    while (batch->count < shape.batch) {
        uint64_t length;
        uint32_t tag;
        const uint8_t *content = receive_batch_next(batch, &length, &tag);

        if (content == NULL) {
            break;
        }
        check_content(content, shape, number + batch->count - 1);
    }
    return (uint32_t)batch->count;
}

ALWAYS_INLINE uint32_t ring_send(void *context, struct shape shape, uint64_t number)
{
    struct side *side = context;
    struct ring_producer *producer = &side->channel.out;

    if (shape.batch == 1) {
        uint8_t *place = ring_reserve(producer, shape.bytes);

        if (place == NULL) {
            return 0;
        }
        write_content(place, shape, number);
        ring_commit(producer, shape.bytes, 0);
        ring_publish(producer);
        return 1;
    }
    struct send_batch batch = ring_send_batch_begin(producer, shape.bytes);

    if (write_batch(&batch, shape, number) != 0) {
        ring_send_batch_end(producer, &batch);
    }
    return (uint32_t)batch.count;
}

ALWAYS_INLINE uint32_t ring_send_in_runs(void *context, struct shape shape, uint64_t number)
{
    struct side *side = context;
    struct ring_producer *producer = &side->channel.out;
    struct send_run run;

    if (shape.batch == 1) {
        return ring_send(context, shape, number);
    }
    run = ring_send_run_begin(producer, shape.bytes, 0);
    if (write_run(&run, shape, number) != 0) {
        ring_send_run_end(producer, &run);
    }
    return (uint32_t)run.count;
}

ALWAYS_INLINE uint32_t ring_receive(void *context, struct shape shape, uint64_t number)
{
    struct side *side = context;
    struct ring_consumer *consumer = &side->channel.in;

    if (shape.batch == 1) {
        uint64_t length;
        uint32_t tag;
        const uint8_t *content = ring_peek(consumer, &length, &tag);

        if (content == NULL) {
            return 0;
        }
        check_content(content, shape, number);
        ring_release(consumer);
        return 1;
    }
    struct receive_batch batch = ring_receive_batch_begin(consumer);

    if (read_batch(&batch, shape, number) != 0) {
        ring_receive_batch_end(consumer, &batch);
    }
    return (uint32_t)batch.count;
}

ALWAYS_INLINE uint32_t channel_send_messages(void *context, struct shape shape, uint64_t number)
{
    struct side *side = context;
    struct channel *channel = &side->channel;

    if (shape.batch == 1) {
        uint8_t *place = channel_send_begin(channel, shape.bytes);

        if (place == NULL) {
            return 0;
        }
        write_content(place, shape, number);
        channel_send_end(channel, shape.bytes, 0);
        return 1;
    }
    struct send_batch batch = channel_send_batch_begin(channel, shape.bytes);

    (void)write_batch(&batch, shape, number);
    channel_send_batch_end(channel, &batch);
    return (uint32_t)batch.count;
}

ALWAYS_INLINE uint32_t channel_send_in_runs(void *context, struct shape shape, uint64_t number)
{
    struct side *side = context;
    struct channel *channel = &side->channel;
    struct send_run run;

    if (shape.batch == 1) {
        return channel_send_messages(context, shape, number);
    }
    run = channel_send_run_begin(channel, shape.bytes, 0);
    (void)write_run(&run, shape, number);
    channel_send_run_end(channel, &run);
    return (uint32_t)run.count;
}

ALWAYS_INLINE uint32_t channel_receive_messages(void *context, struct shape shape, uint64_t number)
{
    struct side *side = context;
    struct channel *channel = &side->channel;

    if (shape.batch == 1) {
        uint64_t length;
        uint32_t tag;
        const uint8_t *content = channel_receive_begin(channel, &length, &tag);

        if (content == NULL) {
            return 0;
        }
        check_content(content, shape, number);
        channel_receive_end(channel);
        return 1;
    }
    struct receive_batch batch = channel_receive_batch_begin(channel);

    (void)read_batch(&batch, shape, number);
    channel_receive_batch_end(channel, &batch);
    return (uint32_t)batch.count;
}

EXCHANGE_SYSTEM(channel_batches, channel_send_messages, channel_receive_messages)
EXCHANGE_SYSTEM(channel_runs, channel_send_in_runs, channel_receive_messages)
EXCHANGE_SYSTEM(ring_batches, ring_send, ring_receive)
EXCHANGE_SYSTEM(ring_runs, ring_send_in_runs, ring_receive)

static void connect(struct side *side, struct meeting *meeting, uint64_t ring_bytes, unsigned index)
{
    uint64_t section_bytes = CHANNEL_CONTROL_BYTES + ring_bytes;
    uint8_t *page = (uint8_t *)(((uintptr_t)meeting->system_memory + CHANNEL_CONTROL_BYTES - 1) &
                                ~(uintptr_t)(CHANNEL_CONTROL_BYTES - 1));
    const struct channel_port port = {.notify = NULL};
    const struct channel_memory memory = {
        .own = page + index * section_bytes,
        .peer = page + (1 - index) * section_bytes,
        .ring_bytes = ring_bytes,
    };

    if (!channel_open(&side->channel, &memory, &port)) {
        exchange_fail("the size of a ring is a power of two, 4096 to 2^30");
    }
    /* There is space once the other side is connected, too. */
    while (channel_send_begin(&side->channel, 0) == NULL) {
    }
}

int main(int count, char **words)
{
    struct exchange exchange = exchange_arguments(count, words);
    struct meeting *meeting =
        exchange_memory(2 * (CHANNEL_CONTROL_BYTES + exchange.ring_bytes) + CHANNEL_CONTROL_BYTES);
    struct side side;
    unsigned index = exchange_fork(&exchange);

    connect(&side, meeting, exchange.ring_bytes, index);
    if (strcmp(exchange.system, "channel") == 0) {
        channel_batches(&exchange, meeting, index, &side);
    } else if (strcmp(exchange.system, "channel-run") == 0) {
        channel_runs(&exchange, meeting, index, &side);
    } else if (strcmp(exchange.system, "ring") == 0) {
        ring_batches(&exchange, meeting, index, &side);
    } else if (strcmp(exchange.system, "ring-run") == 0) {
        ring_runs(&exchange, meeting, index, &side);
    } else {
        exchange_fail("the systems are channel and ring, and each of them with -run");
    }
    exchange_wait();
}
