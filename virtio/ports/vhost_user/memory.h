/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory that this process shares with its back-end: one memory file, mapped once, from which
 * virtio_platform_dma_allocate() allocates. Buffers given to a driver must come from it too. The
 * list of allocations is private memory, which the back-end cannot access. The size of the file is
 * sealed, because a back-end that truncated it would make our accesses fail.
 *
 * One for each process; one thread at a time.
 */
#ifndef VHOST_USER_MEMORY_H
#define VHOST_USER_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The mapping in this process. The device uses the same addresses. */
struct vhost_user_region {
    void *base; /* NULL: not open */
    size_t bytes;
    int descriptor;
    bool huge; /* consists of huge pages */
};

/* Creates and maps the memory, `bytes` rounded up to whole pages: huge pages if `huge` and the
 * system has enough of them, otherwise ordinary pages. Returns false and sets *reason on failure.
 */
bool vhost_user_memory_open(size_t bytes, bool huge, const char **reason);
/* Unmaps the memory, which must not be in use any more. */
void vhost_user_memory_close(void);
const struct vhost_user_region *vhost_user_memory(void);
/* Returns the number of bytes that are not allocated. */
size_t vhost_user_memory_free_bytes(void);

#endif
