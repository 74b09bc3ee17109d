/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Access to device registers in unit tests. Each test that needs these functions defines them, with
 * a model of its device.
 */
#ifndef ARCH_DEVICE_ACCESS_H
#define ARCH_DEVICE_ACCESS_H

#include <stddef.h>
#include <stdint.h>

uint8_t device_read8(uintptr_t address);
uint16_t device_read16(uintptr_t address);
uint32_t device_read32(uintptr_t address);
uint64_t device_read64(uintptr_t address);
void device_write8(uintptr_t address, uint8_t value);
void device_write16(uintptr_t address, uint16_t value);
void device_write32(uintptr_t address, uint32_t value);
void device_write64(uintptr_t address, uint64_t value);
void device_publish(void);
void device_observe_memory(void);
void device_publish_uncached(const void *memory, size_t bytes);

#endif
