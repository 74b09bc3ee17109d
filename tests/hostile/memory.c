/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory that the device can access: the rings, and the buffers and packets that the owner has
 * given to the driver. */
#include "hostile.h"
#include <string.h>

#define POOL_BYTES   (2u * VIRTIO_POOL_BYTES_MIN) /* for two pairs */
#define POOL_LINE    64u
#define POOL_ADDRESS UINT64_C(0x100000000) /* pages of it fit into 32 bits, as those of rings */

/* Numbers of rings, each with 4 GiB for itself: pages of all of them fit into 32 bits (4.2.4). */
#define RING_NUMBERS 2048u

struct ring_region {
    uint8_t *memory;
    size_t bytes;
    uint64_t address;
};

struct slot {
    _Alignas(64) uint8_t memory[SLOT_BYTES];
};

static struct ring_region rings[RING_REGIONS]; /* the first ring_count */
static unsigned ring_count;
/* All rings lie between these, so most accesses of the driver need no search. */
static const uint8_t *rings_first, *rings_end;
static unsigned ring_number;
static struct slot buffers[BUFFER_SLOTS];
static struct slot packets[PACKET_SLOTS];
static uint32_t buffer_exposed[BUFFER_SLOTS];
static uint32_t packet_exposed[PACKET_SLOTS];

static _Alignas(VIRTIO_POOL_ALIGNMENT) uint8_t pool_memory[POOL_BYTES];
static struct virtio_pool pool;
static bool is_received[POOL_BYTES / POOL_LINE];

struct virtio_pool *memory_pool(void)
{
    return memory_has_pool ? &pool : NULL;
}

void memory_renew_pool(void)
{
    virtio_pool_init(&pool, pool_memory, sizeof(pool_memory));
}

static bool is_in_pool(const uint8_t *memory)
{
    return memory_has_pool && memory >= pool_memory && memory < pool_memory + POOL_BYTES;
}

uint64_t memory_pool_address(const void *memory)
{
    HOSTILE_CHECK(is_in_pool(memory), "the device's address of private memory");
    return POOL_ADDRESS + (uint64_t)((const uint8_t *)memory - pool_memory);
}

static uint8_t *reach_pool(uint64_t address, uint32_t bytes)
{
    uint64_t offset = address - POOL_ADDRESS;

    return offset < POOL_BYTES && bytes <= POOL_BYTES - offset ? pool_memory + offset : NULL;
}

void memory_mark_received(uint64_t address, uint32_t bytes)
{
    uint8_t *memory = memory_has_pool ? reach_pool(address, bytes) : NULL;

    if (memory == NULL || bytes == 0) {
        return;
    }
    for (size_t line = (size_t)(memory - pool_memory) / POOL_LINE;
         line <= (size_t)(memory - pool_memory + bytes - 1) / POOL_LINE; line++) {
        is_received[line] = true;
    }
}

void memory_forget_received(void)
{
    memset(is_received, 0, sizeof(is_received));
}

void memory_scribble_pool(uint32_t value, bool all)
{
    for (size_t line = 0; memory_has_pool && line < POOL_BYTES / POOL_LINE; line++) {
        if (all || is_received[line]) {
            memory_write(pool_memory + line * POOL_LINE, &value, sizeof(value));
        }
    }
}

void memory_clear(void)
{
    memory_renew_pool();
    memory_forget_received();
    ring_count = 0;
    ring_number = 0;
    memset(buffer_exposed, 0, sizeof(buffer_exposed));
    memset(packet_exposed, 0, sizeof(packet_exposed));
}

uint64_t memory_add_ring(void *memory, size_t bytes)
{
    uint64_t address = (UINT64_C(1) + ring_number++ % RING_NUMBERS) << 32;
    const uint8_t *first = memory, *end = first + bytes;

    if (ring_count == 0) {
        rings_first = first;
        rings_end = end;
    }
    rings_first = first < rings_first ? first : rings_first;
    rings_end = end > rings_end ? end : rings_end;
    HOSTILE_CHECK(ring_count < RING_REGIONS, "more shared memory than any driver needs");
    rings[ring_count++] = (struct ring_region){memory, bytes, address};
    return address;
}

void memory_remove_ring(const void *memory)
{
    for (unsigned i = 0; i < ring_count; i++) {
        if (rings[i].memory == memory) {
            rings[i] = rings[--ring_count];
            return;
        }
    }
    HOSTILE_CHECK(false, "shared memory freed that was not allocated");
}

