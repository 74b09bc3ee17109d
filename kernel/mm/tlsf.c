/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A region:  [region header][block][block]...[end marker: a used block of size 0]
 * A block:   [previous][tag][size bytes for the user, or the free list's links]
 */
#include "mm/tlsf.h"

#define TAG_FREE         UINT64_C(1)
#define TAG_SIZE_MASK    UINT64_C(0x0000fffffffffff0)
#define TAG_CONTENT_MASK UINT64_C(0x0000ffffffffffff)
#define TAG_CHECK_SHIFT  48

struct tlsf_block {
    struct tlsf_block *previous; /* the block in front in memory; NULL for a region's first */
    uint64_t tag;                /* check code (16 bits), size of the user's part, TAG_FREE */
    /* In free blocks only: */
    struct tlsf_block *next_free;
    struct tlsf_block *previous_free;
};

struct tlsf_region {
    struct tlsf_region *older;
    struct tlsf_block *end;
};

#define HEADER_BYTES   offsetof(struct tlsf_block, next_free)
#define SMALLEST_BYTES (sizeof(struct tlsf_block) - HEADER_BYTES)
#define REGION_BYTES   sizeof(struct tlsf_region)

_Static_assert(offsetof(struct tlsf_block, next_free) == TLSF_ALIGNMENT, "headers keep alignment");
_Static_assert(sizeof(struct tlsf_region) == TLSF_ALIGNMENT, "the first block is aligned");

struct size_class {
    unsigned first;
    unsigned second;
};

/* Returns the check code of a header with this content, which depends on the block's address as
 * well.
 */
static uint64_t check_code(const struct tlsf_block *block, uint64_t content)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = (((uintptr_t)block->previous ^ content << 20) * odd ^ (uintptr_t)block) * odd;

    return mixed >> TAG_CHECK_SHIFT << TAG_CHECK_SHIFT;
}

static void set_tag(struct tlsf_block *block, size_t bytes, uint64_t state)
{
    uint64_t content = bytes | state;

    block->tag = check_code(block, content) | content;
}

static void set_previous(struct tlsf_block *block, struct tlsf_block *previous)
{
    block->previous = previous;
    set_tag(block, block->tag & TAG_SIZE_MASK, block->tag & TAG_FREE);
}

static bool tag_is_sound(const struct tlsf_block *block)
{
    uint64_t content = block->tag & TAG_CONTENT_MASK;

    return block->tag == (check_code(block, content) | content);
}

static size_t block_size(const struct tlsf_block *block)
{
    return (size_t)(block->tag & TAG_SIZE_MASK);
}

static bool is_free(const struct tlsf_block *block)
{
    return (block->tag & TAG_FREE) != 0;
}

static uint8_t *user_part(struct tlsf_block *block)
{
    return (uint8_t *)block + HEADER_BYTES;
}

static struct tlsf_block *block_of(const void *memory)
{
    return (struct tlsf_block *)((uintptr_t)memory - HEADER_BYTES);
}

static struct tlsf_block *next_block(const struct tlsf_block *block)
{
    return (struct tlsf_block *)((uintptr_t)block + HEADER_BYTES + block_size(block));
}

/* Returns the class of a free block of this size. */
static struct size_class class_of(size_t bytes)
{
    if (bytes < (size_t)1 << TLSF_LINEAR_BITS) {
        return (struct size_class){0, (unsigned)(bytes / TLSF_ALIGNMENT)};
    }
    unsigned highest = 63u - (unsigned)__builtin_clzll(bytes);

    return (struct size_class){highest - TLSF_LINEAR_BITS + 1,
                               (unsigned)(bytes >> (highest - TLSF_SECOND_BITS)) &
                                   (TLSF_SECOND_COUNT - 1)};
}

/* Returns the size rounded up to the smallest size of a class. Every block of that class is then
 * large enough, so no list is searched. */
