/* SPDX-License-Identifier: BSD-2-Clause */
/* Registers of a virtio device with the MMIO transport, version 2 (VIRTIO 1.3, 4.2.2, table 4.1),
 * of 32 bits each, and the device status (2.1). */
#ifndef DEVICES_VIRTIO_MMIO_REGISTERS_H
#define DEVICES_VIRTIO_MMIO_REGISTERS_H

#define VIRTIO_MMIO_MAGIC             0x000u
#define VIRTIO_MMIO_VERSION           0x004u
#define VIRTIO_MMIO_DEVICE_ID         0x008u
#define VIRTIO_MMIO_VENDOR_ID         0x00cu
#define VIRTIO_MMIO_FEATURES          0x010u
#define VIRTIO_MMIO_FEATURES_SELECT   0x014u
#define VIRTIO_MMIO_ACCEPTED          0x020u /* DriverFeatures */
#define VIRTIO_MMIO_ACCEPTED_SELECT   0x024u
#define VIRTIO_MMIO_QUEUE_SELECT      0x030u
#define VIRTIO_MMIO_QUEUE_SIZE_MAX    0x034u
#define VIRTIO_MMIO_QUEUE_SIZE        0x038u
#define VIRTIO_MMIO_QUEUE_READY       0x044u
#define VIRTIO_MMIO_QUEUE_NOTIFY      0x050u
#define VIRTIO_MMIO_INTERRUPT_STATUS  0x060u
#define VIRTIO_MMIO_INTERRUPT_ACK     0x064u
#define VIRTIO_MMIO_STATUS            0x070u
#define VIRTIO_MMIO_QUEUE_DESCRIPTORS 0x080u /* each of two registers: low, high */
#define VIRTIO_MMIO_QUEUE_DRIVER_AREA 0x090u
#define VIRTIO_MMIO_QUEUE_DEVICE_AREA 0x0a0u
#define VIRTIO_MMIO_SHARED_LENGTH     0x0b0u
#define VIRTIO_MMIO_SHARED_BASE       0x0b8u
#define VIRTIO_MMIO_CONFIG_GENERATION 0x0fcu
#define VIRTIO_MMIO_CONFIG            0x100u

#define VIRTIO_MMIO_MAGIC_VALUE   0x74726976u /* "virt" */
#define VIRTIO_MMIO_VERSION_VALUE 2u

#define VIRTIO_MMIO_STATUS_ACKNOWLEDGE 1u
#define VIRTIO_MMIO_STATUS_DRIVER      2u
#define VIRTIO_MMIO_STATUS_DRIVER_OK   4u
#define VIRTIO_MMIO_STATUS_FEATURES_OK 8u
#define VIRTIO_MMIO_STATUS_NEEDS_RESET 64u
#define VIRTIO_MMIO_STATUS_FAILED      128u

/* Bits of InterruptStatus. */
#define VIRTIO_MMIO_INTERRUPT_USED   1u
#define VIRTIO_MMIO_INTERRUPT_CONFIG 2u

#endif
