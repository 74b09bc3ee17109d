/* SPDX-License-Identifier: BSD-2-Clause */
#include "kind.h"

static void begin_messages(struct linux_endpoint *endpoint)
{
    (void)channel_open(&endpoint->objects.channel, &endpoint->memory, &endpoint->port);
}

static void end_messages(struct linux_endpoint *endpoint)
{
    channel_close(&endpoint->objects.channel);
}

static struct channel_wait wait_for_message(struct linux_endpoint *endpoint)
{
    return channel_wait_for_message(&endpoint->objects.channel);
}

static const struct kind_operations messages_operations = {
    .sections = 2,
    .begin = begin_messages,
    .end = end_messages,
    .wait = wait_for_message,
};

static void begin_values(struct linux_endpoint *endpoint)
{
    const struct channel_memory *memory = &endpoint->memory;

    (void)value_writer_begin(&endpoint->objects.values.writer, memory->own, memory->peer,
                             memory->ring_bytes);
    (void)value_reader_begin(&endpoint->objects.values.reader, memory->peer, memory->own,
                             memory->ring_bytes);
}

static struct channel_wait wait_for_value(struct linux_endpoint *endpoint)
{
    return channel_wait_for_value(&endpoint->objects.values.reader);
}

static const struct kind_operations value_operations = {
    .sections = 2,
    .begin = begin_values,
    .wait = wait_for_value,
};

static void begin_one_way(struct linux_endpoint *endpoint)
{
    const struct channel_memory *memory = &endpoint->memory;

    if (endpoint->end == 0) {
        (void)broadcast_sender_begin(&endpoint->objects.sender, memory->own, memory->ring_bytes);
    } else {
        (void)broadcast_receiver_begin(&endpoint->objects.receiver, memory->peer,
                                       memory->ring_bytes, false);
    }
}

static struct channel_wait wait_for_broadcast(struct linux_endpoint *endpoint)
{
    return channel_wait_for_broadcast(&endpoint->objects.receiver);
}

static const struct kind_operations one_way_operations = {
    .sections = 1,
    .begin = begin_one_way,
    .wait = wait_for_broadcast,
};

const struct kind_operations *kind_operations(enum linux_kind kind)
{
    static const struct kind_operations *const kinds[] = {
        [LINUX_MESSAGES] = &messages_operations,
        [LINUX_VALUE] = &value_operations,
        [LINUX_ONE_WAY] = &one_way_operations,
    };

    return kinds[kind];
}

struct channel *linux_channel(struct linux_endpoint *endpoint)
{
    return endpoint->kind == LINUX_MESSAGES ? &endpoint->objects.channel : NULL;
}

struct value_writer *linux_value_writer(struct linux_endpoint *endpoint)
{
    return endpoint->kind == LINUX_VALUE ? &endpoint->objects.values.writer : NULL;
}

struct value_reader *linux_value_reader(struct linux_endpoint *endpoint)
{
    return endpoint->kind == LINUX_VALUE ? &endpoint->objects.values.reader : NULL;
}

struct broadcast_sender *linux_broadcast_sender(struct linux_endpoint *endpoint)
{
    return endpoint->kind == LINUX_ONE_WAY && endpoint->end == 0 ? &endpoint->objects.sender : NULL;
}

struct broadcast_receiver *linux_broadcast_receiver(struct linux_endpoint *endpoint)
{
    return endpoint->kind == LINUX_ONE_WAY && endpoint->end == 1 ? &endpoint->objects.receiver
                                                                 : NULL;
}
