/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel/heartbeat.h"

#include "channel/rtems.h"
#include "devicetree.h"
#include <arch/heartbeat.h>
#include <libcpu/mmu-vmsav8-64.h>
#include <libfdt.h>

#define REGION_CELLS 4 /* address and size */

/* Returns a property of `count` cells, NULL if there is none or if it has another size. */
static const fdt32_t *cells(const void *tree, int node, const char *name, int count)
{
    int bytes;
    const fdt32_t *property = fdt_getprop(tree, node, name, &bytes);

    return property != NULL && bytes == count * (int)sizeof(*property) ? property : NULL;
}

rtems_status_code partition_heartbeat_open(struct partition_heartbeat *heartbeat)
{
    const void *tree = partition_devicetree();
    const fdt32_t *region, *period;
    uint64_t address;
    int node;

    if (tree == NULL) {
        return RTEMS_NOT_CONFIGURED;
    }
    node = fdt_node_offset_by_compatible(tree, -1, "bulkhead,heartbeat");
    if (node < 0) {
        return RTEMS_INVALID_NAME;
    }
    region = cells(tree, node, "reg", REGION_CELLS);
    period = cells(tree, node, "bulkhead,period-us", 1);
    if (region == NULL || period == NULL) {
        return RTEMS_INVALID_NODE;
    }
    address = (uint64_t)fdt32_ld(&region[0]) << 32 | fdt32_ld(&region[1]);
    heartbeat->period = fdt32_ld(period);
    heartbeat->counts = (volatile void *)(uintptr_t)address;
    return partition_map(address, sizeof(struct heartbeat_page), AARCH64_MMU_DATA_RW_CACHED);
}

void partition_heartbeat_beat(const struct partition_heartbeat *heartbeat)
{
    volatile struct heartbeat_page *page = heartbeat->counts;
    volatile struct heartbeat_count *own = &page->vcpus[rtems_scheduler_get_processor()];

    own->beats = own->beats + 1;
}
