/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The addresses and interrupts of a board's virtio devices, which RTEMS's BSPs do not contain. A
 * port to another board adds a table of this type.
 */
#ifndef VIRTIO_RTEMS_BOARD_H
#define VIRTIO_RTEMS_BOARD_H

#include <rtems.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Consecutive register windows of virtio-mmio with consecutive interrupts; a window can be empty
 * (device id 0: VIRTIO 1.3, 4.2.2). */
struct virtio_rtems_mmio {
    uint64_t address; /* physical address of the first window */
    size_t bytes;     /* size of each window */
    unsigned count;   /* 0: there is none */
    rtems_vector_number first_vector;
    bool is_edge_triggered; /* the interrupts; false: level-triggered */
    /* The only memory that the device may access, whole pages at a physical address; then there is
     * one window. */
    uint64_t pool;
    size_t pool_bytes; /* 0: the devices may access all memory */
};

/* A PCI host bridge with memory-mapped configuration space (PCIe 5.0, 7.2.2: ECAM). */
struct virtio_rtems_pci {
    uint64_t configuration; /* physical address of bus 0 */
    unsigned buses;         /* 0: the board has no PCI; each bus has 1 MiB of configuration space */
    uint64_t memory; /* window below 4 GiB for BARs that firmware has not set; physical and bus
                        addresses are the same */
    uint64_t memory_bytes;
    rtems_vector_number first_vector; /* of the four consecutive lines INTA to INTD of device 0;
                                         other devices rotate them (PCI-to-PCI Bridge 1.2, 9.1) */
};

#define VIRTIO_RTEMS_MMIO_MAX 16 /* as many shared devices as a system of Bulkhead can have */

struct virtio_rtems_board {
    struct virtio_rtems_mmio mmio[VIRTIO_RTEMS_MMIO_MAX];
    struct virtio_rtems_pci pci;
};

/* QEMU's machine "virt": for AArch64 and Arm, bare or as a partition of Bulkhead, or for RISC-V. */
extern const struct virtio_rtems_board virtio_rtems_qemu_virt;

/*
 * Changes a board to the part of it that a partition of Bulkhead has: an access to anything else
 * stops the partition. The register windows become those of the devicetree's nodes "virtio,mmio"
 * below the root, whose addresses and sizes have two cells each, and whose interrupts are SPIs of
 * the GIC (Linux bindings "virtio,mmio" and "arm,gic-v3"). A node's "memory-region" is the pool of
 * its device, which must lie outside of the memory that RTEMS uses: a child of /reserved-memory
 * (Linux binding "restricted-dma-pool"). The board keeps its PCI only if the tree has a node
 * "pci-host-ecam-generic" with the same configuration space.
 *
 * A node that is malformed, or whose pool overlaps that of a node before it, and one more than
 * VIRTIO_RTEMS_MMIO_MAX, is reported on the console and left out. `tree`: all of it mapped, with a
 * header that fdt_check_header() has accepted, and aligned (Devicetree Specification 0.4, 5.6).
 * Task context.
 */
void virtio_rtems_read_devicetree(const void *tree, struct virtio_rtems_board *board);

#endif
