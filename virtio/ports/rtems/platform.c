/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * virtio/platform.h on RTEMS. Devices must access memory coherently with the processors' caches.
 * All devices of virtual machine monitors do, and so does hardware whose devicetree node is
 * dma-coherent. Devices and programs must use the same addresses.
 */
#include "virtio/platform.h"
#include "ecam.h"
#include "machine.h"
#include "virtio/endian.h"
#include <rtems.h>
#include <rtems/bspIo.h>
#include <rtems/malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

void *virtio_platform_allocate(size_t bytes)
{
    return calloc(1, bytes);
}

void virtio_platform_free(void *memory, size_t bytes)
{
    (void)bytes;
    free(memory);
}

void *virtio_platform_dma_allocate(size_t bytes, size_t alignment, virtio_address *address)
{
    void *memory = rtems_heap_allocate_aligned_with_boundary(bytes, alignment, 0);

    if (memory != NULL) {
        memset(memory, 0, bytes);
        *address = virtio_platform_dma_address(memory);
    }
    return memory;
}

void virtio_platform_dma_free(void *memory, size_t bytes)
{
    (void)bytes;
    free(memory);
}

virtio_address virtio_platform_dma_address(const void *memory)
{
    return (virtio_address)(uintptr_t)memory;
}

void virtio_platform_barrier(enum virtio_barrier barrier)
{
    (void)barrier;
    machine_order();
}

uint32_t virtio_platform_read(virtio_register reg, unsigned bytes)
{
    uint32_t value = bytes == 1   ? *(volatile uint8_t *)reg
                     : bytes == 2 ? virtio_le16(*(volatile uint16_t *)reg)
                                  : virtio_le32(*(volatile uint32_t *)reg);

    machine_order(); /* platform.h: later accesses to shared memory come after the read */
    return value;
}

void virtio_platform_write(virtio_register reg, unsigned bytes, uint32_t value)
{
    machine_order(); /* VIRTIO 1.3, 2.7.13: the ring is visible before its notification */
    if (bytes == 1) {
        *(volatile uint8_t *)reg = (uint8_t)value;
    } else if (bytes == 2) {
        *(volatile uint16_t *)reg = virtio_le16((uint16_t)value);
    } else {
        *(volatile uint32_t *)reg = virtio_le32(value);
    }
}

uint32_t virtio_platform_pci_read(struct virtio_pci_function *function, uint16_t offset,
                                  unsigned bytes)
{
    return virtio_platform_read(function->configuration + offset, bytes);
}

void virtio_platform_pci_write(struct virtio_pci_function *function, uint16_t offset,
                               unsigned bytes, uint32_t value)
{
    virtio_platform_write(function->configuration + offset, bytes, value);
}

/*
 * The lock of all short critical sections of driver and ports. It masks interrupts on this
 * processor and, if RTEMS runs on several processors, excludes the others. Unlike RTEMS's interrupt
 * locks it may be nested, so it has a depth and an owner.
 */
#define NOBODY UINT32_MAX

static struct {
    atomic_uint owner; /* index of the processor that holds the lock, or NOBODY */
    unsigned depth;    /* number of nested acquisitions by the owner */
} lock = {.owner = NOBODY};

virtio_lock_state virtio_platform_lock(void)
{
    rtems_interrupt_level level;
    unsigned self;
    unsigned owner = NOBODY;

    rtems_interrupt_local_disable(level);
    self = rtems_scheduler_get_processor();
    while (!atomic_compare_exchange_weak_explicit(&lock.owner, &owner, self, memory_order_acquire,
                                                  memory_order_relaxed) &&
           owner != self) {
        owner = NOBODY;
    }
    lock.depth++;
    return level;
}

void virtio_platform_unlock(virtio_lock_state state)
{
    rtems_interrupt_level level = (rtems_interrupt_level)state;

    if (--lock.depth == 0) {
        atomic_store_explicit(&lock.owner, NOBODY, memory_order_release);
    }
    rtems_interrupt_local_enable(level);
}

uint64_t virtio_platform_now(void)
{
    return rtems_clock_get_uptime_nanoseconds();
}

uint32_t virtio_platform_instructions(void)
{
    return 0; /* RTEMS counts time, not instructions */
}

void virtio_platform_pause(void)
{
    (void)rtems_task_wake_after(1);
}

void virtio_platform_log(const char *format, ...)
{
    va_list arguments;

    printk("virtio: ");
    va_start(arguments, format);
    vprintk(format, arguments);
    va_end(arguments);
    printk("\n");
}
