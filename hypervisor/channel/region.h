/* SPDX-License-Identifier: BSD-2-Clause */
/* The region of a channel in physical memory: the state page, the common section if there is one,
 * the section of end 0 and, unless the channel is one-way, the section of end 1. */
#ifndef CHANNEL_REGION_H
#define CHANNEL_REGION_H

#include "hypervisor/description.h"
#include <arch/channel.h>
#include <stdbool.h>

/* The state of an end's PCI function. */
struct channel_function {
    uint32_t interrupt; /* enable bits: channel/function_interrupt.h */
    uint32_t bar;       /* BAR 0 as the guest wrote it last; address bits only */
    uint32_t command;   /* Command as the guest wrote it last, without INTx Disable */
};

/* The state page. Both guests can read all of it. */
struct channel_page {
    struct channel_states states;
    struct channel_function functions[2]; /* all zero if the end is no function */
};

/* Returns true if an end of the channel is a PCI function with the region as a BAR. Guests map BARs
 * as memory that is not cached (Linux: pgprot_writecombine() of resource2_wc). Then neither end may
 * access the region through a cache, because the ends would not see each other's writes. */
static inline bool channel_is_uncached(const struct description_channel *channel)
{
    return channel->ends[0].function == DESCRIPTION_CHANNEL_FUNCTION_WHOLE ||
           channel->ends[1].function == DESCRIPTION_CHANNEL_FUNCTION_WHOLE;
}

static inline uint64_t channel_common_bytes(const struct description_channel *channel)
{
    return channel->common_pages * DESCRIPTION_PAGE_BYTES;
}

/* Returns the offset of the section of end 0 in the region. */
static inline uint64_t channel_sections(const struct description_channel *channel)
{
    return DESCRIPTION_PAGE_BYTES + channel_common_bytes(channel);
}

/* Returns the size of the region: the state page and all sections. */
static inline uint64_t channel_region_bytes(const struct description_channel *channel)
{
    uint64_t sections = channel->one_way != 0 ? 1 : 2;

    return channel_sections(channel) + sections * channel->section_bytes;
}

#endif
