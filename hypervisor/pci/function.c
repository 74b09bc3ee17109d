/* SPDX-License-Identifier: BSD-2-Clause */
#include "pci/function.h"

#include <arch/device_access.h>

uint32_t pci_read(const struct function *function, uint32_t at, unsigned bytes)
{
    uintptr_t address = function->registers + at;

    return bytes == 1   ? device_read8(address)
           : bytes == 2 ? device_read16(address)
                        : device_read32(address);
}

void pci_write(const struct function *function, uint32_t at, unsigned bytes, uint32_t value)
{
    uintptr_t address = function->registers + at;

    if (bytes == 1) {
        device_write8(address, (uint8_t)value);
    } else if (bytes == 2) {
        device_write16(address, (uint16_t)value);
    } else {
        device_write32(address, value);
    }
}
