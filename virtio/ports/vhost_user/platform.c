/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * virtio/platform.h in a Linux process, except for the shared memory (memory.c) and for time
 * (clock.c). A vhost-user device has no registers and no PCI function, so those functions are
 * missing: a program that uses the MMIO or the PCI transport does not link.
 */
#include "virtio/platform.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define LINE_BYTES 256

/* Threads run the interrupt handlers here. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *virtio_platform_allocate(size_t bytes)
{
    return calloc(1, bytes);
}

void virtio_platform_free(void *memory, size_t bytes)
{
    (void)bytes;
    free(memory);
}

/* The device is a thread of another process on processors like this one. */
void virtio_platform_barrier(enum virtio_barrier barrier)
{
    (void)barrier;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

virtio_lock_state virtio_platform_lock(void)
{
    pthread_mutex_lock(&lock);
    return 0;
}

void virtio_platform_unlock(virtio_lock_state state)
{
    (void)state;
    pthread_mutex_unlock(&lock);
}

uint32_t virtio_platform_instructions(void)
{
    return 0;
}

void virtio_platform_log(const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;

    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it was, one line up */
    (void)vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    (void)fprintf(stderr, "%s\n", line);
}
