/* SPDX-License-Identifier: BSD-2-Clause */
#include "hierarchy.h"
#include "plugin_digest.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum holder { HOLDER_PRIVATE, HOLDER_SHARED, HOLDER_MEMORY, HOLDERS };

/* An access within one line. */
struct request {
    uint32_t processor;
    uint64_t number; /* of the line */
    enum access kind;
    uint8_t owner;
};

bool hierarchy_create(struct hierarchy *hierarchy, const struct hierarchy_geometry *geometry,
                      struct owners *owners, uint64_t seed)
{
    bool is_made;

    memset(hierarchy, 0, sizeof(*hierarchy));
    hierarchy->owners = owners;
    hierarchy->processor_count = geometry->processors;
    is_made = cache_create(&hierarchy->shared, &geometry->shared, seed);
    for (uint32_t i = 0; i < geometry->processors; i++) {
        struct private_caches *own = &hierarchy->processors[i];

        is_made = cache_create(&own->instruction, &geometry->instruction, seed) && is_made;
        is_made = cache_create(&own->data, &geometry->data, seed) && is_made;
    }
    hierarchy->fills =
        calloc((size_t)hierarchy->shared.sets * OWNERS_MAX, sizeof(*hierarchy->fills));
    return is_made && hierarchy->fills != NULL;
}

void hierarchy_destroy(struct hierarchy *hierarchy)
{
    for (uint32_t i = 0; i < hierarchy->processor_count; i++) {
        cache_destroy(&hierarchy->processors[i].instruction);
        cache_destroy(&hierarchy->processors[i].data);
    }
    cache_destroy(&hierarchy->shared);
    free(hierarchy->fills);
    memset(hierarchy, 0, sizeof(*hierarchy));
}

static struct owner_counts *counts_of(struct hierarchy *hierarchy, uint8_t owner)
{
    return &hierarchy->counts[owner];
}

/* Invalidates a line in a private cache. Returns true if the line was dirty. */
static bool drop(const struct cache *cache, uint64_t number)
{
    struct cache_line *line = cache_find(cache, number);
    bool is_dirty = line != NULL && line->is_dirty;

    if (line != NULL) {
        line->is_valid = false;
    }
    return is_dirty;
}

/* A line leaves the shared cache, and with it all private ones. */
static void evict(struct hierarchy *hierarchy, struct cache_line *line, uint8_t evictor)
{
    bool is_dirty = line->is_dirty;

    for (uint32_t i = 0; i < hierarchy->processor_count; i++) {
        (void)drop(&hierarchy->processors[i].instruction, line->number);
        is_dirty = drop(&hierarchy->processors[i].data, line->number) || is_dirty;
    }
    counts_of(hierarchy, evictor)->evicted[line->owner]++;
    if (is_dirty) {
        counts_of(hierarchy, line->owner)->write_backs++;
    }
}

static enum holder access_shared(struct hierarchy *hierarchy, const struct request *request)
{
    struct cache *shared = &hierarchy->shared;
    struct cache_line *line = cache_find(shared, request->number);
    size_t set = cache_set(shared, request->number);

    if (line != NULL) {
        cache_use(shared, line);
        counts_of(hierarchy, request->owner)->shared_hits++;
        return HOLDER_SHARED;
    }
    counts_of(hierarchy, request->owner)->shared_misses++;
    line = cache_victim(shared, request->number);
    if (line->is_valid) {
        evict(hierarchy, line, request->owner);
    }
    cache_fill(shared, line, request->number, request->owner);
    hierarchy->fills[set * OWNERS_MAX + request->owner]++;
    return HOLDER_MEMORY;
}

/* Marks a line as dirty in the shared cache, which has all lines of the private caches. */
static void write_to_shared(const struct hierarchy *hierarchy, uint64_t number)
{
    struct cache_line *line = cache_find(&hierarchy->shared, number);

    assert(line != NULL);
    line->is_dirty = true;
}

/* Tells the other processors of an access that they may not keep their copies for: they drop the
 * line for a store, and share it for a load. Returns true if another one keeps it. */
static bool snoop(const struct hierarchy *hierarchy, const struct request *request)
{
    bool is_kept = false;

    for (uint32_t i = 0; i < hierarchy->processor_count; i++) {
        struct cache_line *line = cache_find(&hierarchy->processors[i].data, request->number);

        if (i == request->processor || line == NULL) {
            continue;
        }
        if (line->is_dirty) {
            write_to_shared(hierarchy, request->number);
        }
        line->is_dirty = false;
        line->is_exclusive = false;
        line->is_valid = request->kind != ACCESS_WRITE;
        is_kept = is_kept || line->is_valid;
    }
    return is_kept;
}

