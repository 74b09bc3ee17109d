/* SPDX-License-Identifier: BSD-2-Clause */
/* The reset of virtio devices (VIRTIO 1.3, 2.1 and 4.1.4.3). */
#include "pci/function.h"
#include <arch/device_access.h>

#define VENDOR_VIRTIO 0x1af4u
/* Offsets in struct virtio_pci_cap (4.1.4), which is a vendor-specific capability, and a value of
 * cfg_type. */
#define CAPABILITY_TYPE   3u
#define CAPABILITY_BAR    4u
#define CAPABILITY_OFFSET 8u
#define TYPE_COMMON       1u
/* Offset in struct virtio_pci_common_cfg (4.1.4.3). */
#define DEVICE_STATUS 20u

/* Returns the offset of the capability that locates the common configuration, or 0 if there is
 * none. The first one is used, because a device offers the preferred one first (4.1.4.1). */
static uint32_t find_common(const struct function *function)
{
    const struct virtual_function *view = function->view;

    if (pci_read(function, PCI_VENDOR_ID, 2) != VENDOR_VIRTIO) {
        return 0;
    }
    for (unsigned i = 0; i < view->capability_count; i++) {
        uint32_t at = view->capabilities[i].offset;

        if (view->capabilities[i].id == PCI_CAPABILITY_VENDOR &&
            pci_read(function, at + CAPABILITY_TYPE, 1) == TYPE_COMMON) {
            return at;
        }
    }
    return 0;
}

bool pci_virtio_can_reset(const struct function *function)
{
    return find_common(function) != 0;
}

/* Returns the address of device_status, or 0 if it is in no memory BAR. The BARs must have
 * addresses. */
static uint64_t find_status(const struct function *function)
{
    uint32_t at = find_common(function);
    uint64_t offset =
        (uint64_t)pci_read(function, at + CAPABILITY_OFFSET, PCI_DWORD) + DEVICE_STATUS;
    uint64_t bar =
        pci_bar_address(function, pci_read(function, at + CAPABILITY_BAR, 1), offset + 1);

    return bar != 0 ? bar + offset : 0;
}

uint64_t pci_virtio_start_reset(const struct function *function)
{
    uint64_t status = pci_bars_assign(function) ? find_status(function) : 0;

    function->view->command = PCI_COMMAND_MEMORY;
    pci_bars_apply(function);
    if (status == 0 ||
        (pci_read(function, PCI_COMMAND, 2) & PCI_COMMAND_DECODE) != PCI_COMMAND_MEMORY) {
        return 0;
    }
    device_write8((uintptr_t)status, 0);
    return status;
}

void pci_virtio_end_reset(const struct function *function)
{
    pci_write(function, PCI_COMMAND, 2, 0);
    pci_bars_clear(function);
}
