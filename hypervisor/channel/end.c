/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel/end.h"

#include "emulated_function/interrupt.h"
#include "gic/doorbell.h"
#include "partition/load.h"

bool end_find(const struct partition *partition, uint32_t index, struct end *end)
{
    const struct description *system = partition->constant.system;
    const struct description_channel *channel;

    if (index >= system->channel_count) {
        return false;
    }
    channel = &system->channels[index];
    *end = (struct end){system, channel, channel_find_end(channel, partition->constant.index)};
    return end->number < channel_end_count(channel);
}

/* Returns true for the receiver of a one-way channel, which has no section: it can neither notify
 * the sender nor have a state. */
static bool is_one_way_receiver(const struct end *end)
{
    return end->channel->one_way != 0 && end->number != 0;
}

/* Rings the doorbell of an end of the channel. `number`: of that end. */
static void ring(const struct end *end, uint32_t number)
{
    const struct description_channel_end *described = &end->channel->ends[number];

    if (described->function != 0) {
        function_interrupt_ring(
            end_function(&(const struct end){end->system, end->channel, number}), end->system,
            described->interrupt);
    } else {
        doorbell_ring(end->system, described->interrupt);
    }
}

void end_ring_peers(const struct end *end)
{
    uint32_t peers_end = end->number == 0 ? channel_end_count(end->channel) : 1;

    if (is_one_way_receiver(end)) {
        return;
    }
    for (uint32_t peer = 1 - end_guest_number(end); peer < peers_end; peer++) {
        ring(end, peer);
    }
}

void end_set_state(const struct end *end, uint32_t state)
{
    uint32_t *word = &end_page(end)->states.ends[end->number];

    if (is_one_way_receiver(end)) {
        return;
    }
    __atomic_store_n(word, state, __ATOMIC_RELEASE);
    /* A guest may read the word without its caches. */
    load_clean((uintptr_t)word, (uintptr_t)(word + 1));
    end_ring_peers(end);
}
