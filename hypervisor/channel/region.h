/* SPDX-License-Identifier: BSD-2-Clause */
/* The region of a channel in physical memory: the state page, the common section if there is one,
 * the section of end 0 and, unless the channel is one-way, the section of end 1. If there are
 * further receivers, a page without a guest address follows, because receivers must not see each
 * other's registers. */
#ifndef CHANNEL_REGION_H
#define CHANNEL_REGION_H

#include "emulated_function/state.h"
#include "hypervisor/description.h"
#include <arch/channel.h>
#include <stdbool.h>

/* The state page. All guests of the channel can read all of it. */
struct channel_page {
    struct channel_states states;
    struct emulated_function functions[2]; /* all zero if the end is no function */
};

/* The page that no guest has. Its functions are those of the receivers, with their ends' numbers.
 */
struct channel_hidden_page {
    struct emulated_function functions[DESCRIPTION_ENDS_MAX];
};

/* Returns the number of ends. */
static inline uint32_t channel_end_count(const struct description_channel *channel)
{
    return 2 + channel->further_receivers;
}

/* Returns the index of the partition's end; channel_end_count() if it has none. */
static inline uint32_t channel_find_end(const struct description_channel *channel,
                                        uint32_t partition)
{
    uint32_t end = 0;

    while (end < channel_end_count(channel) && channel->ends[end].partition != partition) {
        end++;
    }
    return end;
}

/* Returns true if an end of the channel is a PCI function with the region as a BAR. Guests map BARs
 * as memory that is not cached (Linux: pgprot_writecombine() of resource2_wc). Then no end may
 * access the region through a cache, because the ends would not see each other's writes. */
static inline bool channel_is_uncached(const struct description_channel *channel)
{
    bool is_uncached = false;

    for (uint32_t i = 0; i < channel_end_count(channel); i++) {
        is_uncached =
            is_uncached || channel->ends[i].function == DESCRIPTION_CHANNEL_FUNCTION_WHOLE;
    }
    return is_uncached;
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

/* Returns the size of what guests have: the state page and all sections. */
static inline uint64_t channel_region_bytes(const struct description_channel *channel)
{
    uint64_t sections = channel->one_way != 0 ? 1 : 2;

    return channel_sections(channel) + sections * channel->section_bytes;
}

/* Returns the size in physical memory: with the hidden page, if there is one. */
static inline uint64_t channel_physical_bytes(const struct description_channel *channel)
{
    return channel_region_bytes(channel) +
           (channel->further_receivers != 0 ? DESCRIPTION_PAGE_BYTES : 0);
}

#endif
