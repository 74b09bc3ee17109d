/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the seeds for random numbers in a flattened devicetree (Devicetree Specification 0.4, 5).
 */
#ifndef HYPERVISOR_LOADER_TREE_H
#define HYPERVISOR_LOADER_TREE_H

#include <stdint.h>

/* A seed in a devicetree: whole words, the last of which may have bytes of padding, which are 0. */
struct loader_seed {
    uintptr_t address;
    uint32_t bytes; /* without the padding */
};

/* Returns the size of the devicetree at the address, 0 if none is there, or none of at most `room`
 * bytes. `room`: at least LOADER_TREE_HEADER. */
#define LOADER_TREE_HEADER 40u
uint64_t loader_tree_bytes(uintptr_t tree, uint64_t room);

/* Finds `rng-seed` and `kaslr-seed` of /chosen. Returns the number of seeds found, 0 to 2. The tree
 * is not trusted: nothing outside of its `bytes` is read. All accesses are aligned. */
#define LOADER_SEEDS_MAX 2u
unsigned loader_tree_seeds(uintptr_t start, uint64_t bytes,
                           struct loader_seed seeds[LOADER_SEEDS_MAX]);

#endif
