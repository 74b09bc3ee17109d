/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one translation of this kernel: what boot/mmu_boot.c builds and mmu.c then owns.
 */
#ifndef MMU_H
#define MMU_H

#include "mmu/translation_table.h"

/* With the MMU off: an empty translation with its whole reserve. */
struct translation *mmu_translation_init(void);

/* The same, at any time later. The caller masks interrupts. */
struct translation *mmu_translation(void);

/* Called by entry.S with the MMU off, on the relocated image: maps the image and the devicetree's
 * header, and fills the registers that SCTLR_EL1.M puts to use. Stops the core if the image cannot
 * be mapped: there is no way yet to say so. */
void mmu_boot(uint64_t devicetree);

#endif
