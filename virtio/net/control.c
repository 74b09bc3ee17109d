/* SPDX-License-Identifier: BSD-2-Clause */
/* The control queue (VIRTIO 1.3, 5.1.6.5). One command at a time, in net_device.command. */
#include "net_private.h"
#include "virtio/net_control.h"
#include <string.h>

#define ANSWER_NANOSECONDS UINT64_C(1000000000)

/* Layout of net_device.command: class and command, the command's data, and the device's answer. */
#define HEAD_BYTES 2u
#define DATA_BYTES (2u * 4u + 6u * VIRTIO_NET_FILTER_MAX)
#define ANSWER     (HEAD_BYTES + DATA_BYTES)

#define ANSWER_OK   0u    /* VIRTIO_NET_OK; all others are errors */
#define ANSWER_NONE 0xffu /* the device has not written its answer */

enum { CLASS_RECEIVE, CLASS_MAC, CLASS_VLAN, CLASS_ANNOUNCE, CLASS_PAIRS };
enum { MAC_TABLE_SET, MAC_ADDRESS_SET };
enum { VLAN_ADD, VLAN_DELETE };

#define VLAN_MAX 4094u

bool net_control_create(struct net_device *device)
{
    device->command =
        virtio_dma_allocate(device->pool, ANSWER + 1, sizeof(uint64_t), &device->command_address);
    return device->command != NULL;
}

void net_control_free(struct net_device *device)
{
    virtqueue_destroy(&device->control.ring);
    if (device->command != NULL) {
        virtio_dma_free(device->pool, device->command, ANSWER + 1);
    }
}

/* Evaluates the device's answer, for which it has reported `written` bytes. */
static enum virtio_net_answer read_answer(const struct virtio_net *net, uint32_t written)
{
    const volatile uint8_t *answer = &net->device->command[ANSWER];
    /* A legacy device's length is ignored (5.1.6.1): ANSWER_NONE shows whether it wrote the answer.
     */
    bool has_answer = net->transport->legacy || written != 0;

    return has_answer && *answer == ANSWER_OK ? VIRTIO_NET_DONE : VIRTIO_NET_REFUSED;
}

/*
 * Sends a command of class `class` with `bytes` of data, and waits for the answer. Requires all of
 * `features`. Each part has a descriptor of its own, as legacy devices demand (2.7.4.3).
 */
static enum virtio_net_answer send_command(struct virtio_net *net, uint64_t features,
                                           unsigned class, unsigned what, const void *data,
                                           uint32_t bytes)
{
    struct net_device *device = net->device;
    struct virtqueue *ring = &device->control.ring;
    uint64_t started = virtio_platform_now();
    struct virtqueue_segment segments[3] = {{device->command_address, HEAD_BYTES},
                                            {device->command_address + HEAD_BYTES, bytes}};
    unsigned readable = bytes != 0 ? 2 : 1;
    uint32_t written = 0;

    if ((net->features & features) != features || net->state != NET_RUNNING) {
        return VIRTIO_NET_NOT_SENT;
    }
    /* The device uses the command's memory until it answers the last command. */
    if (virtqueue_in_flight(ring) != 0 && virtqueue_take(ring, &written) == NULL) {
        net_control_recover(net);
        return VIRTIO_NET_NO_ANSWER;
    }
    device->command[0] = (uint8_t) class;
    device->command[1] = (uint8_t)what;
    memcpy(&device->command[HEAD_BYTES], data, bytes);
    device->command[ANSWER] = ANSWER_NONE; /* in place of the last command's answer */
    segments[readable] = (struct virtqueue_segment){device->command_address + ANSWER, 1};
    if (!virtqueue_add(ring, segments, readable, 1, device)) {
        return VIRTIO_NET_NO_ANSWER;
    }
    net_kick(net, &device->control);
    while (virtqueue_take(ring, &written) == NULL) {
        if (ring->broken != NULL || net->state != NET_RUNNING ||
            virtio_platform_now() - started > ANSWER_NANOSECONDS) {
            net_control_recover(net);
            return VIRTIO_NET_NO_ANSWER;
        }
        virtio_platform_pause();
    }
    return read_answer(net, written);
}

