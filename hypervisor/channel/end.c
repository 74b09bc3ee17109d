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
    while (end->number < 2 && end_described(end)->partition != partition->constant.index) {
        end->number++;
    }
    return end->number < 2;
}

/* Returns true for the receiver of a one-way channel, which has no section: it can neither notify
 * the sender nor have a state. */
static bool is_one_way_receiver(const struct end *end)
{
    return end->channel->one_way != 0 && end->number == 1;
}

void end_ring_other(const struct end *end)
{
    const struct end other = {end->system, end->channel, 1 - end->number};

    if (is_one_way_receiver(end)) {
        return;
    }
    if (end_described(&other)->function != 0) {
        function_interrupt_ring(&other);
    } else {
        doorbell_ring(end->system, end_described(&other)->interrupt);
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
