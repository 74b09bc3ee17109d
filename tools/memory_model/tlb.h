/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A translation lookaside buffer: set-associative, LRU, with entries for pages and blocks of any
 * size. It translates input addresses of an address space to physical addresses.
 */
#ifndef MEMORY_MODEL_TLB_H
#define MEMORY_MODEL_TLB_H

#include <stdbool.h>
#include <stdint.h>

/* The number of sets, entries / ways, is a power of two. */
struct tlb_geometry {
    uint32_t entries; /* at most TLB_ENTRIES_MAX (model_limits.h) */
    uint32_t ways;    /* 1 to TLB_WAYS_MAX */
};

/* An address space: a regime and, as far as it has them, its VMID and ASID. */
struct address_space {
    uint32_t regime; /* enum translation_regime, and the VMID above it */
    uint16_t asid;
};

struct tlb_entry {
    uint64_t page;     /* input address >> shift */
    uint64_t physical; /* address of the page's or block's first byte */
    uint64_t last_use;
    struct address_space space;
    uint8_t shift;  /* log2 of the bytes of the page or block */
    bool is_global; /* for all ASIDs */
    bool is_valid;
};

struct tlb {
    struct tlb_entry *entries;
    uint32_t sets;
    uint32_t ways;
    uint64_t uses;
    uint64_t shifts; /* bit N: an entry with shift N has been filled since the last tlb_clear() */
};

/* Makes an empty TLB of a valid geometry. Returns false if there is not enough memory.
 * tlb_destroy() must follow in both cases. */
bool tlb_create(struct tlb *tlb, const struct tlb_geometry *geometry);

/* Frees the memory. */
void tlb_destroy(struct tlb *tlb);

/* Returns the entry that translates an address, or NULL. This is a use of the entry. */
const struct tlb_entry *tlb_find(struct tlb *tlb, struct address_space space, uint64_t address);

/* Adds a translation. `entry` has page, physical, space, shift and is_global. */
void tlb_fill(struct tlb *tlb, const struct tlb_entry *entry);

/* Invalidates the entries whose regime has `value` in the bits of `mask`. */
void tlb_clear_regimes(struct tlb *tlb, uint32_t mask, uint32_t value);

/* Invalidates all entries. */
void tlb_clear(struct tlb *tlb);

#endif
