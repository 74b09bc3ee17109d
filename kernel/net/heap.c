/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwIP's heap: the kernel's, with a limit of its own, so that peers cannot make the network eat the
 * memory of everything else. What exceeds the limit is refused, and lwIP copes: it drops, or sends
 * later.
 */
#include "net/heap.h"
#include "kernel/interrupt.h"
#include "kernel/memory.h"
#include "kernel/network.h"
#include "lwip/opt.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Two connections that send as fast as they can, each byte in segments with their headers, the
 * status page's copies, and what is received while the receive pool is low. */
#define HEAP_LIMIT_BYTES (4u * TCP_SND_BUF + 128u * 1024u)

/* In front of each block; keeps the kernel heap's alignment of 16. */
struct block_header {
    size_t bytes; /* header included; 0: a packet block */
    uint64_t reserved;
};

/* The pbuf with the headers of each segment is allocated and freed with it: blocks of its size are
 * kept apart, which costs a tenth of what the heap does. As many as segments may be under way. */
#define PACKET_BYTES  176u
#define PACKET_BLOCKS (TCP_SND_BUF / TCP_MSS + 32u)

static _Alignas(16) uint8_t packet_storage[PACKET_BLOCKS * PACKET_BYTES];
static struct pool packets;
static struct network_heap_statistics usage = {.limit_bytes = HEAP_LIMIT_BYTES};

void network_heap_init(void)
{
    (void)pool_init(&packets, packet_storage, PACKET_BYTES, PACKET_BLOCKS);
}

static void *allocate_packet(void)
{
    /* Asked first, because an empty pool is nothing to count as a failure: the heap takes over. */
    struct block_header *header = packets.free_count == 0 ? NULL : pool_allocate(&packets);

    if (header == NULL) {
        return NULL;
    }
    header->bytes = 0;
    return header + 1;
}

/* Books `bytes` more; false if that passes the limit. */
static bool reserve(size_t bytes)
{
    interrupt_state state = interrupts_save();
    bool fits = bytes <= usage.limit_bytes && usage.used_bytes <= usage.limit_bytes - bytes;

    if (fits) {
        usage.used_bytes += bytes;
        if (usage.used_bytes > usage.peak_bytes) {
            usage.peak_bytes = usage.used_bytes;
        }
    } else {
        usage.failures++;
    }
    interrupts_restore(state);
    return fits;
}

static void release(size_t bytes, bool failed)
{
    interrupt_state state = interrupts_save();

    usage.used_bytes -= bytes;
    if (failed) {
        usage.failures++;
    }
    interrupts_restore(state);
}

void *network_heap_allocate(size_t bytes)
{
    struct block_header *header;
    void *packet;

    if (bytes <= PACKET_BYTES - sizeof(*header)) {
        packet = allocate_packet();
        if (packet != NULL) {
            return packet;
        }
    }
    if (bytes > SIZE_MAX - sizeof(*header) || !reserve(bytes + sizeof(*header))) {
        return NULL;
    }
    header = heap_allocate(bytes + sizeof(*header));
    if (header == NULL) {
        release(bytes + sizeof(*header), true);
        return NULL;
    }
    header->bytes = bytes + sizeof(*header);
    return header + 1;
}

void *network_heap_allocate_cleared(size_t count, size_t bytes)
{
    void *memory;

    if (bytes != 0 && count > SIZE_MAX / bytes) {
        return NULL;
    }
    memory = network_heap_allocate(count * bytes);
    if (memory != NULL) {
        memset(memory, 0, count * bytes);
    }
    return memory;
}

void network_heap_free(void *memory)
{
    struct block_header *header = memory;

    if (header == NULL) {
        return;
    }
    header--;
    if (header->bytes == 0) {
        pool_free(&packets, header);
        return;
    }
    release(header->bytes, false);
    heap_free(header);
}

void network_heap_statistics(struct network_heap_statistics *statistics)
{
    interrupt_state state = interrupts_save();

    *statistics = usage;
    statistics->packets = packets.capacity;
    statistics->packets_free = packets.free_count;
    interrupts_restore(state);
}
