/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's only translation: boot/mmu_boot.c builds it, and kernel/machine/arm64/mmu/mmu.c
 * changes it later.
 */
#ifndef ARCH_MMU_TRANSLATION_H
#define ARCH_MMU_TRANSLATION_H

#include <arch/translation_table.h>

/* Returns an empty translation with a full reserve. Called with the MMU off. */
struct translation *mmu_translation_init(void);

/* Returns the translation that mmu_translation_init() has made. The caller masks interrupts. */
struct translation *mmu_translation(void);

/* Called by entry.S with the MMU off, on the relocated image: maps the image and the devicetree's
 * header, and sets the translation registers, which take effect with SCTLR_EL1.M. Stops the core if
 * the image cannot be mapped, because nothing can be reported yet. */
void mmu_boot(uint64_t devicetree);

#endif
