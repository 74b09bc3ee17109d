/* SPDX-License-Identifier: BSD-2-Clause */
#include "register_access.h"

uint8_t virtio_platform_read8(virtio_register reg)
{
    return (uint8_t)register_read(reg, 1);
}

uint16_t virtio_platform_read16(virtio_register reg)
{
    return (uint16_t)register_read(reg, 2);
}

uint32_t virtio_platform_read32(virtio_register reg)
{
    return register_read(reg, 4);
}

void virtio_platform_write8(virtio_register reg, uint8_t value)
{
    register_write(reg, 1, value);
}

void virtio_platform_write16(virtio_register reg, uint16_t value)
{
    register_write(reg, 2, value);
}

void virtio_platform_write32(virtio_register reg, uint32_t value)
{
    register_write(reg, 4, value);
}
