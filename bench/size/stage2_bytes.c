/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Builds the stage-2 tables of every partition in a system description, with the hypervisor's code,
 * and prints the bytes that they take: a line for each partition, in the order of the description.
 */
#include "memory/stage2.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define POOL_BYTES (1024 * PAGE_BYTES)

/* Returns the bytes of a partition's tables, 0 if they cannot be built. `partition`: index. */
static uint64_t table_bytes(const struct description *description, uint32_t partition)
{
    void *memory = aligned_alloc(PAGE_BYTES, POOL_BYTES);
    uint64_t start = (uintptr_t)memory;
    struct page_pool pool = {.next = start, .end = start + POOL_BYTES};
    bool built = memory != NULL && stage2_build(description, partition, &pool) != 0;

    free(memory);
    return built ? pool.next - start : 0;
}

static bool read_description(const char *path, struct description *description)
{
    FILE *file = fopen(path, "rb");
    bool whole = file != NULL && fread(description, sizeof *description, 1, file) == 1;

    if (file != NULL) {
        (void)fclose(file);
    }
    return whole && description->partition_count <= DESCRIPTION_PARTITIONS_MAX;
}

/* Returns true if the description has the layout with which this program was compiled. */
static bool has_layout(const struct description *description)
{
    return description->version == DESCRIPTION_VERSION && description->bytes == sizeof *description;
}

int main(int count, char **arguments)
{
    static struct description description;

    if (count != 2 || !read_description(arguments[1], &description)) {
        (void)fputs("stage2_bytes: name the file of a system description\n", stderr);
        return 2;
    }
    if (!has_layout(&description)) {
        (void)fputs("stage2_bytes: the description has another version: build this program again\n",
                    stderr);
        return 2;
    }
    for (uint32_t i = 0; i < description.partition_count; i++) {
        uint64_t bytes = table_bytes(&description, i);

        if (bytes == 0) {
            return 1;
        }
        (void)printf("%" PRIu64 "\n", bytes);
    }
    return 0;
}
