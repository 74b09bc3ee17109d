/* SPDX-License-Identifier: BSD-2-Clause */
/* The physical memory of a channel: the page with the states of both ends (struct channel_states),
 * the section of end 0, and, unless the channel is one-way, that of end 1. */
#ifndef CHANNEL_REGION_H
#define CHANNEL_REGION_H

#include "hypervisor/description.h"
#include <arch/channel.h>
#include <stdbool.h>

/* The state of an end's PCI function. */
struct channel_function {
    uint32_t interrupt; /* channel/function_interrupt.h */
    uint32_t bar;       /* BAR 0, as last written by the guest; address bits only */
    uint32_t command;   /* as last written by the guest, without INTx Disable */
};

/* The state page. Both guests can read all of it. */
struct channel_page {
    struct channel_states states;
    struct channel_function functions[2]; /* 0 if the end is none */
};

/* Returns true if an end of the channel has its memory as the BAR of a PCI function. Guests map
 * BARs as memory that is not cached (Linux: pgprot_writecombine() of resource2_wc). So no end's
 * accesses may use a cache: the ends would not see what the other one writes. */
static inline bool channel_is_uncached(const struct description_channel *channel)
{
    return channel->ends[0].function == DESCRIPTION_CHANNEL_FUNCTION_WHOLE ||
           channel->ends[1].function == DESCRIPTION_CHANNEL_FUNCTION_WHOLE;
}

/* Returns the bytes of the state page and of all sections. */
static inline uint64_t channel_region_bytes(const struct description_channel *channel)
{
    uint64_t sections = channel->one_way != 0 ? 1 : 2;

    return DESCRIPTION_PAGE_BYTES + sections * channel->section_bytes;
}

#endif
