/* SPDX-License-Identifier: BSD-2-Clause */
#include "scrub/digests.h"

#define WORD_BYTES   sizeof(uint64_t)
#define DIGEST_START UINT64_C(0x2545f4914f6cdd1d)

static size_t pages_of(const struct scrub_range *range)
{
    return (range->bytes + SCRUB_PAGE_BYTES - 1) / SCRUB_PAGE_BYTES;
}

/* Both steps are bijective for each word, so that a change within one word changes the digest. */
static uint64_t digest_of(const uint64_t *words, size_t bytes)
{
    uint64_t digest = DIGEST_START;

    for (size_t i = 0; i < bytes / WORD_BYTES; i++) {
        digest = (digest ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15); /* odd */
        digest ^= digest >> 32;
    }
    return digest;
}

/* Returns a page, by its number. */
static struct scrub_range page_at(const struct scrub_digests *digests, size_t number)
{
    const struct scrub_range *range = digests->ranges;
    size_t offset, left;

    while (number >= pages_of(range)) {
        number -= pages_of(range);
        range++;
    }
    offset = number * SCRUB_PAGE_BYTES;
    left = range->bytes - offset;
    return (struct scrub_range){(const uint8_t *)range->start + offset,
                                left < SCRUB_PAGE_BYTES ? left : SCRUB_PAGE_BYTES};
}

bool scrub_digests_add(struct scrub_digests *digests, const struct scrub_range *range)
{
    if (digests->range_count == SCRUB_RANGES_MAX + 1 || (uintptr_t)range->start % WORD_BYTES != 0 ||
        range->bytes % WORD_BYTES != 0) {
        return false;
    }
    digests->ranges[digests->range_count++] = *range;
    digests->page_count += pages_of(range);
    return true;
}

void scrub_digests_make(struct scrub_digests *digests, uint64_t *memory)
{
    digests->digests = memory;
    for (size_t i = 0; i < digests->page_count; i++) {
        struct scrub_range page = page_at(digests, i);

        memory[i] = digest_of(page.start, page.bytes);
    }
}

const void *scrub_digests_changed(const struct scrub_digests *digests, size_t number)
{
    struct scrub_range page = page_at(digests, number);

    return digest_of(page.start, page.bytes) == digests->digests[number] ? NULL : page.start;
}
