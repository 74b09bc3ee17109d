/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine's sources of entropy, which the boot core collects in one generator. From this one
 * the generators of all partitions and VCPUs are derived, and then it is overwritten
 * (docs/decisions/0070). */
#ifndef HYPERVISOR_SOURCES_H
#define HYPERVISOR_SOURCES_H

#include "entropy/state.h"
#include "hypervisor/description.h"

/* Takes the seeds for random numbers out of the devicetree that the loader has passed, and
 * overwrites them there. `devicetree`: its address, or whatever X0 had at the entry of the image;
 * it is read only if it is an address in board.memory, and looks like a devicetree. Called with the
 * MMU off, before anything is written behind the payload, where the devicetree may be. */
void sources_read_loader_tree(const struct description_board *board, uint64_t devicetree);

/* Collects these seeds, and entropy of the firmware and of the processor. Prints a line if it is
 * too little. Called once, with the MMU on. */
void sources_collect(void);

/* Seeds a generator. Called after sources_collect(). */
void sources_derive(struct generator *generator);

/* Overwrites what was collected, and the loader's seeds. Also with the MMU off. */
void sources_wipe(void);

#endif
