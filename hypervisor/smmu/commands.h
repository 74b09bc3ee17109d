/* SPDX-License-Identifier: BSD-2-Clause */
/* The command queue (IHI 0070, 3.5 and chapter 4): the board has one, which one core uses at a
 * time. */
#ifndef SMMU_COMMANDS_H
#define SMMU_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>

struct smmu_command {
    uint64_t first, second;
};

/*
 * Appends the commands to the queue in the page at `queue` and waits until the SMMU has consumed
 * them. `count`: less than COMMANDS; the last one is a CMD_SYNC, so that all have completed when
 * the function returns true. Returns false if the SMMU stops at an error or does not answer: then
 * every later call fails as well. The caller holds the lock, or no other monitor runs yet.
 */
bool smmu_run(uintptr_t registers, uint64_t queue, const struct smmu_command commands[],
              uint32_t count);

/* Polls a register until its bits of `mask` are those of `value`. Returns false if that takes
 * longer than about a second. */
bool smmu_wait(uintptr_t address, uint32_t mask, uint32_t value);

#endif
