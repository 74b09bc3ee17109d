/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Withdraws a partition's memory from its processors, and gives it back. Each partition has two
 * roots of stage 2 with the same entries. The SMMU uses one of them, which never changes after
 * boot. The processors use the other one, which is changed here. Only the valid bit of entries
 * changes, so nothing is ever mapped that the boot has not mapped. Any monitor may call these
 * functions at any time: a guest whose memory is withdrawn enters its monitor at its next
 * instruction, and continues after the memory is given back (docs/decisions/0039).
 */
#ifndef MEMORY_WITHDRAW_H
#define MEMORY_WITHDRAW_H

#include "hypervisor/description.h"
#include "memory/tables.h"
#include <stdbool.h>
#include <stdint.h>

/* Withdraws the partition's memory if `valid` is 0, or gives it back if `valid` is TABLES_VALID.
 * `root`: the root of the partition's processors. The caller orders memory accesses and invalidates
 * TLB entries. Any core. */
void withdraw_set(uint64_t *root, const struct description_partition *partition, uint64_t valid);

/* Returns true if the partition's memory is withdrawn. Any core. */
bool withdraw_is_done(const uint64_t *root, const struct description_partition *partition);

#endif
