/* SPDX-License-Identifier: BSD-2-Clause */
/* lwIP's heap: a limited part of the system's memory (network_system.h), and a list of blocks for
 * the headers of packets whose data lie elsewhere. */
#ifndef NET_HEAP_H
#define NET_HEAP_H

#include <stddef.h>
#include <stdint.h>

/* Call it before lwIP starts. */
void network_heap_init(void);

/* As malloc(), calloc() and free(), for lwIP (lwipopts.h). Thread context. */
void *network_heap_allocate(size_t bytes);
void *network_heap_allocate_cleared(size_t count, size_t bytes);
void network_heap_free(void *memory);

struct network_heap_statistics {
    uint32_t packets; /* blocks for headers of packets to transmit */
    uint32_t packets_free;
    size_t limit_bytes; /* of all other allocations: packets with data, pages of the HTTP server */
    size_t used_bytes;
    size_t peak_bytes;
    uint64_t failures; /* allocations that failed because of the limit, or for lack of memory */
};

/* Any context. */
void network_heap_statistics(struct network_heap_statistics *statistics);

#endif
