/* SPDX-License-Identifier: BSD-2-Clause */
/* Disables bus mastering that firmware has left enabled. */
#include "pci/config_space.h"
#include "pci/function.h"
#include <stddef.h>

#define FUNCTIONS         256u /* functions on one bus */
#define CLASS_HOST_BRIDGE 0x0600u

void pci_disable_mastering(const struct description *system)
{
    for (uintptr_t address = 0; address < FUNCTIONS; address++) {
        const struct function function = {
            NULL, NULL, (uintptr_t)system->board.ecam + (address << PCI_FUNCTION_SHIFT)};
        uint32_t command = pci_read(&function, PCI_COMMAND, 2);

        /* An absent function reads as ones, its class included, and ignores the write. */
        if ((command & PCI_COMMAND_MASTER) != 0 &&
            pci_read(&function, PCI_CLASS + 2, 2) != CLASS_HOST_BRIDGE) {
            pci_write(&function, PCI_COMMAND, 2, command & ~PCI_COMMAND_MASTER);
        }
    }
}
