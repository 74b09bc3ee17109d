/* SPDX-License-Identifier: BSD-2-Clause */
/* The physical memory of a channel: the page with the states of both ends (struct channel_states),
 * the section of end 0, and, unless the channel is one-way, that of end 1. */
#ifndef CHANNEL_REGION_H
#define CHANNEL_REGION_H

#include "hypervisor/description.h"

/* Returns the bytes of the state page and of all sections. */
static inline uint64_t channel_region_bytes(const struct description_channel *channel)
{
    uint64_t sections = channel->one_way != 0 ? 1 : 2;

    return DESCRIPTION_PAGE_BYTES + sections * channel->section_bytes;
}

#endif