static size_t round_to_class(size_t bytes)
{
    if (bytes < (size_t)1 << TLSF_LINEAR_BITS) {
        return bytes;
    }
    unsigned highest = 63u - (unsigned)__builtin_clzll(bytes);
    size_t step = (size_t)1 << (highest - TLSF_SECOND_BITS);

    return (bytes + step - 1) & ~(step - 1);
}

static size_t round_request(size_t bytes)
{
    size_t rounded = (bytes + TLSF_ALIGNMENT - 1) & ~(TLSF_ALIGNMENT - 1);

    return rounded < SMALLEST_BYTES ? SMALLEST_BYTES : rounded;
}

static void insert_free(struct tlsf *tlsf, struct tlsf_block *block)
{
    struct size_class class = class_of(block_size(block));
    struct tlsf_block **list = &tlsf->free[class.first][class.second];

    block->next_free = *list;
    block->previous_free = NULL;
    if (*list != NULL) {
        (*list)->previous_free = block;
    }
    *list = block;
    tlsf->first_map |= 1u << class.first;
    tlsf->second_map[class.first] |= 1u << class.second;
}

static void remove_free(struct tlsf *tlsf, struct tlsf_block *block)
{
    struct size_class class = class_of(block_size(block));

    if (block->next_free != NULL) {
        block->next_free->previous_free = block->previous_free;
    }
    if (block->previous_free != NULL) {
        block->previous_free->next_free = block->next_free;
        return;
    }
    tlsf->free[class.first][class.second] = block->next_free;
    if (block->next_free == NULL) {
        tlsf->second_map[class.first] &= ~(1u << class.second);
        if (tlsf->second_map[class.first] == 0) {
            tlsf->first_map &= ~(1u << class.first);
        }
    }
}

/* Returns a free block of at least `bytes`, or NULL. The block stays on its list. */
static struct tlsf_block *find_free(const struct tlsf *tlsf, size_t bytes)
{
    struct size_class class = class_of(round_to_class(bytes));
    uint32_t second = tlsf->second_map[class.first] & (UINT32_MAX << class.second);

    if (second == 0) {
        uint32_t first = tlsf->first_map & (uint32_t)(~UINT64_C(0) << (class.first + 1));

        if (first == 0) {
            return NULL;
        }
        class.first = (unsigned)__builtin_ctz(first);
        second = tlsf->second_map[class.first];
    }
    return tlsf->free[class.first][__builtin_ctz(second)];
}

/* Joins a block that is on no list with its free neighbours, and puts the result on its list. */
static void release_block(struct tlsf *tlsf, struct tlsf_block *block)
{
    size_t bytes = block_size(block);
    struct tlsf_block *next = next_block(block);

    if (is_free(next)) {
        remove_free(tlsf, next);
        bytes += HEADER_BYTES + block_size(next);
    }
    if (block->previous != NULL && is_free(block->previous)) {
        block = block->previous;
        remove_free(tlsf, block);
        bytes += HEADER_BYTES + block_size(block);
    }
    set_tag(block, bytes, TAG_FREE);
    set_previous(next_block(block), block);
    insert_free(tlsf, block);
}

/* Cuts a block that is on no list to `bytes`. Frees the rest, if it is large enough for a block. */
static void trim(struct tlsf *tlsf, struct tlsf_block *block, size_t bytes)
{
    size_t rest = block_size(block) - bytes;

    if (rest < HEADER_BYTES + SMALLEST_BYTES) {
        set_tag(block, block_size(block), 0);
        return;
    }
    set_tag(block, bytes, 0);
    struct tlsf_block *remainder = next_block(block);

    remainder->previous = block;
    set_tag(remainder, rest - HEADER_BYTES, 0);
    set_previous(next_block(remainder), remainder);
    release_block(tlsf, remainder);
}

void tlsf_init(struct tlsf *tlsf)
{
    *tlsf = (struct tlsf){.first_map = 0};
}

static struct tlsf_block *make_end(struct tlsf_block *previous, uintptr_t end)
{
    struct tlsf_block *marker = (struct tlsf_block *)(end - HEADER_BYTES);

