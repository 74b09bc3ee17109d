/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwIP's heap: memory of the system up to a limit, so that peers cannot exhaust the memory of the
 * whole system. Allocations beyond the limit fail; lwIP then drops the packet or
 * sends it later.
 */
#include "heap.h"
#include "lwip/sys.h"
#include "network_system.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Room for two connections that send at full speed, all bytes in segments with headers, for the
 * copies of the status page, and for the copies of received frames while few blocks are free. */
#define HEAP_LIMIT_BYTES (4u * TCP_SND_BUF + TCP_WND + 96u * 1024u)

/* The header of each block; keeps the block aligned to 16. */
struct block_header {
    size_t bytes; /* including this header; 0: a packet block */
    uint64_t reserved;
};

/* Size of the pbuf for the headers of a segment. A list of blocks for these pbufs needs a tenth of
 * the heap's instructions. It has a block for each segment that can be in flight. */
#define PACKET_BYTES  176u
#define PACKET_BLOCKS (TCP_SND_BUF / TCP_MSS + 32u)

union packet_block {
    struct block_header header; /* while it is allocated */
    union packet_block *next;   /* while it is free */
    _Alignas(16) uint8_t bytes[PACKET_BYTES];
};

/* Accessed in critical sections (SYS_ARCH_PROTECT). */
static union packet_block packet_blocks[PACKET_BLOCKS];
static union packet_block *free_packets;
static struct network_heap_statistics usage = {.limit_bytes = HEAP_LIMIT_BYTES,
                                               .packets = PACKET_BLOCKS};

static void free_packet(union packet_block *packet)
{
    SYS_ARCH_DECL_PROTECT(level);

    LWIP_ASSERT("packet block freed twice", packet != free_packets);
    SYS_ARCH_PROTECT(level);
    packet->next = free_packets;
    free_packets = packet;
    usage.packets_free++;
    SYS_ARCH_UNPROTECT(level);
}

void network_heap_init(void)
{
    for (unsigned i = PACKET_BLOCKS; i > 0; i--) {
        free_packet(&packet_blocks[i - 1]);
    }
}

/* Takes a packet block. Returns NULL if none is free; the caller then uses the heap. */
static void *allocate_packet(void)
{
    union packet_block *packet;
    SYS_ARCH_DECL_PROTECT(level);

    SYS_ARCH_PROTECT(level);
    packet = free_packets;
    if (packet != NULL) {
        free_packets = packet->next;
        usage.packets_free--;
    }
    SYS_ARCH_UNPROTECT(level);
    if (packet == NULL) {
        return NULL;
    }
    packet->header.bytes = 0;
    return &packet->header + 1;
}

/* Adds `bytes` to the used memory. Returns false if that would exceed the limit. */
static bool reserve(size_t bytes)
{
    bool fits;
    SYS_ARCH_DECL_PROTECT(level);

    SYS_ARCH_PROTECT(level);
    fits = bytes <= usage.limit_bytes && usage.used_bytes <= usage.limit_bytes - bytes;
    if (fits) {
        usage.used_bytes += bytes;
        if (usage.used_bytes > usage.peak_bytes) {
            usage.peak_bytes = usage.used_bytes;
        }
    } else {
        usage.failures++;
    }
    SYS_ARCH_UNPROTECT(level);
    return fits;
}

static void release(size_t bytes, bool failed)
{
    SYS_ARCH_DECL_PROTECT(level);

    SYS_ARCH_PROTECT(level);
    usage.used_bytes -= bytes;
    if (failed) {
        usage.failures++;
    }
    SYS_ARCH_UNPROTECT(level);
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
    header = network_memory_allocate(bytes + sizeof(*header));
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
        free_packet((union packet_block *)header);
        return;
    }
    release(header->bytes, false);
    network_memory_free(header);
}

void network_heap_statistics(struct network_heap_statistics *statistics)
{
    SYS_ARCH_DECL_PROTECT(level);

    SYS_ARCH_PROTECT(level);
    *statistics = usage;
    SYS_ARCH_UNPROTECT(level);
}
