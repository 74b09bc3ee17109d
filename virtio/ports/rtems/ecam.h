/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PCI functions behind a memory-mapped configuration space, without PCI code of the BSP. Firmware
 * must have numbered the bridges, if there are any. BARs that firmware has set keep their
 * addresses; others get an address. Thread context.
 */
#ifndef VIRTIO_RTEMS_ECAM_H
#define VIRTIO_RTEMS_ECAM_H

#include "board.h"
#include "virtio/platform.h"
#include <stdbool.h>
#include <stdint.h>

#define PCI_BARS 6u

struct virtio_pci_function {
    uintptr_t configuration;  /* mapped */
    uint32_t id;              /* vendor and device id */
    uint8_t line;             /* line of the host bridge that its interrupt arrives on, 0 to 3 */
    bool has_line;            /* the function has an interrupt line */
    uint32_t bar[PCI_BARS];   /* values of the BARs */
    uint32_t bytes[PCI_BARS]; /* sizes; 0: not a memory BAR, or inaccessible */
};

/* Finds virtio network device number `index` on the bus and gives its BARs addresses. Returns false
 * if there are fewer devices. */
bool ecam_find_network(const struct virtio_rtems_pci *pci, unsigned index,
                       struct virtio_pci_function *function);
/* Restores BARs and bus mastering after a reset of the whole function. Returns false if the
 * function is not there. */
bool ecam_restore(struct virtio_pci_function *function);

#endif
