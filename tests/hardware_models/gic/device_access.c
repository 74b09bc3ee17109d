/* SPDX-License-Identifier: BSD-2-Clause */
/* The accesses of <arch/device_access.h>, all of them to the model that the test uses. */
#include "gic.h"
#include <arch/device_access.h>

uint8_t device_read8(uintptr_t address)
{
    return (uint8_t)gic_model_read(gic_model_in_use(), address, 1);
}

uint32_t device_read32(uintptr_t address)
{
    return (uint32_t)gic_model_read(gic_model_in_use(), address, 4);
}

uint64_t device_read64(uintptr_t address)
{
    return gic_model_read(gic_model_in_use(), address, 8);
}

void device_write8(uintptr_t address, uint8_t value)
{
    gic_model_write(gic_model_in_use(), address, 1, value);
}

void device_write32(uintptr_t address, uint32_t value)
{
    gic_model_write(gic_model_in_use(), address, 4, value);
}

void device_write64(uintptr_t address, uint64_t value)
{
    gic_model_write(gic_model_in_use(), address, 8, value);
}

void device_publish(void)
{
}
