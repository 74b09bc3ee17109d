/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The translation and its first table pages, which lie inside the image and so are mapped by pages.
 * This file runs with the MMU off, unlike kernel/machine/arm64/mmu/mmu.c.
 */
#include <arch/mmu_translation.h>

/* The reserve suffices for an image and a devicetree that each cross a 2 MiB boundary, in different
 * GiB. */
static uint64_t tables[1 + TRANSLATION_RESERVE][TRANSLATION_TABLE_ENTRIES]
    __attribute__((aligned(4096)));

static struct translation kernel_translation;

struct translation *mmu_translation_init(void)
{
    translation_init(&kernel_translation, tables[0]);
    for (unsigned i = 1; i <= TRANSLATION_RESERVE; i++) {
        (void)translation_reserve_add(&kernel_translation, tables[i]);
    }
    return &kernel_translation;
}

struct translation *mmu_translation(void)
{
    return &kernel_translation;
}
