/* SPDX-License-Identifier: BSD-2-Clause */
#include "tlb.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

bool tlb_create(struct tlb *tlb, const struct tlb_geometry *geometry)
{
    *tlb = (struct tlb){.sets = geometry->entries / geometry->ways, .ways = geometry->ways};
    tlb->entries = calloc(geometry->entries, sizeof(*tlb->entries));
    return tlb->entries != NULL;
}

void tlb_destroy(struct tlb *tlb)
{
    free(tlb->entries);
    *tlb = (struct tlb){0};
}

static struct tlb_entry *set_of(const struct tlb *tlb, uint64_t page)
{
    return &tlb->entries[(size_t)(page & (tlb->sets - 1)) * tlb->ways];
}

static bool translates(const struct tlb_entry *entry, struct address_space space, uint64_t page,
                       unsigned shift)
{
    return entry->is_valid && entry->page == page && entry->shift == shift &&
           entry->space.regime == space.regime &&
           (entry->is_global || entry->space.asid == space.asid);
}

const struct tlb_entry *tlb_find(struct tlb *tlb, struct address_space space, uint64_t address)
{
    for (uint64_t shifts = tlb->shifts; shifts != 0; shifts &= shifts - 1) {
        unsigned shift = (unsigned)__builtin_ctzll(shifts);
        uint64_t page = address >> shift;
        struct tlb_entry *entries = set_of(tlb, page);

        for (uint32_t way = 0; way < tlb->ways; way++) {
            if (translates(&entries[way], space, page, shift)) {
                tlb->uses++;
                entries[way].last_use = tlb->uses;
                return &entries[way];
            }
        }
    }
    return NULL;
}

void tlb_fill(struct tlb *tlb, const struct tlb_entry *entry)
{
    struct tlb_entry *entries = set_of(tlb, entry->page), *victim = entries;

    for (uint32_t way = 0; way < tlb->ways && victim->is_valid; way++) {
        if (!entries[way].is_valid || entries[way].last_use < victim->last_use) {
            victim = &entries[way];
        }
    }
    tlb->uses++;
    *victim = *entry;
    victim->last_use = tlb->uses;
    victim->is_valid = true;
    tlb->shifts |= UINT64_C(1) << entry->shift;
}

void tlb_clear_regimes(struct tlb *tlb, uint32_t mask, uint32_t value)
{
    for (size_t i = 0; i < (size_t)tlb->sets * tlb->ways; i++) {
        if ((tlb->entries[i].space.regime & mask) == value) {
            tlb->entries[i].is_valid = false;
        }
    }
}

void tlb_clear(struct tlb *tlb)
{
    memset(tlb->entries, 0, (size_t)tlb->sets * tlb->ways * sizeof(*tlb->entries));
    tlb->shifts = 0;
}
