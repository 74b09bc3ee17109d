/* SPDX-License-Identifier: BSD-2-Clause */
#include "manager/image.h"

#define HEADER_BYTES 64u
#define MAGIC        0x644d5241u /* "ARM\x64" */
#define ALIGNMENT    UINT64_C(0x200000)

struct image_header {
    uint32_t code[2];
    uint64_t text_offset; /* offset of the image from a multiple of 2 MiB */
    /* Size in memory: the file's content and the memory behind it that the image uses. */
    uint64_t image_size;
    uint64_t flags;
    uint64_t reserved[3];
    uint32_t magic;
    uint32_t reserved_last;
};

_Static_assert(sizeof(struct image_header) == HEADER_BYTES, "must match the boot protocol");

uint64_t image_room(const struct description_partition *described)
{
    uint64_t room = 0;

    for (uint32_t i = 0; i < described->memory_count; i++) {
        uint64_t offset = described->entry - described->memories[i].guest;

        if (offset < described->memories[i].bytes) {
            room = described->memories[i].bytes - offset;
        }
    }
    for (uint32_t i = 0; i < described->image_count; i++) {
        uint64_t distance = described->images[i].guest - described->entry;

        if (distance != 0 && distance < room) {
            room = distance;
        }
    }
    return room;
}

/* Returns true if an image of the description begins at the entry. Only such an image can be
 * replaced. */
static bool is_replaceable(const struct description_partition *described)
{
    bool is_found = false;

    for (uint32_t i = 0; i < described->image_count; i++) {
        is_found = is_found || described->images[i].guest == described->entry;
    }
    return is_found;
}

enum manager_result image_check_header(const void *image, uint64_t bytes,
                                       const struct description_partition *described)
{
    const volatile struct image_header *header = image;
    uint64_t size;

    if (bytes < HEADER_BYTES || header->magic != MAGIC || !is_replaceable(described) ||
        (described->entry - header->text_offset) % ALIGNMENT != 0) {
        return MANAGER_BAD_IMAGE;
    }
    /* The file may have data appended behind image_size, which are loaded too. 0 is the size of
     * Linux before 3.17, which tells nobody what it needs (Linux: arm64/booting). */
    size = header->image_size;
    if (size == 0) {
        return MANAGER_BAD_IMAGE;
    }
    if (size < bytes) {
        size = bytes;
    }
    return size <= image_room(described) ? MANAGER_DONE : MANAGER_TOO_LARGE;
}
