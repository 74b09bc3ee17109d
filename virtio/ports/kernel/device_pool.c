/* SPDX-License-Identifier: BSD-2-Clause */
/* See device_pool.h. */
#include "device_pool.h"
#include "kernel/devicetree.h"
#include "kernel/memory.h"
#include <arch/mmu.h>

struct region {
    uint64_t address;
    uint64_t bytes;
};

static bool is_pool(int node)
{
    static const char parent[] = "/reserved-memory";

    return node >= 0 && devicetree_parent(node) == devicetree_find(parent, sizeof(parent) - 1) &&
           devicetree_compatible(node, "restricted-dma-pool");
}

static bool read_region(int device, struct region *region)
{
    int node = devicetree_by_phandle(devicetree_number(device, "memory-region", 0));

    return is_pool(node) &&
           devicetree_reg(node, 0, &region->address, &region->bytes) == RESULT_OK &&
           region->bytes != 0 && region->bytes <= UINT64_MAX - region->address &&
           (region->address | region->bytes) % PAGE_BYTES == 0;
}

/* Returns true if a part of the region belongs to the pool of another device, too. */
static bool is_shared(int device, const struct region *region)
{
    struct region other;

    for (int node = devicetree_next_compatible(-1, "virtio,mmio"); node >= 0;
         node = devicetree_next_compatible(node, "virtio,mmio")) {
        if (node != device && read_region(node, &other) &&
            other.address < region->address + region->bytes &&
            region->address < other.address + other.bytes) {
            return true;
        }
    }
    return false;
}

bool virtio_device_pool_find(int node, struct virtio_device_pool *pool, const char **reason)
{
    struct region region;
    unsigned bytes;

    pool->exists = devicetree_property(node, "memory-region", &bytes) != NULL;
    if (!pool->exists) {
        return true;
    }
    if (!read_region(node, &region)) {
        *reason = "its memory-region in the devicetree is no pool of reserved memory";
        return false;
    }
    if (is_shared(node, &region)) {
        *reason = "another device has a part of its pool";
        return false;
    }
    if (arch_mmu_map_memory(region.address, (size_t)region.bytes) != RESULT_OK) {
        *reason = "its pool cannot be mapped";
        return false;
    }
    virtio_pool_init(&pool->pool, (void *)(uintptr_t)region.address, (size_t)region.bytes);
    return true;
}

void virtio_device_pool_use(struct virtio_device_pool *pool, struct virtio_transport *transport)
{
    if (pool->exists) {
        transport->pool = &pool->pool;
    }
}
