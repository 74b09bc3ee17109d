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
 * Appends the commands to the queue in the page at `queue`. `count`: less than COMMANDS; the last
 * one is a CMD_SYNC. *end is for smmu_has_consumed(). Returns false if the SMMU has stopped at an
 * error, or has not consumed earlier commands. No other monitor uses the queue meanwhile.
 */
bool smmu_submit(uintptr_t registers, uint64_t queue, const struct smmu_command commands[],
                 uint32_t count, uint32_t *end);

/* Returns true if the SMMU has consumed all commands up to `end`. Because the last one is a
 * CMD_SYNC, all have completed then. */
bool smmu_has_consumed(uintptr_t registers, uint32_t end);

/* Boot, while no monitor runs. Appends the commands, and waits until they have completed. Returns
 * false if the SMMU stops at an error or does not answer. */
bool smmu_run(uintptr_t registers, uint64_t queue, const struct smmu_command commands[],
              uint32_t count);

/* Boot. Polls a register until its bits of `mask` are those of `value`. Returns false if that takes
 * longer than about a second. */
bool smmu_wait(uintptr_t address, uint32_t mask, uint32_t value);

#endif
