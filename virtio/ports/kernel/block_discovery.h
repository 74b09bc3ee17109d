/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the machine's virtio block devices, on the devicetree's "virtio,mmio" nodes and on PCI, and
 * connects their interrupts to a driver. Thread context, after pci_init().
 */
#ifndef VIRTIO_PORT_BLOCK_DISCOVERY_H
#define VIRTIO_PORT_BLOCK_DISCOVERY_H

#include "device_pool.h"
#include "kernel/interrupt.h"
#include "kernel/pci.h"
#include "virtio/block.h"
#include "virtio/mmio.h"
#include "virtio/pci.h"

struct virtio_block_device {
    struct virtio_transport *transport;  /* of the union below */
    struct virtio_block *volatile block; /* the driver that the handler calls, or NULL */
    /* Private: */
    union {
        struct virtio_mmio mmio;
        struct virtio_pci pci;
    } on;
    uintptr_t registers; /* MMIO */
    size_t register_bytes;
    struct virtio_device_pool pool;
    struct pci_function *function; /* NULL: MMIO */
    uint32_t number;               /* interrupt number of the line, or of the only vector */
    enum interrupt_trigger trigger;
    volatile bool is_masked;
};

/* Fills in the first block device: one on a node of the devicetree, or else one on PCI. `device`
 * must not move afterwards. Returns RESULT_NOT_FOUND if there is none. A device that cannot be
 * driven is reported on the console, and not counted. */
enum result virtio_find_block(struct virtio_block_device *device);

/* Connects the device's interrupt to `block`; NULL disconnects and masks it. Afterwards the handler
 * does not use the driver that was connected before. Interrupts from before the connection may be
 * lost, so the caller looks for finished requests once. Returns false if the handler could not be
 * attached. */
bool virtio_block_connect(struct virtio_block_device *device, struct virtio_block *block);

/* Unmasks an interrupt that was masked because there were too many. Call it after
 * virtio_block_rearm(). */
void virtio_block_unmask(struct virtio_block_device *device);

/* Makes the registers of a device accessible again after it was reset from outside or removed, and
 * probes it again. No driver is connected. Returns false if it can't be driven (yet), with the
 * reason in *reason. */
bool virtio_block_restore(struct virtio_block_device *device, const char **reason);

#endif