    marker->previous = previous;
    set_tag(marker, 0, 0);
    return marker;
}

bool tlsf_add_region(struct tlsf *tlsf, void *memory, size_t bytes)
{
    uintptr_t start = (uintptr_t)memory;
    uintptr_t end = start + bytes;
    struct tlsf_region *region = tlsf->newest_region;
    struct tlsf_block *block;

    if (start % TLSF_ALIGNMENT != 0 || bytes % TLSF_ALIGNMENT != 0 || bytes < TLSF_REGION_MINIMUM ||
        bytes > TLSF_BYTES_MAXIMUM) {
        return false;
    }
    if (region != NULL && (uintptr_t)region->end + HEADER_BYTES == start &&
        end - (uintptr_t)region <= TLSF_BYTES_MAXIMUM) {
        block = region->end; /* the old end marker becomes the header of the new memory */
    } else {
        region = memory;
        region->older = tlsf->newest_region;
        tlsf->newest_region = region;
        block = (struct tlsf_block *)(start + REGION_BYTES);
        block->previous = NULL;
    }
    set_tag(block, end - (uintptr_t)block - 2 * HEADER_BYTES, 0);
    region->end = make_end(block, end);
    tlsf->total_bytes += bytes;
    release_block(tlsf, block);
    return true;
}

/* Returns the size to search for. The room in front of an aligned user part must be large enough
 * for a block. */
static size_t request_with_alignment(size_t bytes, size_t alignment)
{
    size_t rounded = round_request(bytes);

    return alignment <= TLSF_ALIGNMENT ? rounded
                                       : rounded + alignment + HEADER_BYTES + SMALLEST_BYTES;
}

/* Splits off the room in front of the first suitably aligned user part. Returns the block of that
 * part.
 */
static struct tlsf_block *align_block(struct tlsf *tlsf, struct tlsf_block *block, size_t alignment)
{
    uintptr_t user = (uintptr_t)user_part(block);
    uintptr_t aligned = (user + alignment - 1) & ~(uintptr_t)(alignment - 1);

    if (aligned == user) {
        return block;
    }
    if (aligned - user < HEADER_BYTES + SMALLEST_BYTES) {
        aligned =
            (user + HEADER_BYTES + SMALLEST_BYTES + alignment - 1) & ~(uintptr_t)(alignment - 1);
    }
    struct tlsf_block *second = block_of((void *)aligned);
    size_t bytes = block_size(block);

    second->previous = block;
    set_tag(second, bytes - (aligned - user), 0);
    set_previous(next_block(second), second);
    set_tag(block, aligned - user - HEADER_BYTES, 0);
    release_block(tlsf, block);
    return second;
}

void *tlsf_allocate(struct tlsf *tlsf, size_t bytes, size_t alignment)
{
    if (bytes > TLSF_BYTES_MAXIMUM || alignment > TLSF_BYTES_MAXIMUM - bytes) {
        return NULL;
    }
    struct tlsf_block *block = find_free(tlsf, request_with_alignment(bytes, alignment));

    if (block == NULL) {
        return NULL;
    }
    if (!tag_is_sound(block) || !is_free(block) ||
        (block->next_free != NULL && block->next_free->previous_free != block)) {
        tlsf->damaged = true;
        return NULL;
    }
    remove_free(tlsf, block);
    set_tag(block, block_size(block), 0);
    if (alignment > TLSF_ALIGNMENT) {
        block = align_block(tlsf, block, alignment);
    }
    trim(tlsf, block, round_request(bytes));
    tlsf->used_bytes += HEADER_BYTES + block_size(block);
    if (tlsf->used_bytes > tlsf->peak_bytes) {
        tlsf->peak_bytes = tlsf->used_bytes;
    }
    return user_part(block);
}