enum virtio_net_answer virtio_net_set_receive_mode(struct virtio_net *net,
                                                   enum virtio_net_receive_mode mode, bool on)
{
    uint8_t value = on;

    return send_command(
        net, mode <= VIRTIO_NET_ALL_MULTICAST ? VIRTIO_NET_F_CTRL_RX : VIRTIO_NET_F_CTRL_RX_EXTRA,
        CLASS_RECEIVE, mode, &value, sizeof(value));
}

/* Writes a table of `count` addresses: struct virtio_net_ctrl_mac, a le32 and the addresses.
 * Returns the byte behind it. */
static uint8_t *append_table(uint8_t *at, const uint8_t (*address)[6], unsigned count)
{
    size_t bytes = sizeof(*address) * count;

    memcpy(at, (const uint8_t[4]){(uint8_t)count}, 4);
    memcpy(at + 4, address, bytes);
    return at + 4 + bytes;
}

enum virtio_net_answer virtio_net_set_filter(struct virtio_net *net, const uint8_t (*address)[6],
                                             unsigned unicasts, unsigned multicasts)
{
    uint8_t data[DATA_BYTES];
    uint8_t *end;

    if (unicasts > VIRTIO_NET_FILTER_MAX || multicasts > VIRTIO_NET_FILTER_MAX - unicasts) {
        return VIRTIO_NET_NOT_SENT;
    }
    end = append_table(append_table(data, address, unicasts), address + unicasts, multicasts);
    return send_command(net, VIRTIO_NET_F_CTRL_RX, CLASS_MAC, MAC_TABLE_SET, data,
                        (uint32_t)(end - data));
}

enum virtio_net_answer virtio_net_set_mac(struct virtio_net *net, const uint8_t mac[6])
{
    struct net_device *device = net->device;
    enum virtio_net_answer answer =
        send_command(net, VIRTIO_NET_F_CTRL_MAC_ADDR | VIRTIO_NET_F_CTRL_RX, CLASS_MAC,
                     MAC_ADDRESS_SET, mac, sizeof(device->mac));

    if (answer == VIRTIO_NET_DONE) {
        memcpy(device->mac, mac, sizeof(device->mac));
        device->has_mac = true;
    }
    return answer;
}

/* Sends a command with a le16 as its data. */
static enum virtio_net_answer send_number(struct virtio_net *net, uint64_t features, unsigned class,
                                          unsigned what, uint16_t number)
{
    uint8_t data[2] = {(uint8_t)number, (uint8_t)(number >> 8)};

    return send_command(net, features, class, what, data, sizeof(data));
}

enum virtio_net_answer virtio_net_receive_vlan(struct virtio_net *net, uint16_t vlan, bool on)
{
    return vlan > VLAN_MAX ? VIRTIO_NET_NOT_SENT
                           : send_number(net, VIRTIO_NET_F_CTRL_VLAN, CLASS_VLAN,
                                         on ? VLAN_ADD : VLAN_DELETE, vlan);
}

bool net_use_pairs(struct virtio_net *net)
{
    return net->transport->enabled_queues_used ||
           send_number(net, VIRTIO_NET_F_MQ, CLASS_PAIRS, 0, net->device->pairs) == VIRTIO_NET_DONE;
}

bool virtio_net_announce_asked(struct virtio_net *net)
{
    uint32_t status;

    return net->state == NET_RUNNING && net_read_status(net, &status) &&
           (status & STATUS_ANNOUNCE) != 0 &&
           send_command(net, VIRTIO_NET_F_GUEST_ANNOUNCE, CLASS_ANNOUNCE, 0, "", 0) !=
               VIRTIO_NET_NOT_SENT;
}
