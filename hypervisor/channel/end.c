/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel/end.h"

#include "channel/function_interrupt.h"
#include "gic/doorbell.h"
#include "partition/load.h"

bool end_find(const struct partition *partition, uint32_t index, struct end *end)
{
    *end = (struct end){.system = partition->constant.system};
    if (index >= partition->constant.system->channel_count) {
        return false;
    }
    end->channel = &partition->constant.system->channels[index];
    end->number = channel_find_end(end->channel, partition->constant.index);
    return end->number < channel_end_count(end->channel);
}

/* Returns true for the receiver of a one-way channel, which has no section: it can neither notify
 * the sender nor have a state. */
static bool is_one_way_receiver(const struct end *end)
{
    return end->channel->one_way != 0 && end->number != 0;
}

static void ring(const struct end *end)
{
    if (end_described(end)->function != 0) {
        function_interrupt_ring(end);
    } else {
        doorbell_ring(end->system, end_described(end)->interrupt);
    }
}

void end_ring_other(const struct end *end)
{
    struct end other = {end->system, end->channel, 1 - end_guest_number(end)};

    if (is_one_way_receiver(end)) {
        return;
    }
    ring(&other);
    for (other.number = 2; other.number < channel_end_count(end->channel); other.number++) {
        ring(&other);
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
    end_ring_other(end);
}
