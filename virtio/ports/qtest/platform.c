/* SPDX-License-Identifier: BSD-2-Clause */
/* virtio/platform.h for a driver of QEMU's devices (qtest.h). */
#include "qtest.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAGE_BYTES         ((size_t)4096)
#define SHARED_PAGES       ((size_t)8192) /* 32 MiB for allocations */
#define PAUSE_MILLISECONDS 1

static void (*watcher)(const struct qtest_access *access);
static bool page_taken[SHARED_PAGES];
static size_t allocated;
static bool locked;

void qtest_observe(void (*observer)(const struct qtest_access *access))
{
    watcher = observer;
}

void *virtio_platform_allocate(size_t bytes)
{
    void *memory = calloc(1, bytes);

    allocated += memory != NULL ? bytes : 0;
    return memory;
}

void virtio_platform_free(void *memory, size_t bytes)
{
    memset(memory, 0xdd, bytes);
    free(memory);
    allocated -= bytes;
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

/* Returns the first of `count` consecutive free pages, SHARED_PAGES if there are none. */
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

/* Allocates pages, with no more alignment than requested, so that missing alignment is detected. */
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
    allocated += bytes;
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
    allocated -= bytes;
}

size_t qtest_allocated(void)
{
    return allocated;
}

virtio_address virtio_platform_dma_address(const void *memory)
{
    const uint8_t *first = qtest_memory(shared_address(), SHARED_PAGES * PAGE_BYTES);

    return shared_address() + (virtio_address)((const uint8_t *)memory - first);
}

static uint32_t access_register(struct qtest_access access)
{
    if (access.is_write) {
        qtest_write(access.reg, access.bytes, access.value);
    } else {
        access.value = qtest_read(access.reg, access.bytes);
        /* QEMU's answer arrives over a socket, the rings are in memory. */
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    }
    if (watcher != NULL) {
        watcher(&access);
    }
    return access.value;
}

uint32_t virtio_platform_read(virtio_register reg, unsigned bytes)
{
    return access_register((struct qtest_access){reg, bytes, false, 0});
}

void virtio_platform_write(virtio_register reg, unsigned bytes, uint32_t value)
{
    (void)access_register((struct qtest_access){reg, bytes, true, value});
}

/* Not nested (platform.h). There is nothing to exclude, because interrupts are handled only on
 * request. */
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
