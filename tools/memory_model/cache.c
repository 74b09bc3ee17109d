/* SPDX-License-Identifier: BSD-2-Clause */
#include "cache.h"
#include <stdlib.h>

#define RANDOM_FACTOR UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / golden ratio, odd */
#define ROOT          1u /* of the tree: the children of n are 2n and 2n+1 */

static uint32_t log2_of(uint64_t power)
{
    return (uint32_t)__builtin_ctzll(power);
}

bool cache_create(struct cache *cache, const struct cache_geometry *geometry, uint64_t seed)
{
    *cache = (struct cache){
        .sets = (uint32_t)(geometry->bytes / geometry->ways / geometry->line_bytes),
        .ways = geometry->ways,
        .line_shift = log2_of(geometry->line_bytes),
        .replacement = geometry->replacement,
        .random = seed,
    };
    cache->lines = calloc((size_t)cache->sets * cache->ways, sizeof(*cache->lines));
    cache->trees = calloc(cache->sets, sizeof(*cache->trees));
    return cache->lines != NULL && cache->trees != NULL;
}

void cache_destroy(struct cache *cache)
{
    free(cache->lines);
    free(cache->trees);
    *cache = (struct cache){0};
}

uint32_t cache_set(const struct cache *cache, uint64_t number)
{
    return (uint32_t)number & (cache->sets - 1);
}

static struct cache_line *ways_of(const struct cache *cache, uint32_t set)
{
    return &cache->lines[(size_t)set * cache->ways];
}

struct cache_line *cache_find(const struct cache *cache, uint64_t number)
{
    struct cache_line *lines = ways_of(cache, cache_set(cache, number));

    for (uint32_t way = 0; way < cache->ways; way++) {
        if (lines[way].number == number && lines[way].is_valid) {
            return &lines[way];
        }
    }
    return NULL;
}

/* A bit of the tree is 1 if the victim is in the right half of the node's ways. Makes all bits on
 * the way's path lead to the other half. */
static void turn_tree_away(uint64_t *tree, uint32_t ways, uint32_t way)
{
    uint32_t node = ROOT;

    for (uint32_t half = ways / 2; half != 0; half /= 2) {
        bool is_right = (way & half) != 0;
        uint64_t bit = UINT64_C(1) << node;

        *tree = is_right ? *tree & ~bit : *tree | bit;
        node = 2 * node + (is_right ? 1 : 0);
    }
}

static uint32_t follow_tree(uint64_t tree, uint32_t ways)
{
    uint32_t node = ROOT, way = 0;

    for (uint32_t half = ways / 2; half != 0; half /= 2) {
        bool is_right = (tree >> node & 1) != 0;

        way += is_right ? half : 0;
        node = 2 * node + (is_right ? 1 : 0);
    }
    return way;
}

void cache_use(struct cache *cache, struct cache_line *line)
{
    size_t index = (size_t)(line - cache->lines);

    cache->uses++;
    line->last_use = cache->uses;
    if (cache->replacement == CACHE_PLRU) {
        turn_tree_away(&cache->trees[index / cache->ways], cache->ways,
                       (uint32_t)(index % cache->ways));
    }
}

static uint32_t least_recent(const struct cache_line *lines, uint32_t ways)
{
    uint32_t found = 0;

    for (uint32_t way = 1; way < ways; way++) {
        if (lines[way].last_use < lines[found].last_use) {
            found = way;
        }
    }
    return found;
}

/* SplitMix64: a counter, whose value is mixed. */
static uint32_t draw(uint64_t *state, uint32_t ways)
{
    uint64_t value;

    *state += RANDOM_FACTOR;
    value = (*state ^ *state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    value ^= value >> 31;
    return (uint32_t)((value >> 32) * ways >> 32);
}

struct cache_line *cache_victim(struct cache *cache, uint64_t number)
{
    uint32_t set = cache_set(cache, number);
    struct cache_line *lines = ways_of(cache, set);

    for (uint32_t way = 0; way < cache->ways; way++) {
        if (!lines[way].is_valid) {
            return &lines[way];
        }
    }
    switch (cache->replacement) {
    case CACHE_PLRU:
        return &lines[follow_tree(cache->trees[set], cache->ways)];
    case CACHE_RANDOM:
        return &lines[draw(&cache->random, cache->ways)];
    case CACHE_LRU:
    default:
        return &lines[least_recent(lines, cache->ways)];
    }
}

void cache_fill(struct cache *cache, struct cache_line *line, uint64_t number, uint8_t owner)
{
    *line = (struct cache_line){.number = number, .owner = owner, .is_valid = true};
    cache_use(cache, line);
}
