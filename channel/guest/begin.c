/* SPDX-License-Identifier: BSD-2-Clause */
/* Beginning to use an end of a channel, according to its kind. */
#include "adapter.h"

#include <arch/channel.h>

#define PRESENT 1u /* state of an end that is used */

static uint64_t ring_bytes(const struct partition_channel *place)
{
    return place->section_bytes - CHANNEL_CONTROL_BYTES;
}

/* The trace shows the states of a connection. */
static void observe(void *place, const struct channel *channel)
{
    guest_trace_connection(place, channel);
}

/* Shows the other end that this one is used, if it is. */
static guest_status begun(const struct partition_channel *place, bool is_valid)
{
    if (is_valid) {
        partition_channel_set_state(place, PRESENT);
    }
    return is_valid ? GUEST_OK : GUEST_INVALID_SIZE;
}

guest_status partition_channel_begin(struct partition_channel *place, struct channel *channel)
{
    const struct channel_port port = {
        .context = place,
        .notify = partition_channel_notify,
        .observe = observe,
    };
    struct channel_memory memory;

    if (place->is_one_way || place->has_values) {
        return GUEST_OTHER_KIND;
    }
    memory = (struct channel_memory){
        .own = place->own,
        .peer = place->peer,
        .ring_bytes = ring_bytes(place),
        .peer_state = &place->states->ends[1 - place->end],
    };
    /* The other end takes a life without this state for one that has ended. */
    partition_channel_set_state(place, PRESENT);
    return channel_open(channel, &memory, &port) ? GUEST_OK : GUEST_INVALID_SIZE;
}

guest_status partition_channel_begin_values(const struct partition_channel *place,
                                            struct value_writer *writer,
                                            struct value_reader *reader)
{
    if (place->is_one_way || !place->has_values) {
        return GUEST_OTHER_KIND;
    }
    return begun(place, value_writer_begin(writer, place->own, place->peer, ring_bytes(place)) &&
                            value_reader_begin(reader, place->peer, place->own, ring_bytes(place)));
}

guest_status partition_channel_begin_sender(const struct partition_channel *place,
                                            struct broadcast_sender *sender)
{
    if (!place->is_one_way || place->own == NULL) {
        return GUEST_OTHER_KIND;
    }
    return begun(place, broadcast_sender_begin(sender, place->own, ring_bytes(place)));
}

guest_status partition_channel_begin_receiver(const struct partition_channel *place,
                                              struct broadcast_receiver *receiver, bool with_newest)
{
    if (!place->is_one_way || place->peer == NULL) {
        return GUEST_OTHER_KIND;
    }
    return begun(place,
                 broadcast_receiver_begin(receiver, place->peer, ring_bytes(place), with_newest));
}
