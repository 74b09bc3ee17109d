/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Builds every partition's stage 2 of a system description as the hypervisor does, and prints the
 * bytes that its tables take: a line a partition, in the description's order.
 */
#include "memory/stage2.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define POOL_BYTES (1024 * PAGE_BYTES)

/* 0: they can't be built. */
static uint64_t table_bytes(const struct description_partition *partition)
{
    void *memory = aligned_alloc(PAGE_BYTES, POOL_BYTES);
    uint64_t start = (uintptr_t)memory;
    struct page_pool pool = {.next = start, .end = start + POOL_BYTES};
    bool built = memory != NULL && stage2_build(partition, &pool) != 0;

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

int main(int count, char **arguments)
{
    static struct description description;

    if (count != 2 || !read_description(arguments[1], &description)) {
        (void)fputs("stage2_bytes: name the file of a system description\n", stderr);
        return 2;
    }
    for (uint32_t i = 0; i < description.partition_count; i++) {
        uint64_t bytes = table_bytes(&description.partitions[i]);

        if (bytes == 0) {
            return 1;
        }
        (void)printf("%" PRIu64 "\n", bytes);
    }
    return 0;
}