bool tlsf_free(struct tlsf *tlsf, void *memory)
{
    struct tlsf_block *block = block_of(memory);

    if ((uintptr_t)memory % TLSF_ALIGNMENT != 0 || !tag_is_sound(block) || is_free(block) ||
        block_size(block) == 0) {
        return false;
    }
    const struct tlsf_block *next = next_block(block);

    if (next->previous != block || !tag_is_sound(next)) {
        return false;
    }
    if (block->previous != NULL &&
        (!tag_is_sound(block->previous) || next_block(block->previous) != block)) {
        return false;
    }
    tlsf->used_bytes -= HEADER_BYTES + block_size(block);
    release_block(tlsf, block);
    return true;
}

size_t tlsf_region_bytes(size_t bytes, size_t alignment)
{
    if (bytes > TLSF_BYTES_MAXIMUM / 2 || alignment > TLSF_BYTES_MAXIMUM / 4) {
        return 0;
    }
    size_t needed =
        round_to_class(request_with_alignment(bytes, alignment)) + REGION_BYTES + 2 * HEADER_BYTES;

    return needed < TLSF_REGION_MINIMUM ? TLSF_REGION_MINIMUM : needed;
}

size_t tlsf_block_bytes(const void *memory)
{
    return block_size(block_of(memory));
}

/* Checks one list, and adds its length to *listed. Returns NULL, or a text about the error. */
static const char *check_list(const struct tlsf *tlsf, unsigned first, unsigned second,
                              size_t *listed)
{
    const struct tlsf_block *block = tlsf->free[first][second];
    bool second_bit = (tlsf->second_map[first] >> second & 1u) != 0;
    bool first_bit = (tlsf->first_map >> first & 1u) != 0;

    if ((block != NULL) != second_bit || first_bit != (tlsf->second_map[first] != 0)) {
        return "bitmap and list disagree";
    }
    for (const struct tlsf_block *previous = NULL; block != NULL; block = block->next_free) {
        struct size_class class = class_of(block_size(block));

        if (!is_free(block) || class.first != first || class.second != second) {
            return "a block is on the wrong list";
        }
        if (block->previous_free != previous) {
            return "a free list is torn";
        }
        previous = block;
        (*listed)++;
    }
    return NULL;
}

/* Checks one region, and adds its free blocks and used bytes to the sums. Returns NULL, or a text
 * about the error. */
static const char *check_region(const struct tlsf_region *region, size_t *free_blocks, size_t *used)
{
    const struct tlsf_block *previous = NULL;
    const struct tlsf_block *block = (const struct tlsf_block *)(region + 1);

    for (; block != region->end; block = next_block(block)) {
        if (!tag_is_sound(block) || block->previous != previous || block > region->end) {
            return "a block header is damaged";
        }
        if (is_free(block)) {
            if (previous != NULL && is_free(previous)) {
                return "free neighbours were not joined";
            }
            (*free_blocks)++;
        } else {
            *used += HEADER_BYTES + block_size(block);
        }
        previous = block;
    }
    return tag_is_sound(block) && block->previous == previous && block_size(block) == 0
               ? NULL
               : "an end marker is damaged";
}

const char *tlsf_check(const struct tlsf *tlsf)
{
    size_t listed = 0;
    size_t free_blocks = 0;
    size_t used = 0;
    const char *wrong = NULL;

    for (unsigned i = 0; i < TLSF_FIRST_COUNT * TLSF_SECOND_COUNT && wrong == NULL; i++) {
        wrong = check_list(tlsf, i / TLSF_SECOND_COUNT, i % TLSF_SECOND_COUNT, &listed);
    }
    const struct tlsf_region *region = tlsf->newest_region;

    for (; region != NULL && wrong == NULL; region = region->older) {
        wrong = check_region(region, &free_blocks, &used);
    }
    if (wrong == NULL && listed != free_blocks) {
        wrong = "free blocks and free lists disagree";
    }
    if (wrong == NULL && used != tlsf->used_bytes) {
        wrong = "the count of used bytes is wrong";
    }
    return wrong;
}
