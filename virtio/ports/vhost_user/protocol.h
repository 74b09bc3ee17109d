/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers and layouts of the vhost-user protocol (QEMU, docs/interop/vhost-user.rst). All fields
 * have the byte order of the machine, on which both sides run.
 */
#ifndef VHOST_USER_PROTOCOL_H
#define VHOST_USER_PROTOCOL_H

#include "virtio/features.h"
#include <stdint.h>

enum vhost_user_request {
    REQUEST_GET_FEATURES = 1,
    REQUEST_SET_FEATURES = 2,
    REQUEST_SET_OWNER = 3,
    REQUEST_SET_MEM_TABLE = 5,
    REQUEST_SET_VRING_NUM = 8,
    REQUEST_SET_VRING_ADDR = 9,
    REQUEST_SET_VRING_BASE = 10,
    REQUEST_GET_VRING_BASE = 11,
    REQUEST_SET_VRING_KICK = 12,
    REQUEST_SET_VRING_CALL = 13,
    REQUEST_SET_VRING_ERR = 14,
    REQUEST_GET_PROTOCOL_FEATURES = 15,
    REQUEST_SET_PROTOCOL_FEATURES = 16,
    REQUEST_GET_QUEUE_NUM = 17,
    REQUEST_SET_VRING_ENABLE = 18,
    REQUEST_NET_SET_MTU = 20,
    REQUEST_SET_BACKEND_REQ_FD = 21,
    REQUEST_GET_CONFIG = 24,
    REQUEST_RESET_DEVICE = 34,
    REQUEST_SET_STATUS = 39,
    REQUEST_GET_STATUS = 40,
};

/* The only request of the back-end that can be negotiated here; it arrives on the back-end's
 * channel. */
#define BACKEND_REQUEST_CONFIG_CHANGE 2u

struct vhost_user_header {
    uint32_t request;
    uint32_t flags;
    uint32_t bytes; /* of the payload that follows */
};

#define MESSAGE_VERSION      0x1u
#define MESSAGE_VERSION_MASK 0x3u
#define MESSAGE_REPLY        0x4u
#define MESSAGE_NEED_REPLY   0x8u

/* Not a feature bit of virtio: the back-end supports protocol features. */
#define VHOST_USER_F_PROTOCOL_FEATURES VIRTIO_FEATURE(30)

#define PROTOCOL_F_MQ           VIRTIO_FEATURE(0)
#define PROTOCOL_F_REPLY_ACK    VIRTIO_FEATURE(3)
#define PROTOCOL_F_NET_MTU      VIRTIO_FEATURE(4)
#define PROTOCOL_F_BACKEND_REQ  VIRTIO_FEATURE(5)
#define PROTOCOL_F_CONFIG       VIRTIO_FEATURE(9)
#define PROTOCOL_F_RESET_DEVICE VIRTIO_FEATURE(13)
#define PROTOCOL_F_STATUS       VIRTIO_FEATURE(16)

/* Added to the queue's index in the payload of SET_VRING_KICK, _CALL and _ERR: the message carries
 * no descriptor. */
#define VRING_NO_DESCRIPTOR 0x100u

/* Value of SET_VRING_BASE for a packed ring: index 0 and wrap counter 1 in both directions. */
#define VRING_BASE_PACKED 0x80008000u

struct vhost_user_vring_state {
    uint32_t index;
    uint32_t number;
};

struct vhost_user_vring_address {
    uint32_t index;
    uint32_t flags;
    uint64_t descriptors;
    uint64_t used;
    uint64_t available;
    uint64_t log;
};

struct vhost_user_memory_table {
    uint32_t regions;
    uint32_t padding;
    struct {
        uint64_t guest_address;
        uint64_t bytes;
        uint64_t user_address;
        uint64_t map_offset;
    } region[1];
};

/* Length of the part of the configuration that is read, up to the MTU (VIRTIO 1.3, 5.1.4). */
#define VHOST_USER_CONFIG_BYTES 12u

struct vhost_user_config {
    uint32_t offset;
    uint32_t bytes;
    uint32_t flags;
    uint8_t field[VHOST_USER_CONFIG_BYTES];
};

#endif
