/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes away from the processors of a partition what stage 2 maps of its memory, and gives it back.
 * Each partition has two roots, with the same entries: the SMMU uses one, and only the other one,
 * which its processors use, is changed. Both functions change the valid bit of entries alone, so
 * nothing is ever mapped that the boot has not mapped. Any monitor may call them, at any time: a
 * guest whose memory is taken away enters its monitor at its next instruction, and goes on when it
 * is given back.
 */
#ifndef MEMORY_WITHDRAW_H
#define MEMORY_WITHDRAW_H

#include "hypervisor/description.h"
#include <stdbool.h>
#include <stdint.h>

/* `root`: of the processors of a partition. The caller invalidates TLB entries. */
void withdraw_memory(uint64_t *root, const struct description_partition *partition);
void withdraw_restore(uint64_t *root, const struct description_partition *partition);

/* Returns true if the partition's memory is taken away. */
bool withdraw_is_done(const uint64_t *root, const struct description_partition *partition);

#endif
