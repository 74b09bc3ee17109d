/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory this process shares with its back-end: one file in memory, mapped once, from which
 * virtio_platform_dma_allocate() takes. Buffers handed to a driver must come from there too. Which
 * pieces are taken is written down outside of it, where the back-end can't reach; and its size is
 * sealed, because a back-end that cut it short would make our accesses fail.
 *
 * One for the process, and one thread at a time.
 */
#ifndef VHOST_USER_MEMORY_H
#define VHOST_USER_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the memory is in this process. The device's addresses are the same. */
struct vhost_user_region {
    void *base; /* NULL: there is none */
    size_t bytes;
    int descriptor;
    bool huge; /* in huge pages */
};

/* Makes it, `bytes` rounded up to whole pages: huge ones if `huge` and the system has enough of
 * them left, else ordinary ones. False: *reason says why not. */
bool vhost_user_memory_open(size_t bytes, bool huge, const char **reason);
/* Nobody uses it any more. */
void vhost_user_memory_close(void);
const struct vhost_user_region *vhost_user_memory(void);
/* Bytes that nobody has taken. */
size_t vhost_user_memory_free_bytes(void);

#endif
