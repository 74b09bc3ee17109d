/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions on a PCI bus whose configuration space is mapped to memory, with no PCI code of the
 * BSP's. Bridges must have been numbered by firmware, if there are any. BARs that firmware has set
 * stay as they are; others get an address. Thread context.
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
    uint32_t id;              /* vendor and device that were found there */
    uint8_t line;             /* 0 to 3: which of the host bridge's its interrupt comes on */
    bool has_line;            /* it has one */
    uint32_t bar[PCI_BARS];   /* the registers as they are to be */
    uint32_t bytes[PCI_BARS]; /* of memory behind them; 0: none, or the driver cannot reach it */
};

/* The virtio network device number `index` on the bus; its BARs have addresses. False: there are
 * not so many. */
bool ecam_find_network(const struct virtio_rtems_pci *pci, unsigned index,
                       struct virtio_pci_function *function);
/* After a reset of the function as a whole: BARs and DMA as they were. False: it is not there. */
bool ecam_restore(struct virtio_pci_function *function);

#endif
