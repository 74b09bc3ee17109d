/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the accesses that stdin lists, and prints the counts as JSON: for test_reference.py.
 *
 * Argument: the file of owners. The first line of stdin has the processors, then bytes and ways of
 * the instruction, data and shared cache, the bytes of a line, the replacement of all caches (enum
 * cache_replacement) and the stream's first and count; each other line a processor, a kind (enum
 * access), an address and the bytes. All numbers are decimal.
 */
#include "memory_model.h"
#include "results.h"
#include <inttypes.h>
#include <stdlib.h>

static struct memory_model model;

static bool read_nothing(void *context, uint64_t address, uint64_t *descriptor)
{
    (void)context;
    (void)address;
    (void)descriptor;
    return false;
}

static bool read_geometry(struct memory_model_geometry *geometry, struct stream *stream)
{
    struct hierarchy_geometry *caches = &geometry->caches;
    uint32_t line, replacement;
    int count = scanf("%" SCNu32 " %" SCNu64 " %" SCNu32 " %" SCNu64 " %" SCNu32 " %" SCNu64
                      " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu64,
                      &caches->processors, &caches->instruction.bytes, &caches->instruction.ways,
                      &caches->data.bytes, &caches->data.ways, &caches->shared.bytes,
                      &caches->shared.ways, &line, &replacement, &stream->first, &stream->count);
    struct cache_geometry *all[] = {&caches->instruction, &caches->data, &caches->shared};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        all[i]->line_bytes = line;
        all[i]->replacement = (enum cache_replacement)replacement;
    }
    geometry->translation.whole.entries = geometry->translation.whole.ways = 1;
    geometry->translation.stage2 = geometry->translation.whole;
    return count == 11;
}

int main(int count, char **arguments)
{
    const struct table_memory memory = {.read = read_nothing};
    struct memory_model_geometry geometry;
    struct memory_access access;
    struct stream stream;
    uint32_t kind;
    FILE *owners = count == 2 ? fopen(arguments[1], "re") : NULL;

    if (owners == NULL || owners_read(&model.owners, owners) != NULL ||
        !read_geometry(&geometry, &stream) || !memory_model_create(&model, &geometry, &memory, 1)) {
        return EXIT_FAILURE;
    }
    (void)fclose(owners);
    model.hierarchy.stream = stream;
    while (scanf("%" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu64, &access.processor, &kind,
                 &access.virtual_address, &access.bytes) == 4) {
        access.kind = (enum access)kind;
        memory_model_access(&model, &access, access.virtual_address);
    }
    results_write(stdout, &model, &(struct run){.is_whole = true});
    memory_model_destroy(&model);
    return EXIT_SUCCESS;
}
