/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Access to device registers, for the kernel's own drivers (GIC, ITS, PCI) and the hypervisor.
 * Device memory keeps accesses to one peripheral in program order (Arm ARM B2.7.2, Device-nGnRE).
 * Each access is one instruction with a plain base register, because only such an instruction gives
 * a valid syndrome to a hypervisor that emulates the device (Arm ARM, ESR_ELx, ISS encoding for a
 * Data Abort, ISV). Any context.
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
    __asm__ volatile("strb %w0, [%1]" : : "rZ"(value), "r"(address) : "memory");
}

static inline void device_write16(uintptr_t address, uint16_t value)
{
    __asm__ volatile("strh %w0, [%1]" : : "rZ"(value), "r"(address) : "memory");
}

static inline void device_write32(uintptr_t address, uint32_t value)
{
    __asm__ volatile("str %w0, [%1]" : : "rZ"(value), "r"(address) : "memory");
}

static inline void device_write64(uintptr_t address, uint64_t value)
{
    __asm__ volatile("str %x0, [%1]" : : "rZ"(value), "r"(address) : "memory");
}

/* Makes earlier writes to normal memory visible to a device that a later register write notifies.
 * The DSB orders the stores before the access to Device memory (Arm ARM B2.3.12; ST: only stores
 * need it). */
static inline void device_publish(void)
{
    __asm__ volatile("dsb ishst" : : : "memory");
}

/* Orders earlier accesses to normal memory before later ones, for a device that accesses the same
 * memory (Arm ARM B2.3.12: the outer shareable domain). */
static inline void device_order_memory(void)
{
    __asm__ volatile("dmb osh" : : : "memory");
}

/* Orders earlier loads from normal memory before later accesses to it, for a device that accesses
 * the same memory. */
static inline void device_observe_memory(void)
{
    __asm__ volatile("dmb oshld" : : : "memory");
}

/* Does the same as device_publish(), for a device that does not snoop the caches or a core with its
 * MMU off: cleans the lines to the point of coherency. */
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