static struct cache_line *fill_private(struct hierarchy *hierarchy, struct cache *cache,
                                       const struct request *request)
{
    struct cache_line *line = cache_victim(cache, request->number);

    if (line->is_valid && line->is_dirty) {
        write_to_shared(hierarchy, line->number);
    }
    cache_fill(cache, line, request->number, request->owner);
    return line;
}

static enum holder access_instruction(struct hierarchy *hierarchy, const struct request *request)
{
    struct cache *cache = &hierarchy->processors[request->processor].instruction;
    struct cache_line *line = cache_find(cache, request->number);
    enum holder holder;

    if (line != NULL) {
        cache_use(cache, line);
        return HOLDER_PRIVATE;
    }
    counts_of(hierarchy, request->owner)->instruction_misses++;
    holder = access_shared(hierarchy, request);
    (void)fill_private(hierarchy, cache, request);
    return holder;
}

static enum holder access_data(struct hierarchy *hierarchy, const struct request *request)
{
    struct cache *cache = &hierarchy->processors[request->processor].data;
    struct cache_line *line = cache_find(cache, request->number);
    enum holder holder = HOLDER_PRIVATE;

    if (line != NULL) {
        cache_use(cache, line);
    } else {
        counts_of(hierarchy, request->owner)->data_misses++;
        holder = access_shared(hierarchy, request);
        line = fill_private(hierarchy, cache, request);
        line->is_exclusive = !snoop(hierarchy, request);
    }
    if (request->kind == ACCESS_WRITE) {
        if (!line->is_exclusive) {
            (void)snoop(hierarchy, request);
        }
        line->is_exclusive = true;
        line->is_dirty = true;
    }
    return holder;
}

static void follow_stream(struct hierarchy *hierarchy, const struct request *request,
                          enum holder holder)
{
    struct stream_counts *stream = &counts_of(hierarchy, request->owner)->stream;
    uint64_t number = hierarchy->accesses[request->owner];
    uint64_t first = hierarchy->owners->starts[request->owner] >> hierarchy->shared.line_shift;
    uint64_t outcome = (uint64_t)request->kind * HOLDERS + holder;

    hierarchy->accesses[request->owner]++;
    if (number - hierarchy->stream.first >= hierarchy->stream.count) {
        return;
    }
    stream->accesses++;
    stream->misses += holder == HOLDER_MEMORY ? 1 : 0;
    stream->path =
        plugin_digest(plugin_digest(stream->path, request->number - first), request->kind);
    stream->digest = plugin_digest(plugin_digest(stream->digest, request->number - first), outcome);
}

static void access_line(struct hierarchy *hierarchy, const struct request *request)
{
    enum holder holder;

    counts_of(hierarchy, request->owner)->accesses[request->kind]++;
    switch (request->kind) {
    case ACCESS_FETCH:
        holder = access_instruction(hierarchy, request);
        break;
    case ACCESS_WALK:
        holder = access_shared(hierarchy, request);
        break;
    default:
        holder = access_data(hierarchy, request);
        break;
    }
    follow_stream(hierarchy, request, holder);
}

void hierarchy_access(struct hierarchy *hierarchy, uint32_t processor, uint64_t address,
                      uint64_t bytes, enum access kind)
{
    uint32_t shift = hierarchy->shared.line_shift;
    uint64_t last = (address + bytes - 1) >> shift;

    for (uint64_t number = address >> shift; number <= last; number++) {
        const struct request request = {
            .processor = processor,
            .number = number,
            .kind = kind,
            .owner = owners_find(hierarchy->owners, number << shift),
        };

        access_line(hierarchy, &request);
    }
}

void hierarchy_begin_stream(struct hierarchy *hierarchy, uint8_t owner)
{
    hierarchy->accesses[owner] = 0;
    hierarchy->counts[owner].stream = (struct stream_counts){0};
}

void hierarchy_reset_counts(struct hierarchy *hierarchy)
{
    for (uint32_t i = 0; i < OWNERS_MAX; i++) {
        struct owner_counts *counts = &hierarchy->counts[i];

        *counts = (struct owner_counts){.stream = counts->stream};
    }
    memset(hierarchy->fills, 0,
           (size_t)hierarchy->shared.sets * OWNERS_MAX * sizeof(*hierarchy->fills));
}

uint32_t hierarchy_occupancy(const struct hierarchy *hierarchy, uint32_t set, uint8_t owner)
{
    const struct cache *shared = &hierarchy->shared;
    uint32_t count = 0;

    for (uint32_t way = 0; way < shared->ways; way++) {
        const struct cache_line *line = &shared->lines[(size_t)set * shared->ways + way];

        count += line->is_valid && line->owner == owner ? 1 : 0;
    }
    return count;
}
