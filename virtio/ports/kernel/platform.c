/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * virtio/platform.h on our kernel. Memory is mapped one to one and is coherent with the devices, so
 * the device's address of memory is the pointer. Rings come from the heap, which wastes little on
 * small ones.
 */
#include "kernel/interrupt.h"
#include "kernel/memory.h"
#include "kernel/pci.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "platform_memory.h"
#include <arch/device_access.h>
#include <arch/instructions.h>
#include <stdarg.h>
#include <string.h>

#define PAUSE_NANOSECONDS (100 * NANOSECONDS_PER_MICROSECOND)

/* Sums of the allocations for all devices; accessed with interrupts masked. */
static struct virtio_platform_memory given_out;

static void count(size_t *bytes, size_t change)
{
    interrupt_state state = interrupts_save();

    *bytes += change;
    interrupts_restore(state);
}

void virtio_platform_memory(struct virtio_platform_memory *memory)
{
    interrupt_state state = interrupts_save();

    *memory = given_out;
    interrupts_restore(state);
}

void *virtio_platform_allocate(size_t bytes)
{
    void *memory = heap_allocate(bytes);

    if (memory != NULL) {
        count(&given_out.private_bytes, bytes);
        memset(memory, 0, bytes);
    }
    return memory;
}

void virtio_platform_free(void *memory, size_t bytes)
{
    count(&given_out.private_bytes, -bytes);
    heap_free(memory);
}

void *virtio_platform_dma_allocate(size_t bytes, size_t alignment, virtio_address *address)
{
    void *memory = heap_allocate_aligned(bytes, alignment);

    if (memory != NULL) {
        count(&given_out.shared_bytes, bytes);
        memset(memory, 0, bytes);
        *address = (virtio_address)(uintptr_t)memory;
    }
    return memory;
}

void virtio_platform_dma_free(void *memory, size_t bytes)
{
    count(&given_out.shared_bytes, -bytes);
    heap_free(memory);
}

virtio_address virtio_platform_dma_address(const void *memory)
{
    return (virtio_address)(uintptr_t)memory;
}

void virtio_platform_barrier(enum virtio_barrier barrier)
{
    switch (barrier) {
    case VIRTIO_BARRIER_OBSERVE:
        device_observe_memory();
        break;
    default:
        device_order_memory();
    }
}

/* Accesses to one device stay in program order (arch/device_access.h: Device-nGnRE). */

static uint32_t read_register(virtio_register reg, unsigned bytes)
{
    switch (bytes) {
    case 1:
        return device_read8(reg);
    case 2:
        return device_read16(reg);
    default:
        return device_read32(reg);
    }
}

/* The driver reads the cause of an interrupt with this function, and then the rings in normal
 * memory. The DMB orders the two: it orders accesses to Device and Normal memory alike (Arm ARM DDI
 * 0487, B2.3.7). */
uint32_t virtio_platform_read(virtio_register reg, unsigned bytes)
{
    uint32_t value = read_register(reg, bytes);

    device_observe_memory();
    return value;
}

/* A notification is a write with this function. The ring, in normal memory, must be visible before
 * it.
 */
void virtio_platform_write(virtio_register reg, unsigned bytes, uint32_t value)
{
    device_publish();
    switch (bytes) {
    case 1:
        device_write8(reg, (uint8_t)value);
        break;
    case 2:
        device_write16(reg, (uint16_t)value);
        break;
    default:
        device_write32(reg, value);
    }
}

static struct pci_function *kernel_function(struct virtio_pci_function *function)
{
    return (struct pci_function *)function;
}

uint32_t virtio_platform_pci_read(struct virtio_pci_function *function, uint16_t offset,
                                  unsigned bytes)
{
    return pci_config_read(kernel_function(function), offset, bytes);
}

void virtio_platform_pci_write(struct virtio_pci_function *function, uint16_t offset,
                               unsigned bytes, uint32_t value)
{
    pci_config_write(kernel_function(function), offset, bytes, value);
}

virtio_register virtio_platform_pci_map(struct virtio_pci_function *function, unsigned bar,
                                        uint64_t offset, uint64_t length)
{
    struct pci_function *owner = kernel_function(function);
    uint64_t bytes;
    uint32_t ports = 0;
    uintptr_t mapping;

    if (bar >= PCI_BAR_COUNT) {
        return 0;
    }
    bytes = owner->bar[bar].bytes;
    if (bytes != 0) {
        mapping = pci_map_bar(owner, bar);
    } else {
        mapping = pci_map_ports(owner, bar, &ports);
        bytes = ports;
    }
    return mapping == 0 || length > bytes || offset > bytes - length ? 0
                                                                     : mapping + (uintptr_t)offset;
}

virtio_lock_state virtio_platform_lock(void)
{
    return interrupts_save();
}

void virtio_platform_unlock(virtio_lock_state state)
{
    interrupts_restore(state);
}

uint64_t virtio_platform_now(void)
{
    return time_now();
}

uint32_t virtio_platform_instructions(void)
{
    return arch_instructions();
}

void virtio_platform_pause(void)
{
    thread_sleep_until(time_after(PAUSE_NANOSECONDS));
}

void virtio_platform_log(const char *format, ...)
{
    va_list arguments;

    print("virtio: ");
    va_start(arguments, format);
    print_arguments(format, arguments);
    va_end(arguments);
    print("\n");
}
