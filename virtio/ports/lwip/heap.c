/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwIP's heap: the system's memory, with a limit of its own, so that peers cannot make the network
 * eat the memory of everything else. What exceeds the limit is refused, and lwIP copes: it drops,
 * or sends later.
 */
#include "heap.h"
#include "lwip/sys.h"
#include "network_system.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Two connections that send as fast as they can, each byte in segments with their headers, the
 * status page's copies, and what is received while the receive pool is low. */
#define HEAP_LIMIT_BYTES (4u * TCP_SND_BUF + TCP_WND + 96u * 1024u)

/* In front of each block; keeps an alignment of 16. */
struct block_header {
    size_t bytes; /* header included; 0: a packet block */
    uint64_t reserved;
};

/* The pbuf with the headers of each segment is allocated and freed with it: blocks of its size are
 * kept apart, which costs a tenth of what the heap does. As many as segments may be under way. */
#define PACKET_BYTES  176u
#define PACKET_BLOCKS (TCP_SND_BUF / TCP_MSS + 32u)

union packet_block {
    struct block_header header; /* while it is given out */
    union packet_block *next;   /* while it is free */
    _Alignas(16) uint8_t bytes[PACKET_BYTES];
};

/* Changed in critical sections (SYS_ARCH_PROTECT). */
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

/* NULL: none is free, and the heap takes over. */
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

/* Books `bytes` more; false if that passes the limit. */
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
