/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * INTx: maps the pin through the bridges to a pin of the host bridge (PCI-to-PCI Bridge 1.2, 9.1),
 * and that one by `interrupt-map` (Open Firmware Recommended Practice: Interrupt Mapping 0.9).
 */
#include "kernel/devicetree.h"
#include "kernel/pci.h"
#include "pci/pci_private.h"
#include <devices/pci_registers.h>

#define PINS 4u

enum result pci_intx(const struct pci_function *function, uint32_t *number,
                     enum interrupt_trigger *trigger)
{
    uint32_t pin = pci_config_read(function, PCI_INTERRUPT_PIN, 1);
    uint32_t specifier[4] = {0};

    if (pin == 0 || pin > PINS) {
        return RESULT_NOT_FOUND;
    }
    for (; function->bridge != NULL; function = function->bridge) {
        pin = (pin - 1 + function->device) % PINS + 1;
    }
    specifier[0] = (uint32_t)function->bus << 16 | (uint32_t)function->device << 11 |
                   (uint32_t)function->function << 8;
    specifier[3] = pin;
    return devicetree_mapped_interrupt(pci_host()->node, specifier, 4, number, trigger);
}
