/* SPDX-License-Identifier: BSD-2-Clause */
/* The hostile tests' implementation of virtio/platform.h. */
#define _POSIX_C_SOURCE 200809L /* posix_memalign() */

#include "hostile.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define ALLOCATIONS_MAX 64u
#define LOCK_STATE      UINT64_C(0x10c4)

struct allocation {
    void *memory;
    size_t bytes;
    bool shared;
};

static struct allocation allocations[ALLOCATIONS_MAX];
static unsigned allocations_left = UINT_MAX;
static uint64_t nanoseconds;
unsigned platform_locked;

void platform_clear(void)
{
    allocations_left = UINT_MAX;
    platform_locked = 0;
}

void platform_fail_allocations(unsigned after)
{
    allocations_left = after;
}

unsigned platform_allocations(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < ALLOCATIONS_MAX; i++) {
        count += allocations[i].memory != NULL;
    }
    return count;
}

/* Does nothing, because the device runs in this thread. */
void virtio_platform_barrier(enum virtio_barrier barrier)
{
    (void)barrier;
}

static void *allocate(size_t bytes, size_t alignment, bool shared)
{
    void *memory = NULL;
    unsigned place = 0;

    HOSTILE_CHECK(bytes != 0 && bytes < 1u << 24, "%zu bytes allocated", bytes);
    HOSTILE_CHECK(platform_locked == 0, "allocation with the lock held");
    if (allocations_left == 0) {
        return NULL;
    }
    if (allocations_left != UINT_MAX) {
        allocations_left--;
    }
    while (place < ALLOCATIONS_MAX && allocations[place].memory != NULL) {
        place++;
    }
    HOSTILE_CHECK(place < ALLOCATIONS_MAX, "too many allocations");
    HOSTILE_CHECK(posix_memalign(&memory, alignment, bytes) == 0, "out of memory");
    memset(memory, 0, bytes);
    allocations[place] = (struct allocation){memory, bytes, shared};
    return memory;
}

static void release(void *memory, size_t bytes, bool shared)
{
    for (unsigned i = 0; i < ALLOCATIONS_MAX; i++) {
        if (memory != NULL && allocations[i].memory == memory) {
            HOSTILE_CHECK(allocations[i].bytes == bytes && allocations[i].shared == shared,
                          "freed with another size or kind");
            allocations[i].memory = NULL;
            free(memory);
            return;
        }
    }
    HOSTILE_CHECK(false, "freed twice or never allocated");
}

void platform_free_lost(void)
{
    for (unsigned i = 0; i < ALLOCATIONS_MAX; i++) {
        if (allocations[i].memory != NULL) {
            if (allocations[i].shared) {
                memory_remove_ring(allocations[i].memory);
            }
            release(allocations[i].memory, allocations[i].bytes, allocations[i].shared);
        }
    }
    memory_renew_pool();
}

void *virtio_platform_allocate(size_t bytes)
{
    return allocate(bytes, 16, false);
}

void virtio_platform_free(void *memory, size_t bytes)
{
    release(memory, bytes, false);
}

void *virtio_platform_dma_allocate(size_t bytes, size_t alignment, virtio_address *address)
{
    void *memory = allocate(bytes, alignment, true);

    HOSTILE_CHECK(!memory_has_pool, "the device can't access memory outside of its pool");

    *address = memory != NULL ? memory_add_ring(memory, bytes) : 0;
    return memory;
}

void virtio_platform_dma_free(void *memory, size_t bytes)
{
    HOSTILE_CHECK(device_let_go(), "memory freed that the device may still use (2.4.1)");
    memory_remove_ring(memory);
    release(memory, bytes, true);
}

virtio_address virtio_platform_dma_address(const void *memory)
{
    return memory_has_pool ? memory_pool_address(memory) : (uint64_t)(uintptr_t)memory + DMA_OFFSET;
}

uint32_t virtio_platform_pci_read(struct virtio_pci_function *function, uint16_t offset,
                                  unsigned bytes)
{
    (void)function;
    return device_pci_read(offset, bytes);
}

void virtio_platform_pci_write(struct virtio_pci_function *function, uint16_t offset,
                               unsigned bytes, uint32_t value)
{
    (void)function;
    device_pci_write(offset, bytes, value);
}

virtio_register virtio_platform_pci_map(struct virtio_pci_function *function, unsigned bar,
                                        uint64_t offset, uint64_t length)
{
    (void)function;
    return device_pci_map(bar, offset, length);
}

virtio_lock_state virtio_platform_lock(void)
{
    HOSTILE_CHECK(platform_locked == 0, "the lock is taken twice");
    platform_locked++;
    return LOCK_STATE;
}

void virtio_platform_unlock(virtio_lock_state state)
{
    HOSTILE_CHECK(state == LOCK_STATE && platform_locked == 1, "unlocked without a lock");
    platform_locked--;
    snare_unlock();
}

uint64_t virtio_platform_now(void)
{
    nanoseconds += 1000;
    return nanoseconds;
}

uint32_t virtio_platform_instructions(void)
{
    return 0;
}

static void work_meanwhile(void)
{
    control_run();
    owner_interrupts();
}

void virtio_platform_pause(void)
{
    HOSTILE_CHECK(platform_locked == 0, "waiting with the lock held");
    nanoseconds += 1000000;
    snare_pause(work_meanwhile);
}

void virtio_platform_log(const char *format, ...)
{
    HOSTILE_CHECK(format != NULL, "no text");
}