uint8_t *memory_buffer_slot(unsigned index)
{
    return buffers[index].memory;
}

uint8_t *memory_packet_slot(unsigned index)
{
    return packets[index].memory;
}

void memory_expose_buffer(unsigned index, uint32_t bytes)
{
    buffer_exposed[index] = bytes;
}

void memory_expose_packet(unsigned index, uint32_t bytes)
{
    packet_exposed[index] = bytes;
}

static uint8_t *reach_slots(struct slot *slots, const uint32_t *exposed, unsigned count,
                            const uint8_t *memory, uint32_t bytes)
{
    size_t from = (size_t)(memory - (const uint8_t *)slots);
    size_t offset = from % sizeof(*slots);

    if (memory < (const uint8_t *)slots || from / sizeof(*slots) >= count ||
        offset + bytes > exposed[from / sizeof(*slots)]) {
        return NULL;
    }
    return (uint8_t *)slots + from;
}

static uint8_t *reach_rings(uint64_t address, uint32_t bytes)
{
    for (unsigned i = 0; i < ring_count; i++) {
        uint64_t offset = address - rings[i].address;

        if (offset <= rings[i].bytes && bytes <= rings[i].bytes - offset) {
            return rings[i].memory + offset;
        }
    }
    return NULL;
}

uint8_t *memory_reach(uint64_t address, uint32_t bytes, bool write)
{
    const uint8_t *memory = (const uint8_t *)(uintptr_t)(address - DMA_OFFSET);
    uint8_t *found = memory_has_pool ? reach_pool(address, bytes) : reach_rings(address, bytes);

    if (memory_has_pool) {
        HOSTILE_CHECK(found != NULL || !device_strict(), "%u bytes at %#llx are not in the pool",
                      bytes, (unsigned long long)address);
        return found;
    }
    if (found == NULL) {
        found = reach_slots(buffers, buffer_exposed, BUFFER_SLOTS, memory, bytes);
    }
    if (found == NULL && !write) {
        found = reach_slots(packets, packet_exposed, PACKET_SLOTS, memory, bytes);
    }
    HOSTILE_CHECK(found != NULL || !device_strict(),
                  "the driver gave the device %u bytes at %#llx, which it can't %s", bytes,
                  (unsigned long long)address, write ? "write" : "read");
    return found;
}

bool memory_load(uint64_t address, void *to, uint32_t bytes)
{
    const uint8_t *memory = memory_reach(address, bytes, false);

    if (memory != NULL) {
        memory_read(to, memory, bytes);
    }
    return memory != NULL;
}

bool memory_store(uint64_t address, const void *from, uint32_t bytes)
{
    uint8_t *memory = memory_reach(address, bytes, true);

    if (memory != NULL) {
        memory_write(memory, from, bytes);
    }
    return memory != NULL;
}

enum memory_kind memory_kind(const void *address)
{
    const uint8_t *memory = address;

    if (memory_has_pool) {
        if (!is_in_pool(memory)) {
            return MEMORY_PRIVATE;
        }
        return is_received[(size_t)(memory - pool_memory) / POOL_LINE] ? MEMORY_RECEIVED
                                                                       : MEMORY_RING;
    }
    if (memory >= buffers[0].memory && memory < buffers[BUFFER_SLOTS - 1].memory + SLOT_BYTES) {
        return MEMORY_BUFFER;
    }
    if (memory < rings_first || memory >= rings_end) {
        return MEMORY_PRIVATE;
    }
    for (unsigned i = 0; i < ring_count; i++) {
        if (memory >= rings[i].memory && memory < rings[i].memory + rings[i].bytes) {
            return MEMORY_RING;
        }
    }
    return MEMORY_PRIVATE;
}

size_t memory_buffer_offset(const void *address)
{
    return (size_t)((const uint8_t *)address - buffers[0].memory) % sizeof(buffers[0]);
}

/* Byte by byte through volatile, so that no library function, which AddressSanitizer knows, takes
 * the loop's place. */
__attribute__((no_sanitize("address"))) void memory_read(void *to, const void *shared, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        ((uint8_t *)to)[i] = ((const volatile uint8_t *)shared)[i];
    }
}

__attribute__((no_sanitize("address"))) void memory_write(void *shared, const void *from,
                                                          size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        ((volatile uint8_t *)shared)[i] = ((const uint8_t *)from)[i];
    }
}
