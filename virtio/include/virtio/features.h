/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers of the standard: device types, device status, feature bits as masks (never as bit
 * numbers, so that the two cannot be confused).
 */
#ifndef VIRTIO_FEATURES_H
#define VIRTIO_FEATURES_H

#include <stdint.h>

/* Device types (VIRTIO 1.3, 5). */
#define VIRTIO_DEVICE_NETWORK 1u

/* Device status (VIRTIO 1.3, 2.1). */
#define VIRTIO_STATUS_ACKNOWLEDGE 0x01u
#define VIRTIO_STATUS_DRIVER      0x02u
#define VIRTIO_STATUS_DRIVER_OK   0x04u
#define VIRTIO_STATUS_FEATURES_OK 0x08u
#define VIRTIO_STATUS_NEEDS_RESET 0x40u
#define VIRTIO_STATUS_FAILED      0x80u

#define VIRTIO_FEATURE(bit) (UINT64_C(1) << (bit))

/* Reserved feature bits (VIRTIO 1.3, 6). */
#define VIRTIO_F_ANY_LAYOUT        VIRTIO_FEATURE(27) /* legacy devices only */
#define VIRTIO_F_INDIRECT_DESC     VIRTIO_FEATURE(28)
#define VIRTIO_F_EVENT_IDX         VIRTIO_FEATURE(29)
#define VIRTIO_F_VERSION_1         VIRTIO_FEATURE(32)
#define VIRTIO_F_ACCESS_PLATFORM   VIRTIO_FEATURE(33)
#define VIRTIO_F_RING_PACKED       VIRTIO_FEATURE(34)
#define VIRTIO_F_IN_ORDER          VIRTIO_FEATURE(35)
#define VIRTIO_F_ORDER_PLATFORM    VIRTIO_FEATURE(36)
#define VIRTIO_F_NOTIFICATION_DATA VIRTIO_FEATURE(38)
#define VIRTIO_F_RING_RESET        VIRTIO_FEATURE(40)

/* Network device (VIRTIO 1.3, 5.1.3). */
#define VIRTIO_NET_F_CSUM         VIRTIO_FEATURE(0)
#define VIRTIO_NET_F_GUEST_CSUM   VIRTIO_FEATURE(1)
#define VIRTIO_NET_F_MTU          VIRTIO_FEATURE(3)
#define VIRTIO_NET_F_MAC          VIRTIO_FEATURE(5)
#define VIRTIO_NET_F_GUEST_TSO4   VIRTIO_FEATURE(7)
#define VIRTIO_NET_F_GUEST_TSO6   VIRTIO_FEATURE(8)
#define VIRTIO_NET_F_HOST_TSO4    VIRTIO_FEATURE(11)
#define VIRTIO_NET_F_HOST_TSO6    VIRTIO_FEATURE(12)
#define VIRTIO_NET_F_MRG_RXBUF    VIRTIO_FEATURE(15)
#define VIRTIO_NET_F_STATUS       VIRTIO_FEATURE(16)
#define VIRTIO_NET_F_CTRL_VQ      VIRTIO_FEATURE(17)
#define VIRTIO_NET_F_MQ           VIRTIO_FEATURE(22)
#define VIRTIO_NET_F_SPEED_DUPLEX VIRTIO_FEATURE(63)

#endif
