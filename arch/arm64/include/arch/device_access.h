/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Access to device registers, for drivers of the kernel's own (GIC, ITS, PCI). Device memory keeps
 * accesses to one peripheral in program order (Arm ARM B2.7.2, Device-nGnRE). Each access is one
 * instruction with a plain base register: a hypervisor that emulates the device gets a valid
 * syndrome for exactly these (Arm ARM, ESR_ELx, ISS encoding for a Data Abort, ISV). Any context.
 */
#ifndef ARCH_DEVICE_ACCESS_H
#define ARCH_DEVICE_ACCESS_H

#include <stddef.h>
#include <stdint.h>

static inline uint8_t device_read8(uintptr_t address)
{
    uint32_t value;

    __asm__ volatile("ldrb %w0, [%1]" : "=r"(value) : "r"(address) : "memory");
    return (uint8_t)value;
}

static inline uint16_t device_read16(uintptr_t address)
{
    uint32_t value;

    __asm__ volatile("ldrh %w0, [%1]" : "=r"(value) : "r"(address) : "memory");
    return (uint16_t)value;
}

static inline uint32_t device_read32(uintptr_t address)
{
    uint32_t value;

    __asm__ volatile("ldr %w0, [%1]" : "=r"(value) : "r"(address) : "memory");
    return value;
}

static inline uint64_t device_read64(uintptr_t address)
{
    uint64_t value;

    __asm__ volatile("ldr %0, [%1]" : "=r"(value) : "r"(address) : "memory");
    return value;
}

static inline void device_write8(uintptr_t address, uint8_t value)
{
    __asm__ volatile("strb %w0, [%1]" : : "r"(value), "r"(address) : "memory");
}

static inline void device_write16(uintptr_t address, uint16_t value)
{
    __asm__ volatile("strh %w0, [%1]" : : "r"(value), "r"(address) : "memory");
}

static inline void device_write32(uintptr_t address, uint32_t value)
{
    __asm__ volatile("str %w0, [%1]" : : "r"(value), "r"(address) : "memory");
}

static inline void device_write64(uintptr_t address, uint64_t value)
{
    __asm__ volatile("str %0, [%1]" : : "r"(value), "r"(address) : "memory");
}

/* Normal memory written before is seen by a device that a later register write tells about it: DSB
 * orders the stores against the Device access (Arm ARM B2.3.12; ST: stores are all that matters).
 */
static inline void device_publish(void)
{
    __asm__ volatile("dsb ishst" : : : "memory");
}

/* Accesses to normal memory before are seen by a device that reads and writes that memory too
 * before those after (Arm ARM B2.3.12: the outer shareable domain). */
static inline void device_order_memory(void)
{
    __asm__ volatile("dmb osh" : : : "memory");
}

/* The same for loads before. */
static inline void device_observe_memory(void)
{
    __asm__ volatile("dmb oshld" : : : "memory");
}

/* As device_publish(), for a device that does not look into the caches: cleans the lines to the
 * point of coherency. */
static inline void device_publish_uncached(const void *memory, size_t bytes)
{
    uint64_t cache_type;
    uintptr_t line;

    __asm__("mrs %0, ctr_el0" : "=r"(cache_type));
    /* CTR_EL0.DminLine: log2 of the words in the smallest data cache line (Arm ARM D19.2.34). */
    line = (uintptr_t)4 << ((cache_type >> 16) & 0xF);
    for (uintptr_t at = (uintptr_t)memory & ~(line - 1); at < (uintptr_t)memory + bytes;
         at += line) {
        __asm__ volatile("dc cvac, %0" : : "r"(at) : "memory");
    }
    __asm__ volatile("dsb sy" : : : "memory");
}

#endif
