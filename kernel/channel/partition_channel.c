/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/partition_channel.h"

#include "kernel/devicetree.h"
#include "kernel/interrupt.h"
#include "kernel/memory.h"
#include "kernel/trace.h"
#include <arch/hypercalls.h>
#include <arch/hypervisor_call.h>
#include <arch/mmu.h>
#include <string.h>

#define COMPATIBLE "bulkhead,channel"

/* Returns the node's string property, NULL if there is none or if it has no end. */
static const char *text_of(int node, const char *name)
{
    unsigned bytes;
    const char *text = devicetree_property(node, name, &bytes);

    return text != NULL && bytes != 0 && text[bytes - 1] == '\0' ? text : NULL;
}

static int find(const char *name)
{
    int node = devicetree_next_compatible(-1, COMPATIBLE);

    while (node >= 0 && name != NULL) {
        const char *label = text_of(node, "label");

        if (label != NULL && strcmp(label, name) == 0) {
            break;
        }
        node = devicetree_next_compatible(node, COMPATIBLE);
    }
    return node;
}

/* Reads the properties, and checks them against the size of the region. */
static enum result read_node(struct partition_channel *channel, int node, uint64_t *region)
{
    const char *label = text_of(node, "label"), *kind = text_of(node, "bulkhead,kind");
    unsigned count;
    const uint32_t *size = devicetree_cells(node, "bulkhead,section-bytes", &count);
    enum interrupt_trigger trigger;
    uint64_t bytes, sections;

    if (label == NULL || strlen(label) >= sizeof channel->name || kind == NULL || size == NULL ||
        count != 2 || devicetree_reg(node, 0, region, &bytes) != RESULT_OK) {
        return RESULT_INVALID;
    }
    memcpy(channel->name, label, strlen(label));
    channel->index = devicetree_number(node, "bulkhead,channel", UINT32_MAX);
    channel->end = devicetree_number(node, "bulkhead,end", UINT32_MAX);
    channel->has_values = strcmp(kind, "value") == 0;
    channel->is_one_way = devicetree_property(node, "bulkhead,one-way", &count) != NULL;
    channel->is_uncached = devicetree_property(node, "bulkhead,uncached", &count) != NULL;
    channel->section_bytes = (uint64_t)devicetree_cell(&size[0]) << 32 | devicetree_cell(&size[1]);
    channel->has_interrupt =
        devicetree_interrupt(node, 0, &channel->interrupt, &trigger) == RESULT_OK &&
        trigger == INTERRUPT_EDGE;
    sections = channel->is_one_way ? 1 : 2;
    if (channel->end > 1 || channel->section_bytes > bytes / sections ||
        bytes != PAGE_BYTES + sections * channel->section_bytes) {
        return RESULT_INVALID;
    }
    return RESULT_OK;
}

static enum result map_section(uint64_t section, uint64_t bytes, bool is_own)
{
    return is_own ? arch_mmu_map_memory(section, (size_t)bytes)
                  : arch_mmu_map_constants(section, (size_t)bytes);
}

/* Memory is mapped one to one (arch/mmu.h). */
static enum result map_region(struct partition_channel *channel, uint64_t region)
{
    uint32_t count = channel->is_one_way ? 1 : 2;
    enum result result = arch_mmu_map_constants(region, PAGE_BYTES);

    channel->states = (const struct channel_states *)(uintptr_t)region;
    for (uint32_t i = 0; i < count && result == RESULT_OK; i++) {
        uint64_t section = region + PAGE_BYTES + i * channel->section_bytes;

        result = map_section(section, channel->section_bytes, i == channel->end);
        if (i == channel->end) {
            channel->own = (void *)(uintptr_t)section;
        } else {
            channel->peer = (const void *)(uintptr_t)section;
        }
    }
    return result;
}

enum result partition_channel_open(struct partition_channel *channel, const char *name)
{
    int node = find(name);
    enum result result;
    uint64_t region;

    if (node < 0) {
        return RESULT_NOT_FOUND;
    }
    *channel = (struct partition_channel){.own = NULL};
    result = read_node(channel, node, &region);
    return result == RESULT_OK ? map_region(channel, region) : result;
}

void partition_channel_notify(void *channel)
{
    const struct partition_channel *own = channel;
    interrupt_state state = interrupts_save();

    trace_channel_notify(own->index);
    interrupts_restore(state);
    (void)hypervisor_call(CALL_CHANNEL_NOTIFY, own->index, 0, 0);
}

void partition_channel_set_state(const struct partition_channel *channel, uint32_t state)
{
    interrupt_state interrupts = interrupts_save();

    trace_channel_state(channel->index, state);
    interrupts_restore(interrupts);
    (void)hypervisor_call(CALL_CHANNEL_SET_STATE, channel->index, state, 0);
}

uint32_t partition_channel_peer_state(const struct partition_channel *channel)
{
    return __atomic_load_n(&channel->states->ends[1 - channel->end], __ATOMIC_ACQUIRE);
}
