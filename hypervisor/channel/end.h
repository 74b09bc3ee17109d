/* SPDX-License-Identifier: BSD-2-Clause */
/* A partition's end of a channel. The files of this folder share these declarations. */
#ifndef CHANNEL_END_H
#define CHANNEL_END_H

#include "channel/region.h"
#include "hypervisor/partition.h"

struct end {
    const struct description *system;
    const struct description_channel *channel;
    uint32_t number; /* index in channel->ends */
};

static inline const struct description_channel_end *end_described(const struct end *end)
{
    return &end->channel->ends[end->number];
}

static inline struct channel_page *end_page(const struct end *end)
{
    return (struct channel_page *)(uintptr_t)end->channel->physical;
}

static inline struct emulated_function *end_function(const struct end *end)
{
    uintptr_t hidden = (uintptr_t)end->channel->physical + channel_region_bytes(end->channel);

    if (end->number != 0 && end->channel->further_receivers != 0) {
        return &((struct channel_hidden_page *)hidden)->functions[end->number];
    }
    return &end_page(end)->functions[end->number];
}

/* Returns the number by which the guest of this end knows it: all receivers are end 1. */
static inline uint32_t end_guest_number(const struct end *end)
{
    return end->number == 0 ? 0 : 1;
}

/* Finds the partition's end of a channel, and sets *end. `index`: of the channel, any number.
 * Returns false if there is no such channel, or if no end of it is the partition's. */
bool end_find(const struct partition *partition, uint32_t index, struct end *end);

/* Rings the doorbells of the peers: the other end, or all receivers. No effect if this end is the
 * receiver of a one-way channel. */
void end_ring_peers(const struct end *end);

/* Sets the state of this end, and rings the doorbells of the peers. No effect if this end is the
 * receiver of a one-way channel: its state stays 0. */
void end_set_state(const struct end *end, uint32_t state);

#endif
