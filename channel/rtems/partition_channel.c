/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel/rtems.h"
#include "devicetree.h"
#include <arch/channel.h>
#include <arch/hypercalls.h>
#include <arch/hypervisor_call.h>
#include <libcpu/mmu-vmsav8-64.h>
#include <libfdt.h>
#include <string.h>

#define COMPATIBLE  "bulkhead,channel"
#define STATE_BYTES UINT64_C(4096)

/* The interrupt specifier of the GIC (Linux binding "arm,gic-v3"): type, number, trigger. */
#define INTERRUPT_CELLS 3
#define TYPE_SPI        0u
#define TRIGGER_RISING  1u
#define FIRST_SPI       32u

/* Returns a property of `cells` cells, NULL if there is none or if it has another size. */
static const fdt32_t *cells_of(const void *tree, int node, const char *name, int cells)
{
    int bytes;
    const fdt32_t *property = fdt_getprop(tree, node, name, &bytes);

    return property != NULL && bytes == cells * (int)sizeof(*property) ? property : NULL;
}

static uint64_t pair_of(const fdt32_t *cells)
{
    return (uint64_t)fdt32_ld(&cells[0]) << 32 | fdt32_ld(&cells[1]);
}

/* Returns a property of one cell, UINT32_MAX if there is none. */
static uint32_t number_of(const void *tree, int node, const char *name)
{
    const fdt32_t *property = cells_of(tree, node, name, 1);

    return property != NULL ? fdt32_ld(property) : UINT32_MAX;
}

static int find(const void *tree, const char *name)
{
    int node = fdt_node_offset_by_compatible(tree, -1, COMPATIBLE);

    while (node >= 0 && name != NULL) {
        const char *label = fdt_stringlist_get(tree, node, "label", 0, NULL);

        if (label != NULL && strcmp(label, name) == 0) {
            break;
        }
        node = fdt_node_offset_by_compatible(tree, node, COMPATIBLE);
    }
    return node;
}

static bool read_interrupt(struct partition_channel *channel, const void *tree, int node)
{
    const fdt32_t *interrupt = cells_of(tree, node, "interrupts", INTERRUPT_CELLS);

    if (interrupt == NULL || fdt32_ld(&interrupt[0]) != TYPE_SPI ||
        fdt32_ld(&interrupt[2]) != TRIGGER_RISING) {
        return false;
    }
    channel->vector = FIRST_SPI + fdt32_ld(&interrupt[1]);
    return true;
}

/* Reads the properties, and checks them against the size of the region. */
static rtems_status_code read_node(struct partition_channel *channel, const void *tree, int node,
                                   uint64_t *region)
{
    const char *label = fdt_stringlist_get(tree, node, "label", 0, NULL);
    const char *kind = fdt_stringlist_get(tree, node, "bulkhead,kind", 0, NULL);
    const fdt32_t *reg = cells_of(tree, node, "reg", 4);
    const fdt32_t *size = cells_of(tree, node, "bulkhead,section-bytes", 2);
    uint64_t bytes, sections;

    if (label == NULL || strlen(label) >= sizeof(channel->name) || kind == NULL || reg == NULL ||
        size == NULL || !read_interrupt(channel, tree, node)) {
        return RTEMS_INVALID_NODE;
    }
    memcpy(channel->name, label, strlen(label));
    channel->index = number_of(tree, node, "bulkhead,channel");
    channel->end = number_of(tree, node, "bulkhead,end");
    channel->has_values = strcmp(kind, "value") == 0;
    channel->is_one_way = fdt_getprop(tree, node, "bulkhead,one-way", NULL) != NULL;
    channel->section_bytes = pair_of(size);
    *region = pair_of(&reg[0]);
    bytes = pair_of(&reg[2]);
    sections = channel->is_one_way ? 1 : 2;
    if (channel->end > 1 || channel->section_bytes > bytes / sections ||
        bytes != STATE_BYTES + sections * channel->section_bytes) {
        return RTEMS_INVALID_NODE;
    }
    return RTEMS_SUCCESSFUL;
}

/* Maps all parts as memory that is cached. If the other end is a PCI function, stage 2 makes them
 * uncached (Arm ARM, "Combining the stage 1 and stage 2 memory type attributes"). */
static rtems_status_code map_region(struct partition_channel *channel, uint64_t region)
{
    uint32_t count = channel->is_one_way ? 1 : 2;
    rtems_status_code status = partition_map(region, STATE_BYTES, AARCH64_MMU_DATA_RO_CACHED);

    channel->states = (const struct channel_states *)(uintptr_t)region;
    for (uint32_t i = 0; i < count && status == RTEMS_SUCCESSFUL; i++) {
        uint64_t section = region + STATE_BYTES + i * channel->section_bytes;

        if (i == channel->end) {
            channel->own = (void *)(uintptr_t)section;
            status = partition_map(section, channel->section_bytes, AARCH64_MMU_DATA_RW_CACHED);
        } else {
            channel->peer = (const void *)(uintptr_t)section;
            status = partition_map(section, channel->section_bytes, AARCH64_MMU_DATA_RO_CACHED);
        }
    }
    return status;
}

rtems_status_code partition_channel_open(struct partition_channel *channel, const char *name)
{
    const void *tree = partition_devicetree();
    rtems_status_code status;
    uint64_t region;
    int node;

    if (tree == NULL) {
        return RTEMS_NOT_CONFIGURED;
    }
    node = find(tree, name);
    if (node < 0) {
        return RTEMS_INVALID_NAME;
    }
    *channel = (struct partition_channel){.own = NULL};
    status = read_node(channel, tree, node, &region);
    return status == RTEMS_SUCCESSFUL ? map_region(channel, region) : status;
}

void partition_channel_notify(void *channel)
{
    const struct partition_channel *own = channel;

    (void)hypervisor_call(CALL_CHANNEL_NOTIFY, own->index, 0, 0);
}

void partition_channel_set_state(const struct partition_channel *channel, uint32_t state)
{
    (void)hypervisor_call(CALL_CHANNEL_SET_STATE, channel->index, state, 0);
}

uint32_t partition_channel_peer_state(const struct partition_channel *channel)
{
    return __atomic_load_n(&channel->states->ends[1 - channel->end], __ATOMIC_ACQUIRE);
}
