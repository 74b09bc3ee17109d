/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The list of capabilities (PCI 3.0, 6.7). It is read once, at boot. The guest sees a copy, which
 * omits hidden capabilities and is never a loop.
 */
#include "pci/function.h"

#define HEADER_BYTES            0x40u
#define CAPABILITIES_END        0x100u
#define CAPABILITY_NEXT(header) ((header) >> 8 & 0xfcu)

/* Returns true for MSI and MSI-X. Their interrupts are writes to memory, which need an ITS, and
 * guests have none. */
static bool is_hidden(uint8_t id)
{
    return id == PCI_CAPABILITY_MSI || id == PCI_CAPABILITY_MSIX;
}

/* Returns the size of the capability's registers that the hypervisor uses. */
static uint32_t bytes_used(uint8_t id)
{
    switch (id) {
    case PCI_CAPABILITY_POWER:
        return PCI_POWER_CONTROL + PCI_DWORD;
    case PCI_CAPABILITY_EXPRESS:
        return PCI_EXPRESS_CONTROL + PCI_DWORD;
    case PCI_CAPABILITY_VENDOR: /* up to `offset` of struct virtio_pci_cap (VIRTIO 1.3, 4.1.4) */
        return 12;
    default:
        return PCI_DWORD;
    }
}

void pci_capabilities_find(const struct function *function)
{
    struct virtual_function *view = function->view;
    uint32_t at = pci_read(function, PCI_CAPABILITIES, 1) & 0xfc;

    view->capability_count = 0;
    if ((pci_read(function, PCI_STATUS, 2) & PCI_STATUS_CAPABILITIES) == 0) {
        return;
    }
    for (unsigned hop = 0; hop < FUNCTION_CAPABILITIES && at >= HEADER_BYTES; hop++) {
        uint32_t header = pci_read(function, at, 2);
        uint8_t id = (uint8_t)header;

        if (pci_capability_at(view, at) >= 0) {
            return; /* the list is a loop */
        }
        if (is_hidden(id)) {
            pci_write(function, at + PCI_MSI_CONTROL, 2, 0); /* firmware may have enabled it */
        } else {
            unsigned last = view->capability_count++;

            view->capabilities[last].offset = (uint8_t)at;
            /* A faulty device may have a capability so close to the end that its registers would
             * lie in the extended capabilities. */
            view->capabilities[last].id =
                at + bytes_used(id) <= CAPABILITIES_END ? id : PCI_CAPABILITY_NULL;
        }
        at = CAPABILITY_NEXT(header);
    }
}

uint8_t pci_capability_next(const struct virtual_function *view, int position)
{
    return position + 1 < view->capability_count ? view->capabilities[position + 1].offset : 0;
}

int pci_capability_at(const struct virtual_function *view, uint32_t at)
{
    for (int i = 0; i < view->capability_count; i++) {
        if (view->capabilities[i].offset == at) {
            return i;
        }
    }
    return -1;
}

uint8_t pci_capability_find(const struct virtual_function *view, uint8_t id)
{
    for (unsigned i = 0; i < view->capability_count; i++) {
        if (view->capabilities[i].id == id) {
            return view->capabilities[i].offset;
        }
    }
    return 0;
}

uint32_t pci_express_reset(const struct function *function)
{
    uint32_t base = pci_capability_find(function->view, PCI_CAPABILITY_EXPRESS);

    if (base == 0 || (pci_read(function, base + PCI_EXPRESS_ABILITIES, PCI_DWORD) &
                      PCI_EXPRESS_CAN_RESET) == 0) {
        return 0;
    }
    return base + PCI_EXPRESS_CONTROL;
}
