/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions that the virtio library needs from its environment. A port (virtio/ports/)
 * implements them, and exactly one port is linked. The library depends on nothing else: on no
 * header of an OS, and on no C library function but memcpy, memset and memcmp.
 */
#ifndef VIRTIO_PLATFORM_H
#define VIRTIO_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An address as the device sees it (VIRTIO 1.3, 2.6: "physical address"). With
 * VIRTIO_F_ACCESS_PLATFORM the platform's IOMMU translates it. */
typedef uint64_t virtio_address;

/* Allocates private memory, which no device accesses: cleared, aligned for any type. Returns NULL
 * when memory is exhausted. `bytes` is the same for both functions. Thread context. */
void *virtio_platform_allocate(size_t bytes);
void virtio_platform_free(void *memory, size_t bytes);

/* Allocates memory shared with the device: cleared, contiguous for the device, coherent, aligned to
 * `alignment` (a power of two). *address is the device's address of it. Returns NULL when memory is
 * exhausted. `bytes` is the same for both functions. Thread context. */
void *virtio_platform_dma_allocate(size_t bytes, size_t alignment, virtio_address *address);
void virtio_platform_dma_free(void *memory, size_t bytes);

/* Returns the device's address of memory that the platform shares with it: any buffer given to the
 * driver. The buffer is contiguous for the device over its whole length. Any context. */
virtio_address virtio_platform_dma_address(const void *memory);

/*
 * Orders accesses to shared memory for a hardware device (VIRTIO_F_ORDER_PLATFORM; VIRTIO 1.3, 6).
 * PUBLISH: earlier accesses before later stores. OBSERVE: earlier loads before later accesses.
 * FULL: all earlier accesses before all later ones. Any context.
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

/* A PCI function, for the PCI transport. The port defines it. */
struct virtio_pci_function;

/* Access a function's configuration space: 1, 2 or 4 bytes, naturally aligned, offset < 256. Thread
 * context. */
uint32_t virtio_platform_pci_read(struct virtio_pci_function *function, uint16_t offset,
                                  unsigned bytes);
void virtio_platform_pci_write(struct virtio_pci_function *function, uint16_t offset,
                               unsigned bytes, uint32_t value);
/* Returns the register at `offset` of BAR `bar`, or 0 if [offset, offset + length) does not lie
 * inside the BAR, or if the BAR is in I/O space and the platform has none. Maps the BAR on first
 * use. Thread context. */
virtio_register virtio_platform_pci_map(struct virtio_pci_function *function, unsigned bar,
                                        uint64_t offset, uint64_t length);

/*
 * Begin and end a short critical section, which excludes the driver's interrupt handler and all
 * other threads of the driver (in a single-core kernel: interrupts are masked). The driver does not
 * nest them. Any context. Queue pairs on several cores need no common lock, unless they share an
 * interrupt (see virtio/net.h).
 */
typedef uint64_t virtio_lock_state;
virtio_lock_state virtio_platform_lock(void);
void virtio_platform_unlock(virtio_lock_state state);

/* Returns the nanoseconds of a monotonic clock. Any context. */
uint64_t virtio_platform_now(void);

/* Returns the number of instructions that this processor has retired in kernel mode, modulo 2^32;
 * always 0 if the platform can't count them. Any context. */
uint32_t virtio_platform_instructions(void);

/* Waits for some microseconds, at most a few milliseconds, while a device works on a reset or a
 * command. Thread context. */
void virtio_platform_pause(void);

/* Logs one line of text for the system's operator. printf's integer and string conversions. Any
 * context. */
void virtio_platform_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
