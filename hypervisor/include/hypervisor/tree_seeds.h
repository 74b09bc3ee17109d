/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The properties of a guest's devicetree that have its seeds for random numbers. The tools write
 * them into /chosen, and the hypervisor fills in the values at each start, or replaces both
 * properties by FDT_NOP (Devicetree Specification 0.4, 5.4.1) if it has no random numbers.
 */
#ifndef HYPERVISOR_TREE_SEEDS_H
#define HYPERVISOR_TREE_SEEDS_H

#include <stdint.h>

#define TREE_KASLR_WORDS 2u
#define TREE_RNG_WORDS   8u

/* Token, size of the value and offset of the name (FDT_PROP). The tools have written them. */
struct tree_property {
    uint32_t token, bytes, name;
};

struct tree_seeds {
    struct tree_property kaslr_property;
    uint32_t kaslr[TREE_KASLR_WORDS]; /* `kaslr-seed`: where Linux maps itself */
    struct tree_property rng_property;
    uint32_t rng[TREE_RNG_WORDS]; /* `rng-seed` */
};

#endif
