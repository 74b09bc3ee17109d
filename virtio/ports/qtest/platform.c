/* SPDX-License-Identifier: BSD-2-Clause */
/* virtio/platform.h for a driver whose devices are in a QEMU (qtest.h). */
#include "qtest.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAGE_BYTES         ((size_t)4096)
#define SHARED_PAGES       ((size_t)8192) /* 32 MiB to give out */
#define PAUSE_MILLISECONDS 1

static void (*watcher)(const struct qtest_access *access);
static bool page_taken[SHARED_PAGES];
static bool locked;

void qtest_observe(void (*observer)(const struct qtest_access *access))
{
    watcher = observer;
}

void *virtio_platform_allocate(size_t bytes)
{
    return calloc(1, bytes);
}

void virtio_platform_free(void *memory, size_t bytes)
{
    memset(memory, 0xdd, bytes);
    free(memory);
}

/* The device is a thread of another process on processors like this one. */
void virtio_platform_barrier(enum virtio_barrier barrier)
{
    (void)barrier;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static uint64_t shared_address(void)
{
    return qtest_attached()->ram + qtest_attached()->shared_from;
}

/* The first page of `count` free ones in a row; SHARED_PAGES: there are none. */
static size_t find_pages(size_t count)
{
    size_t found = 0;

    for (size_t page = 0; page < SHARED_PAGES; page++) {
        found = page_taken[page] ? 0 : found + 1;
        if (found == count) {
            return page + 1 - count;
        }
    }
    return SHARED_PAGES;
}

/* Pages, and in the first as little alignment as was asked for, so that a need for more shows. */
void *virtio_platform_dma_allocate(size_t bytes, size_t alignment, virtio_address *address)
{
    size_t skew = alignment < PAGE_BYTES ? alignment : 0;
    size_t count = (bytes + skew + PAGE_BYTES - 1) / PAGE_BYTES;
    size_t page = find_pages(count);
    uint8_t *memory;

    if (page == SHARED_PAGES || alignment > PAGE_BYTES) {
        return NULL;
    }
    memset(&page_taken[page], 1, count);
    *address = shared_address() + page * PAGE_BYTES + skew;
    memory = qtest_memory(*address, bytes);
    memset(memory, 0, bytes);
    return memory;
}

void virtio_platform_dma_free(void *memory, size_t bytes)
{
    uint8_t *first = qtest_memory(shared_address(), SHARED_PAGES * PAGE_BYTES);
    size_t offset = (size_t)((uint8_t *)memory - first);
    size_t page = offset / PAGE_BYTES;
    size_t count = (offset % PAGE_BYTES + bytes + PAGE_BYTES - 1) / PAGE_BYTES;

    memset(memory, 0xdd, bytes);
    memset(&page_taken[page], 0, count);
}

virtio_address virtio_platform_dma_address(const void *memory)
{
    const uint8_t *first = qtest_memory(shared_address(), SHARED_PAGES * PAGE_BYTES);

    return shared_address() + (virtio_address)((const uint8_t *)memory - first);
}

static uint32_t read_register(virtio_register reg, unsigned bytes)
{
    struct qtest_access access = {.reg = reg, .bytes = bytes, .value = qtest_read(reg, bytes)};

    if (watcher != NULL) {
        watcher(&access);
    }
    return access.value;
}

static void write_register(virtio_register reg, unsigned bytes, uint32_t value)
{
    struct qtest_access access = {.reg = reg, .bytes = bytes, .is_write = true, .value = value};

    qtest_write(reg, bytes, value);
    if (watcher != NULL) {
        watcher(&access);
    }
}

uint8_t virtio_platform_read8(virtio_register reg)
{
    return (uint8_t)read_register(reg, 1);
}

uint16_t virtio_platform_read16(virtio_register reg)
{
    return (uint16_t)read_register(reg, 2);
}

uint32_t virtio_platform_read32(virtio_register reg)
{
    return read_register(reg, 4);
}

void virtio_platform_write8(virtio_register reg, uint8_t value)
{
    write_register(reg, 1, value);
}

void virtio_platform_write16(virtio_register reg, uint16_t value)
{
    write_register(reg, 2, value);
}

void virtio_platform_write32(virtio_register reg, uint32_t value)
{
    write_register(reg, 4, value);
}

/* Not nested (platform.h), and there is nobody to keep out: interrupts come when they are asked
 * for. */
virtio_lock_state virtio_platform_lock(void)
{
    if (locked) {
        abort();
    }
    locked = true;
    return 0;
}

void virtio_platform_unlock(virtio_lock_state state)
{
    (void)state;
    locked = false;
}

uint64_t virtio_platform_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint32_t virtio_platform_instructions(void)
{
    return 0;
}

void virtio_platform_pause(void)
{
    qtest_wait(PAUSE_MILLISECONDS);
}

void virtio_platform_log(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)fputs("virtio: ", stderr);
    (void)vfprintf(stderr, format, arguments);
    (void)fputc('\n', stderr);
    va_end(arguments);
}
