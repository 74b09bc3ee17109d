/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a board has its virtio devices: addresses as RTEMS's BSP would have them, which knows
 * nothing of virtio. A board of one's own is one such table.
 */
#ifndef VIRTIO_RTEMS_BOARD_H
#define VIRTIO_RTEMS_BOARD_H

#include <rtems.h>
#include <stddef.h>
#include <stdint.h>

/* Register windows of virtio-mmio in a row, whether or not a device is in them (VIRTIO 1.3, 4.2.2:
 * device id 0 is none). */
struct virtio_rtems_mmio {
    uint64_t address; /* physical, of the first */
    size_t bytes;     /* of each */
    unsigned count;   /* 0: the board has none */
    rtems_vector_number first_vector;
};

/* A PCI host bridge with memory-mapped configuration space (PCIe 5.0, 7.2.2: ECAM). */
struct virtio_rtems_pci {
    uint64_t configuration; /* physical, of bus 0 */
    unsigned buses;         /* 0: the board has none; 1 MiB of configuration space each */
    uint64_t memory;        /* window below 4 GiB for BARs that no firmware has set, the same
                               address on the bus */
    uint64_t memory_bytes;
    rtems_vector_number first_vector; /* of the four lines INTA to INTD of device 0, in a row;
                                         devices take turns (PCI-to-PCI Bridge 1.2, 9.1) */
};

struct virtio_rtems_board {
    struct virtio_rtems_mmio mmio;
    struct virtio_rtems_pci pci;
};

/* QEMU's machine "virt": for AArch64 and Arm, bare or as a partition of Bulkhead, or for RISC-V. */
extern const struct virtio_rtems_board virtio_rtems_qemu_virt;

#endif
