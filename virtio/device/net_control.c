/* SPDX-License-Identifier: BSD-2-Clause */
/* The device's side of the control queue (VIRTIO 1.3, 5.1.6.5), and the filters that it sets. */
#include "net_frame.h"
#include <string.h>

#define ANSWER_OK    0u /* VIRTIO_NET_OK */
#define ANSWER_ERROR 1u /* VIRTIO_NET_ERR */

enum { CLASS_RECEIVE, CLASS_MAC, CLASS_VLAN, CLASS_ANNOUNCE };
enum { MAC_TABLE_SET };
enum { ANNOUNCE_ACKNOWLEDGE };

#define HEAD_BYTES    2u /* class and command */
#define ENTRIES_BYTES 4u /* of struct virtio_net_ctrl_mac */
#define ADDRESS_BYTES 6u

/* A command. Its data is in the driver's memory, and each byte is read once. */
struct command {
    uint8_t class;
    uint8_t number;
    uint32_t bytes; /* of data */
    const struct device_segment *segments;
};

static void read_data(const struct command *command, uint32_t start, uint8_t *to, uint32_t bytes)
{
    device_net_gather(command->segments, HEAD_BYTES + start, to, bytes);
}

static bool set_mode(struct device_net *net, const struct command *command)
{
    uint64_t need =
        command->number <= ALL_MULTICAST ? VIRTIO_NET_F_CTRL_RX : VIRTIO_NET_F_CTRL_RX_EXTRA;
    uint8_t value;

    if (command->number >= MODES || !device_net_accepted(net, need) || command->bytes != 1) {
        return false;
    }
    read_data(command, 0, &value, sizeof(value));
    if (value > 1) {
        return false;
    }
    net->filter.modes[command->number] = value != 0;
    return true;
}

/* Checks a table at `start` of the data, and stores its number of entries. Returns the byte behind
 * it, or 0 if it is larger than the data. */
static uint32_t measure_table(const struct command *command, uint32_t start, uint32_t *entries)
{
    uint8_t number[ENTRIES_BYTES];

    if (command->bytes - start < ENTRIES_BYTES) {
        return 0;
    }
    read_data(command, start, number, sizeof(number));
    *entries = get_little16(number) | (uint32_t)get_little16(number + 2) << 16;
    start += ENTRIES_BYTES;
    return *entries > (command->bytes - start) / ADDRESS_BYTES ? 0
                                                               : start + *entries * ADDRESS_BYTES;
}

/* Reads the addresses of a table that begins at `start` of the data. */
static void add_addresses(struct device_net_filter *filter, const struct command *command,
                          uint32_t start, uint32_t entries)
{
    for (uint32_t i = 0; i < entries; i++) {
        if (filter->count == DEVICE_NET_FILTER_MAX) {
            filter->overflow = true;
            return;
        }
        read_data(command, start + ENTRIES_BYTES + i * ADDRESS_BYTES,
                  filter->address[filter->count++], ADDRESS_BYTES);
    }
}

/* Replaces the table of addresses by two: of stations, and of groups (5.1.6.5.2). */
static bool set_table(struct device_net *net, const struct command *command)
{
    uint32_t stations, groups, middle;

    if (!device_net_accepted(net, VIRTIO_NET_F_CTRL_RX)) {
        return false;
    }
    middle = measure_table(command, 0, &stations);
    if (middle == 0 || measure_table(command, middle, &groups) != command->bytes) {
        return false;
    }
    net->filter.count = 0;
    net->filter.overflow = false;
    add_addresses(&net->filter, command, 0, stations);
    add_addresses(&net->filter, command, middle, groups);
    return true;
}

static bool execute(struct device_net *net, const struct command *command)
{
    switch (command->class) {
    case CLASS_RECEIVE:
        return set_mode(net, command);
    case CLASS_MAC:
        return command->number == MAC_TABLE_SET && set_table(net, command);
    case CLASS_ANNOUNCE:
        if (command->number != ANNOUNCE_ACKNOWLEDGE ||
            !device_net_accepted(net, VIRTIO_NET_F_GUEST_ANNOUNCE)) {
            return false;
        }
        net->status &= (uint16_t)~DEVICE_NET_ANNOUNCE; /* 5.1.6.5.4.2: before the buffer is used */
        return true;
    default:
        return false;
    }
}

/* Executes the command in net->chain. Returns the number of bytes written: the answer, which is the
 * first writable byte. */
static uint32_t answer(struct device_net *net)
{
    const struct device_chain *chain = &net->chain;
    struct command command = {.segments = chain->segments};
    uint8_t head[HEAD_BYTES];
    bool is_executed = false;

    /* A command whose answer has no place is not executed. */
    if (chain->writable != 0 && chain->readable_bytes >= HEAD_BYTES) {
        device_net_gather(chain->segments, 0, head, sizeof(head));
        command.class = head[0];
        command.number = head[1];
        command.bytes = chain->readable_bytes - HEAD_BYTES;
        is_executed = execute(net, &command);
    }
    net->statistics.commands += is_executed;
    net->statistics.commands_refused += !is_executed;
    if (chain->writable == 0) {
        return 0;
    }
    *chain->segments[chain->readable].memory = (uint8_t)(is_executed ? ANSWER_OK : ANSWER_ERROR);
    return 1;
}

bool device_net_control(struct device_net *net)
{
    uint16_t before = net->status;

    if (device_queue_take(&net->control, &net->chain)) {
        device_queue_finish(&net->control, answer(net));
    }
    return net->status != before;
}

static bool is_in_table(const struct device_net_filter *filter, const uint8_t destination[6])
{
    for (unsigned i = 0; i < filter->count; i++) {
        if (memcmp(filter->address[i], destination, ADDRESS_BYTES) == 0) {
            return true;
        }
    }
    return filter->overflow;
}

bool device_net_wants(const struct device_net *net, const uint8_t destination[6])
{
    static const uint8_t broadcast[ADDRESS_BYTES] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    const struct device_net_filter *filter = &net->filter;
    bool is_group = (destination[0] & 1u) != 0;

    /* 5.1.6.5.1.1: promiscuous mode prevails over the others, and "no" over "all". */
    if (filter->modes[PROMISCUOUS]) {
        return true;
    }
    if (memcmp(destination, broadcast, ADDRESS_BYTES) == 0) {
        return !filter->modes[NO_BROADCAST];
    }
    if (filter->modes[is_group ? NO_MULTICAST : NO_UNICAST]) {
        return false;
    }
    return filter->modes[is_group ? ALL_MULTICAST : ALL_UNICAST] ||
           is_in_table(filter, destination) || memcmp(destination, net->mac, ADDRESS_BYTES) == 0;
}
