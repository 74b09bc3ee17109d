/* SPDX-License-Identifier: BSD-2-Clause */
/* Digests of the pages of memory that must not change. */
#ifndef SCRUB_DIGESTS_H
#define SCRUB_DIGESTS_H

#include "kernel/scrub.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCRUB_PAGE_BYTES ((size_t)4096)

/* Ranges, each cut into pages from its start. Its last page may be shorter. */
struct scrub_digests {
    struct scrub_range ranges[SCRUB_RANGES_MAX + 1];
    size_t range_count;
    size_t page_count;
    uint64_t *digests; /* of the pages, in the order of the ranges */
};

/* Adds a range. Returns false if there are too many, or if the start or the size is no multiple of
 * 8. Before scrub_digests_make(). */
bool scrub_digests_add(struct scrub_digests *digests, const struct scrub_range *range);

/* Makes the digests of all pages. `memory`: page_count words, which stay the owner's. */
void scrub_digests_make(struct scrub_digests *digests, uint64_t *memory);

/* Returns the address of page `number`, < page_count, if it has changed since; NULL if not. */
const void *scrub_digests_changed(const struct scrub_digests *digests, size_t number);

#endif
