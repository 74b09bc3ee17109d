/* SPDX-License-Identifier: BSD-2-Clause */
/* Room in the address spaces of a description, for the checks of channels and shared devices, whose
 * pages overlap nothing else. description_check() has validated the rest of the description before.
 * Also with the MMU off. */
#ifndef DESCRIPTION_ROOM_H
#define DESCRIPTION_ROOM_H

#include "hypervisor/description.h"
#include <stdbool.h>

/* A range of pages in an address space: that of the machine, or that of a guest. */
struct pages {
    uint64_t first;
    uint64_t bytes;
};

/* Returns true if the ranges do not overlap. `bytes`: 0 for none. */
bool room_is_apart(const struct pages *pages, uint64_t first, uint64_t bytes);

/* Returns true if the range begins at a page and ends below the limit. */
bool room_is_below(const struct pages *pages, uint64_t limit);

/* Returns true if the pages overlap no other use of physical memory: the hypervisor, devices,
 * memory of partitions, the first `channels` channels. */
bool room_is_free_memory(const struct description *system, const struct pages *pages,
                         uint32_t channels);

/* Returns true if the pages overlap nothing that the guest of a partition has, except the PCI host
 * for channels, shared devices, and channels behind the first `channels`. `partition`: index. */
bool room_is_free_for_guest(const struct description *system, uint32_t partition,
                            const struct pages *pages, uint32_t channels);

#endif
