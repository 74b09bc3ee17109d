/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Caches of a machine: an instruction and a data cache of each processor, and one last-level cache
 * that all share. All are physically indexed, allocate on a write, and write back. The shared cache
 * is inclusive: a line that leaves it leaves the private caches, too, so that a neighbour's
 * evictions reach as far as they can.
 *
 * A store invalidates the line in the data caches of the other processors. Instruction caches see
 * no stores, as on the Cortex-A72. Table walks read the shared cache.
 *
 * Each count belongs to the owner of an address (owners.h), not to the processor: the lines of a
 * partition are in its memory, which no other partition can access.
 */
#ifndef MEMORY_MODEL_HIERARCHY_H
#define MEMORY_MODEL_HIERARCHY_H

#include "cache.h"
#include "model_limits.h"
#include "owners.h"
#include <stdbool.h>
#include <stdint.h>

enum access { ACCESS_FETCH, ACCESS_READ, ACCESS_WRITE, ACCESS_WALK, ACCESS_KINDS };

/* The stream of an owner's accesses: those with the numbers first to first + count - 1, in the
 * order in which they are made. Two runs with the same stream have the same digests. Lines count
 * from the owner's first address, so the owner may be at another place in the other run. */
struct stream {
    uint64_t first; /* 0 is the owner's first access */
    uint64_t count;
};

struct stream_counts {
    uint64_t accesses;
    uint64_t misses; /* of the shared cache */
    uint64_t path;   /* digest of line and kind of each access */
    uint64_t digest; /* of line, kind, and the cache that has the line */
};

struct owner_counts {
    uint64_t accesses[ACCESS_KINDS]; /* an access that crosses into another line counts twice */
    uint64_t instruction_misses;     /* of private instruction caches */
    uint64_t data_misses;            /* of private data caches */
    uint64_t shared_hits;
    uint64_t shared_misses;       /* each one is a line that is read from memory */
    uint64_t write_backs;         /* lines written to memory */
    uint64_t evicted[OWNERS_MAX]; /* lines of that owner which left the shared cache for ours */
    struct stream_counts stream;
};

/* All caches have lines of one size. */
struct hierarchy_geometry {
    uint32_t processors; /* 1 to PROCESSORS_MAX */
    struct cache_geometry instruction;
    struct cache_geometry data;
    struct cache_geometry shared;
};

struct private_caches {
    struct cache instruction;
    struct cache data;
};

struct hierarchy {
    struct private_caches processors[PROCESSORS_MAX];
    uint32_t processor_count;
    struct cache shared;
    struct owners *owners;
    struct stream stream;
    uint64_t accesses[OWNERS_MAX]; /* since the machine started: numbers of the stream */
    struct owner_counts counts[OWNERS_MAX];
    uint32_t *fills; /* of the shared cache: for each set, one number for each of OWNERS_MAX */
};

/* Makes empty caches of a valid geometry. `owners` must outlive them. Returns false if there is not
 * enough memory. hierarchy_destroy() must follow in both cases. */
bool hierarchy_create(struct hierarchy *hierarchy, const struct hierarchy_geometry *geometry,
                      struct owners *owners, uint64_t seed);

/* Frees the memory. */
void hierarchy_destroy(struct hierarchy *hierarchy);

/* Makes an access of a processor, whose number is below the geometry's. `bytes` is not 0. */
void hierarchy_access(struct hierarchy *hierarchy, uint32_t processor, uint64_t address,
                      uint64_t bytes, enum access kind);

/* Begins the stream of an owner again: its next access has the number 0. */
void hierarchy_begin_stream(struct hierarchy *hierarchy, uint8_t owner);

/* Sets all counts to 0, but for those of the streams. The caches keep their lines. */
void hierarchy_reset_counts(struct hierarchy *hierarchy);

/* Returns how many lines of an owner are in a set of the shared cache. */
uint32_t hierarchy_occupancy(const struct hierarchy *hierarchy, uint32_t set, uint8_t owner);

#endif
