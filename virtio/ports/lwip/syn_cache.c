/* SPDX-License-Identifier: BSD-2-Clause */
/* See syn_cache.h. */
#include "syn_cache.h"

/* A ring of entries in the order of their age. It has no holes, so that an entry is replaced only
 * when all places are in use. */
static struct syn_cache_entry ring[SYN_CACHE_ENTRIES];
static unsigned oldest; /* place in the ring */
static unsigned count;

/* Returns the entry with `age` older entries. */
static struct syn_cache_entry *entry_at(unsigned age)
{
    return &ring[(oldest + age) % SYN_CACHE_ENTRIES];
}

void syn_cache_add(const struct syn_cache_entry *entry)
{
    if (count == SYN_CACHE_ENTRIES) {
        oldest = (oldest + 1) % SYN_CACHE_ENTRIES;
        count--;
    }
    *entry_at(count) = *entry;
    count++;
}

static void remove_entry(unsigned age)
{
    for (; age + 1 < count; age++) {
        *entry_at(age) = *entry_at(age + 1);
    }
    count--;
}

bool syn_cache_take(uint64_t connection, uint32_t own_sequence, struct syn_cache_entry *entry)
{
    for (unsigned age = 0; age < count; age++) {
        const struct syn_cache_entry *found = entry_at(age);

        if (found->connection == connection && found->own_sequence == own_sequence) {
            *entry = *found;
            remove_entry(age);
            return true;
        }
    }
    return false;
}
