/* SPDX-License-Identifier: BSD-2-Clause */
#include "adapter.h"

#include <arch/channel.h>
#include <arch/hypercalls.h>
#include <arch/hypervisor_call.h>
#include <string.h>

#define COMPATIBLE  "bulkhead,channel"
#define STATE_BYTES UINT64_C(4096) /* the page of states, at the start of a region */

/* Returns the node's string property, NULL if there is none or if it has no end. */
static const char *text_of(int node, const char *name)
{
    unsigned bytes;
    const char *text = guest_property(node, name, &bytes);

    return text != NULL && bytes != 0 && text[bytes - 1] == '\0' ? text : NULL;
}

/* Reads a big-endian number of `size` bytes. Returns false if there is none of this size. */
static bool read_number(int node, const char *name, unsigned size, uint64_t *number)
{
    unsigned bytes;
    const uint8_t *property = guest_property(node, name, &bytes);

    if (property == NULL || bytes != size) {
        return false;
    }
    *number = 0;
    for (unsigned i = 0; i < size; i++) {
        *number = *number << 8 | property[i];
    }
    return true;
}

static uint32_t cell_of(int node, const char *name)
{
    uint64_t number;

    return read_number(node, name, sizeof(uint32_t), &number) ? (uint32_t)number : UINT32_MAX;
}

static bool has_property(int node, const char *name)
{
    unsigned bytes;

    return guest_property(node, name, &bytes) != NULL;
}

static int find(const char *name)
{
    int node = guest_next_node(-1, COMPATIBLE);

    while (node >= 0 && name != NULL) {
        const char *label = text_of(node, "label");

        if (label != NULL && strcmp(label, name) == 0) {
            break;
        }
        node = guest_next_node(node, COMPATIBLE);
    }
    return node;
}

static uint32_t section_count(const struct partition_channel *channel)
{
    return channel->is_one_way ? 1 : 2;
}

/* Reads the properties, and checks them against the size of the region. Returns false if the node
 * is malformed. */
static bool read_node(struct partition_channel *channel, int node, uint64_t *region)
{
    const char *label = text_of(node, "label"), *kind = text_of(node, "bulkhead,kind");
    uint64_t bytes, sections;

    if (has_property(node, "bulkhead,common-bytes") &&
        !read_number(node, "bulkhead,common-bytes", sizeof(uint64_t), &channel->common_bytes)) {
        return false;
    }
    if (label == NULL || strlen(label) >= sizeof(channel->name) || kind == NULL ||
        !read_number(node, "bulkhead,section-bytes", sizeof(uint64_t), &channel->section_bytes) ||
        !guest_read_region(node, region, &bytes)) {
        return false;
    }
    memcpy(channel->name, label, strlen(label));
    channel->index = cell_of(node, "bulkhead,channel");
    channel->end = cell_of(node, "bulkhead,end");
    channel->has_values = strcmp(kind, "value") == 0;
    channel->is_one_way = has_property(node, "bulkhead,one-way");
    channel->is_uncached = has_property(node, "bulkhead,uncached");
    channel->has_interrupt = guest_read_interrupt(node, &channel->interrupt);
    sections = section_count(channel);
    return channel->end <= 1 && channel->section_bytes <= bytes / sections &&
           channel->common_bytes <= bytes &&
           bytes == STATE_BYTES + channel->common_bytes + sections * channel->section_bytes;
}

static guest_status map_region(struct partition_channel *channel, uint64_t region)
{
    guest_status status = guest_map_memory(region, STATE_BYTES, false);

    channel->states = (const struct channel_states *)(uintptr_t)region;
    for (uint32_t i = 0; i < section_count(channel) && status == GUEST_OK; i++) {
        uint64_t section =
            region + STATE_BYTES + channel->common_bytes + i * channel->section_bytes;
        bool is_own = i == channel->end;

        status = guest_map_memory(section, channel->section_bytes, is_own);
        if (is_own) {
            channel->own = (void *)(uintptr_t)section;
        } else {
            channel->peer = (const void *)(uintptr_t)section;
        }
    }
    return status;
}

guest_status partition_channel_open(struct partition_channel *channel, const char *name)
{
    guest_status status = guest_open_devicetree();
    uint64_t region;
    int node;

    if (status != GUEST_OK) {
        return status;
    }
    node = find(name);
    if (node < 0) {
        return GUEST_NOT_FOUND;
    }
    *channel = (struct partition_channel){.own = NULL};
    return read_node(channel, node, &region) ? map_region(channel, region) : GUEST_MALFORMED;
}

void partition_channel_notify(void *channel)
{
    const struct partition_channel *own = channel;

    guest_trace_notify(own);
    (void)hypervisor_call(CALL_CHANNEL_NOTIFY, own->index, 0, 0);
}

void partition_channel_set_state(const struct partition_channel *channel, uint32_t state)
{
    guest_trace_state(channel, state);
    (void)hypervisor_call(CALL_CHANNEL_SET_STATE, channel->index, state, 0);
}

uint32_t partition_channel_peer_state(const struct partition_channel *channel)
{
    return __atomic_load_n(&channel->states->ends[1 - channel->end], __ATOMIC_ACQUIRE);
}
