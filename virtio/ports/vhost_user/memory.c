/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* memfd_create */
#include "memory.h"
#include "virtio/platform.h"
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE_BYTES (UINT64_C(2) << 20)
#define PAGE_BYTES      UINT64_C(4096)

/* Granularity of allocations, so that two of them never share a cache line. */
#define GRAIN_BYTES 64u

#define ENTRIES_FIRST 16u

/* A range of the arena that is not allocated. */
struct hole {
    size_t offset;
    size_t bytes;
};

static struct {
    struct vhost_user_region region;
    struct hole *holes; /* sorted by offset; never adjacent */
    size_t hole_count;
    size_t hole_limit; /* capacity of holes[] */
    size_t taken;      /* number of allocations */
} arena;

static size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) & ~(unit - 1);
}

static bool map(size_t bytes, bool huge)
{
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING | (huge ? MFD_HUGETLB | MFD_HUGE_2MB : 0);
    int descriptor = memfd_create("virtio", flags);
    void *base = MAP_FAILED;

    if (descriptor < 0) {
        return false;
    }
    bytes = round_up(bytes, huge ? HUGE_PAGE_BYTES : PAGE_BYTES);
    if (ftruncate(descriptor, (off_t)bytes) == 0 &&
        fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
        base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
    }
    if (base == MAP_FAILED) {
        close(descriptor);
        return false;
    }
    arena.region = (struct vhost_user_region){
        .base = base, .bytes = bytes, .descriptor = descriptor, .huge = huge};
    return true;
}

bool vhost_user_memory_open(size_t bytes, bool huge, const char **reason)
{
    arena.holes = malloc(ENTRIES_FIRST * sizeof(struct hole));
    if (arena.holes == NULL || !((huge && map(bytes, true)) || map(bytes, false))) {
        *reason = "no memory to share with the back-end";
        free(arena.holes);
        arena.holes = NULL;
        return false;
    }
    arena.holes[0] = (struct hole){.offset = 0, .bytes = arena.region.bytes};
    arena.hole_count = 1;
    arena.hole_limit = ENTRIES_FIRST;
    arena.taken = 0;
    return true;
}

void vhost_user_memory_close(void)
{
    if (arena.region.base != NULL) {
        munmap(arena.region.base, arena.region.bytes);
        close(arena.region.descriptor);
    }
    free(arena.holes);
    memset(&arena, 0, sizeof(arena));
}

const struct vhost_user_region *vhost_user_memory(void)
{
    return &arena.region;
}

size_t vhost_user_memory_free_bytes(void)
{
    size_t bytes = 0;

    for (size_t i = 0; i < arena.hole_count; i++) {
        bytes += arena.holes[i].bytes;
    }
    return bytes;
}

static void insert_hole(size_t position, struct hole hole)
{
    memmove(&arena.holes[position + 1], &arena.holes[position],
            (arena.hole_count - position) * sizeof(struct hole));
    arena.holes[position] = hole;
    arena.hole_count++;
}

static void remove_hole(size_t position)
{
    arena.hole_count--;
    memmove(&arena.holes[position], &arena.holes[position + 1],
            (arena.hole_count - position) * sizeof(struct hole));
}

/* There is at most one hole more than allocations, and one more while an allocation is freed. The
 * room for them is made at allocation, so that freeing never fails. */
static bool reserve_holes(void)
{
    size_t limit = arena.hole_limit;
    struct hole *holes;

    if (arena.taken + 3 <= limit) {
        return true;
    }
    holes = realloc(arena.holes, 2 * limit * sizeof(struct hole));
    if (holes == NULL) {
        return false;
    }
    arena.holes = holes;
    arena.hole_limit = 2 * limit;
    return true;
}

/* Removes [offset, offset + bytes) from the hole that contains it. */
static void cut(size_t position, size_t offset, size_t bytes)
{
    struct hole *hole = &arena.holes[position];
    struct hole after = {.offset = offset + bytes,
                         .bytes = hole->offset + hole->bytes - offset - bytes};

    hole->bytes = offset - hole->offset;
    if (after.bytes != 0) {
        insert_hole(position + 1, after);
    }
    if (arena.holes[position].bytes == 0) {
        remove_hole(position);
    }
}

void *virtio_platform_dma_allocate(size_t bytes, size_t alignment, virtio_address *address)
{
    size_t unit = alignment > GRAIN_BYTES ? alignment : GRAIN_BYTES;

    if (bytes == 0 || bytes > arena.region.bytes || !reserve_holes()) {
        return NULL;
    }
    bytes = round_up(bytes, GRAIN_BYTES);
    for (size_t i = 0; i < arena.hole_count; i++) {
        const struct hole *hole = &arena.holes[i];
        size_t offset = round_up(hole->offset, unit);

        if (offset + bytes <= hole->offset + hole->bytes) {
            uint8_t *piece = (uint8_t *)arena.region.base + offset;

            cut(i, offset, bytes);
            arena.taken++;
            memset(piece, 0, bytes);
            *address = virtio_platform_dma_address(piece);
            return piece;
        }
    }
    return NULL;
}

void virtio_platform_dma_free(void *memory, size_t bytes)
{
    size_t offset = (size_t)((uint8_t *)memory - (uint8_t *)arena.region.base);
    size_t end = offset + round_up(bytes, GRAIN_BYTES);
    size_t next = 0;

    while (next < arena.hole_count && arena.holes[next].offset < offset) {
        next++;
    }
    arena.taken--;
    insert_hole(next, (struct hole){.offset = offset, .bytes = end - offset});
    if (next + 1 < arena.hole_count && arena.holes[next + 1].offset == end) {
        arena.holes[next].bytes += arena.holes[next + 1].bytes;
        remove_hole(next + 1);
    }
    if (next > 0 && arena.holes[next - 1].offset + arena.holes[next - 1].bytes == offset) {
        arena.holes[next - 1].bytes += arena.holes[next].bytes;
        remove_hole(next);
    }
}

virtio_address virtio_platform_dma_address(const void *memory)
{
    return (virtio_address)(uintptr_t)memory;
}
