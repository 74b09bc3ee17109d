/* SPDX-License-Identifier: BSD-2-Clause */
#include "virtio/device_queue.h"

uint8_t *device_memory_at(const struct device_memory *memory, virtio_address address,
                          uint64_t bytes)
{
    for (unsigned i = 0; i < memory->count; i++) {
        const struct device_memory_region *region = &memory->regions[i];
        uint64_t offset = address - region->start; /* wraps below the region to a huge offset */

        if (offset < region->bytes && bytes <= region->bytes - offset) {
            return region->here + offset;
        }
    }
    return NULL;
}
