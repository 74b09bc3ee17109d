/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes away from the processors of a partition what stage 2 maps of its memory, and gives it back.
 * Each partition has two roots, with the same entries: the SMMU uses one, and only the other one,
 * which its processors use, is changed. The valid bit of entries alone is changed, so nothing is
 * ever mapped that the boot has not mapped. Any monitor may do that, at any time: a guest whose
 * memory is taken away enters its monitor at its next instruction, and goes on when it is given
 * back.
 */
#ifndef MEMORY_WITHDRAW_H
#define MEMORY_WITHDRAW_H

#include "hypervisor/description.h"
#include "memory/tables.h"
#include <stdbool.h>
#include <stdint.h>

/* Takes the memory away, with `valid` 0, or gives it back, with TABLES_VALID. `root`: of the
 * processors of a partition. The caller orders memory accesses and invalidates TLB entries. */
void withdraw_set(uint64_t *root, const struct description_partition *partition, uint64_t valid);

/* Returns true if the partition's memory is taken away. */
bool withdraw_is_done(const uint64_t *root, const struct description_partition *partition);

#endif
