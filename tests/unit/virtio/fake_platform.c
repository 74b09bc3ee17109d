/* SPDX-License-Identifier: BSD-2-Clause */
/* The test's implementation of virtio/platform.h. */
#define _POSIX_C_SOURCE 200809L /* posix_memalign() */

#include "fake.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct fake_device *fake;
unsigned fake_lock_depth;
unsigned fake_allocations;
unsigned fake_allocations_left = UINT_MAX;
uint64_t fake_clock;
uint32_t fake_instructions;
uint32_t fake_instructions_step;
unsigned fake_log_lines;
void (*fake_on_unlock)(void);
unsigned fake_barriers[3];

static void *allocate(size_t bytes, size_t alignment)
{
    void *memory = NULL;

    assert_true(bytes > 0);
    if (fake_allocations_left == 0) {
        return NULL;
    }
    if (fake_allocations_left != UINT_MAX) {
        fake_allocations_left--;
    }
    assert_int_equal(posix_memalign(&memory, alignment, bytes), 0);
    memset(memory, 0, bytes);
    fake_allocations++;
    return memory;
}

void *virtio_platform_allocate(size_t bytes)
{
    return allocate(bytes, 16);
}

void virtio_platform_free(void *memory, size_t bytes)
{
    assert_non_null(memory);
    memset(memory, 0xdd, bytes);
    free(memory);
    fake_allocations--;
}

void *virtio_platform_dma_allocate(size_t bytes, size_t alignment, virtio_address *address)
{
    void *memory = allocate(bytes, alignment);

    *address = (uint64_t)(uintptr_t)memory + FAKE_DMA_OFFSET;
    return memory;
}

void virtio_platform_dma_free(void *memory, size_t bytes)
{
    virtio_platform_free(memory, bytes);
}

virtio_address virtio_platform_dma_address(const void *memory)
{
    return (uint64_t)(uintptr_t)memory + FAKE_DMA_OFFSET;
}

uint32_t virtio_platform_pci_read(struct virtio_pci_function *function, uint16_t offset,
                                  unsigned bytes)
{
    assert_ptr_equal(function, fake);
    assert_true(offset % bytes == 0 && offset + bytes <= FAKE_CONFIG_BYTES);
    return pci_model_read(&fake->pci, offset, bytes);
}

void virtio_platform_pci_write(struct virtio_pci_function *function, uint16_t offset,
                               unsigned bytes, uint32_t value)
{
    assert_ptr_equal(function, fake);
    assert_int_equal(offset, 4); /* the command register is all the driver has to write */
    assert_int_equal(bytes, 2);
    pci_model_write(&fake->pci, offset, bytes, value);
}

virtio_register virtio_platform_pci_map(struct virtio_pci_function *function, unsigned bar,
                                        uint64_t offset, uint64_t length)
{
    uint64_t mask = bar < 6 ? pci_model_bar_mask(&fake->pci, bar) : 0;
    uint64_t bytes = mask & -mask;

    assert_ptr_equal(function, fake);
    assert_true(bar < 6);
    fake->map_calls++;
    if (offset > bytes || length > bytes - offset) {
        return 0;
    }
    return FAKE_PCI_BASE + (virtio_register)bar * FAKE_BAR_BYTES + (virtio_register)offset;
}

/* One thread: the program's order is all there is. Counted, so that a test can see its use. */
void virtio_platform_barrier(enum virtio_barrier barrier)
{
    fake_barriers[barrier]++;
}

virtio_lock_state virtio_platform_lock(void)
{
    assert_int_equal(fake_lock_depth, 0); /* not nested */
    fake_lock_depth++;
    return 0x10c4;
}

void virtio_platform_unlock(virtio_lock_state state)
{
    assert_int_equal(state, 0x10c4);
    assert_int_equal(fake_lock_depth, 1);
    fake_lock_depth--;
    if (fake_on_unlock != NULL) {
        fake_on_unlock();
    }
}

uint64_t virtio_platform_now(void)
{
    return fake_clock;
}

uint32_t virtio_platform_instructions(void)
{
    fake_instructions += fake_instructions_step;
    return fake_instructions;
}

void virtio_platform_pause(void)
{
    assert_int_equal(fake_lock_depth, 0); /* thread context */
    fake_clock += 1000000;
}

void virtio_platform_log(const char *format, ...)
{
    assert_non_null(format);
    fake_log_lines++;
}
