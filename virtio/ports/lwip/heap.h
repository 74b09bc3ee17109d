/* SPDX-License-Identifier: BSD-2-Clause */
/* lwIP's heap: a limited part of the system's memory (network_system.h), and blocks of its own for
 * packets without data. */
#ifndef NET_HEAP_H
#define NET_HEAP_H

#include <stddef.h>
#include <stdint.h>

/* Before lwIP starts. */
void network_heap_init(void);

/* As malloc(), calloc() and free(), for lwIP (lwipopts.h). Thread context. */
void *network_heap_allocate(size_t bytes);
void *network_heap_allocate_cleared(size_t count, size_t bytes);
void network_heap_free(void *memory);

struct network_heap_statistics {
    uint32_t packets; /* blocks for packets to transmit whose data lie elsewhere */
    uint32_t packets_free;
    size_t limit_bytes; /* of the rest: packets with data, pages of the HTTP server */
    size_t used_bytes;
    size_t peak_bytes;
    uint64_t failures; /* refused: at the limit, or out of memory */
};

/* Any context. */
void network_heap_statistics(struct network_heap_statistics *statistics);

#endif
