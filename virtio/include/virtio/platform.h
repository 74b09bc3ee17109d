/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the virtio library asks of its environment. A port (virtio/ports/) implements these; exactly
 * one is linked. The library keeps no other dependency: no OS header, no C library but <string.h>'s
 * memcpy, memset and memcmp.
 */
#ifndef VIRTIO_PLATFORM_H
#define VIRTIO_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An address as the device sees it (VIRTIO 1.3, 2.6: "physical address"; with
 * VIRTIO_F_ACCESS_PLATFORM what the platform's IOMMU translates). */
typedef uint64_t virtio_address;

/*
 * Private memory, never seen by a device: cleared, aligned for any type. NULL when exhausted.
 * Thread context.
 */
void *virtio_platform_allocate(size_t bytes);
void virtio_platform_free(void *memory, size_t bytes);

/*
 * Memory shared with the device: cleared, contiguous for the device, coherent, aligned to
 * `alignment` (a power of two). NULL when exhausted. Thread context.
 */
void *virtio_platform_dma_allocate(size_t bytes, size_t alignment, virtio_address *address);
void virtio_platform_dma_free(void *memory, size_t bytes);

/* The device's address of memory that the platform agreed to share (any buffer handed to the
 * driver). Contiguous for the device over the buffer's whole length. Any context. */
virtio_address virtio_platform_dma_address(const void *memory);

/*
 * Order between accesses to shared memory as a device sees them that is not one of the processors
 * (VIRTIO_F_ORDER_PLATFORM; VIRTIO 1.3, 6). PUBLISH: earlier accesses before later stores. OBSERVE:
 * earlier loads before later accesses. FULL: all earlier before all later ones. Any context.
 */
enum virtio_barrier { VIRTIO_BARRIER_PUBLISH, VIRTIO_BARRIER_OBSERVE, VIRTIO_BARRIER_FULL };
void virtio_platform_barrier(enum virtio_barrier barrier);

/*
 * A device register: an address of the platform's own kind (a mapped pointer as an integer in a
 * kernel, a guest physical address when a remote device is driven). Each call is one naturally
 * aligned access of 1, 2 or 4 bytes (VIRTIO 1.3, 4.1.3.1, 4.2.2.2). Registers are little-endian;
 * the values here are the processor's own numbers. Any context.
 *
 * Order, which every port provides:
 *   - accesses to the registers of one device reach it in program order;
 *   - a write reaches it after every earlier write to shared memory is visible to it (2.7.13: the
 *     ring before its notification);
 *   - a read is complete before any later access to shared memory: the driver reads the interrupt's
 *     cause, and then the rings. A later access made early could miss a buffer that the device used
 *     before its interrupt was acknowledged, for which it does not interrupt again.
 */
typedef uintptr_t virtio_register;

uint32_t virtio_platform_read(virtio_register reg, unsigned bytes);
void virtio_platform_write(virtio_register reg, unsigned bytes, uint32_t value);

/* A PCI function of the platform's, for the PCI transport. Opaque to the library. */
struct virtio_pci_function;

/* Configuration space: naturally aligned access of 1, 2 or 4 bytes, offset < 256. Thread context.
 */
uint32_t virtio_platform_pci_read(struct virtio_pci_function *function, uint16_t offset,
                                  unsigned bytes);
void virtio_platform_pci_write(struct virtio_pci_function *function, uint16_t offset,
                               unsigned bytes, uint32_t value);
/* The register at `offset` of BAR `bar`, if [offset, offset + length) lies inside it, else 0. Maps
 * the BAR on first use. A platform without I/O space answers 0 for a BAR there. */
virtio_register virtio_platform_pci_map(struct virtio_pci_function *function, unsigned bar,
                                        uint64_t offset, uint64_t length);

/*
 * Keeps the driver's interrupt handler and every other thread of the driver out of a short critical
 * section (in a single-core kernel: interrupts masked). Not nested. Any context. Queue pairs on
 * several cores need no common lock, unless they share an interrupt (see virtio/net.h).
 */
typedef uint64_t virtio_lock_state;
virtio_lock_state virtio_platform_lock(void);
void virtio_platform_unlock(virtio_lock_state state);

/* Nanoseconds of a monotonic clock. Any context. */
uint64_t virtio_platform_now(void);

/* Instructions that this processor has retired in kernel mode, in 32 bits that wrap; always 0 where
 * they can't be counted. Any context. */
uint32_t virtio_platform_instructions(void);

/* Lets a little time pass (microseconds, no more than a few milliseconds) while a device works on a
 * reset. Thread context. */
void virtio_platform_pause(void);

/* One line of text for whoever runs the system, printf's integer and string conversions. Any
 * context. */
void virtio_platform_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
