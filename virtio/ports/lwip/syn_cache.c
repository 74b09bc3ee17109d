/* SPDX-License-Identifier: BSD-2-Clause */
/* See syn_cache.h. */
#include "syn_cache.h"

struct place {
    struct syn_cache_entry entry;
    bool used;
};

/* A ring: a new entry replaces the oldest. */
static struct place places[SYN_CACHE_ENTRIES];
static unsigned next_place;

void syn_cache_add(const struct syn_cache_entry *entry)
{
    places[next_place].entry = *entry;
    places[next_place].used = true;
    next_place = (next_place + 1) % SYN_CACHE_ENTRIES;
}

bool syn_cache_take(uint64_t connection, uint32_t own_sequence, struct syn_cache_entry *entry)
{
    for (unsigned i = 0; i < SYN_CACHE_ENTRIES; i++) {
        struct place *place = &places[i];

        if (place->used && place->entry.connection == connection &&
            place->entry.own_sequence == own_sequence) {
            *entry = place->entry;
            place->used = false;
            return true;
        }
    }
    return false;
}
