/* SPDX-License-Identifier: BSD-2-Clause */
/* A board without PCI functions, in place of virtio/ports/rtems/ecam.c. */
#include "ecam.h"

bool ecam_find_network(const struct virtio_rtems_pci *pci, unsigned index,
                       struct virtio_pci_function *function)
{
    (void)pci;
    (void)index;
    function->configuration = 0;
    return false;
}

bool ecam_restore(struct virtio_pci_function *function)
{
    (void)function;
    return true;
}
