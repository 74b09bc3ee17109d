/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A set-associative cache: which lines it holds, and which line leaves for a new one. It has no
 * data. Addresses are physical. A line's number is its address divided by the bytes of a line; the
 * lowest bits of the number choose the set.
 */
#ifndef MEMORY_MODEL_CACHE_H
#define MEMORY_MODEL_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cache_replacement {
    CACHE_LRU,    /* the line that was used least recently */
    CACHE_PLRU,   /* a binary tree of bits approximates LRU; the ways are a power of two */
    CACHE_RANDOM, /* pseudo-random from the seed */
};

/* The number of sets, bytes / ways / line_bytes, is a power of two. */
struct cache_geometry {
    uint64_t bytes;      /* at most CACHE_BYTES_MAX (model_limits.h) */
    uint32_t ways;       /* 1 to CACHE_WAYS_MAX; a power of two for CACHE_PLRU */
    uint32_t line_bytes; /* a power of two, CACHE_LINE_BYTES_MIN to CACHE_LINE_BYTES_MAX */
    enum cache_replacement replacement;
};

struct cache_line {
    uint64_t number;
    uint64_t last_use; /* for CACHE_LRU: greater values are later */
    uint8_t owner;     /* of the address */
    bool is_valid;
    bool is_dirty;
    bool is_exclusive; /* no other cache of the same level holds the line */
};

struct cache {
    uint32_t sets;
    uint32_t ways;
    uint32_t line_shift; /* log2 of the bytes of a line */
    enum cache_replacement replacement;
    struct cache_line *lines; /* the ways of set 0, those of set 1, ... */
    uint64_t *trees;          /* for CACHE_PLRU: the bits of each set */
    uint64_t uses;            /* for CACHE_LRU */
    uint64_t random;          /* for CACHE_RANDOM: state of the generator */
};

/* Makes an empty cache of a valid geometry: the caller has checked it, as
 * tools/bulkhead/memory_model/geometry.py does. Returns false if there is not enough memory.
 * cache_destroy() must follow in both cases. */
bool cache_create(struct cache *cache, const struct cache_geometry *geometry, uint64_t seed);

/* Frees the cache's memory. */
void cache_destroy(struct cache *cache);

/* Returns the line, or NULL if the cache does not hold it. This is no use of the line. */
struct cache_line *cache_find(const struct cache *cache, uint64_t number);

/* Notes a use of a line of the cache, for the choice of later victims. */
void cache_use(struct cache *cache, struct cache_line *line);

/* Returns the line that leaves for the one with this number: an invalid line of its set, or a valid
 * one by the replacement policy. The caller fills it, with cache_fill(). */
struct cache_line *cache_victim(struct cache *cache, uint64_t number);

/* Replaces a line by another one of its set, which is clean and not exclusive. This is a use. */
void cache_fill(struct cache *cache, struct cache_line *line, uint64_t number, uint8_t owner);

/* Returns the set of a line. */
uint32_t cache_set(const struct cache *cache, uint64_t number);

#endif
