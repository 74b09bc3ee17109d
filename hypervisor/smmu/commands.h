/* SPDX-License-Identifier: BSD-2-Clause */
/* The SMMU's command queue (IHI 0070, 3.5 and chapter 4). The board has one queue, which one core
 * uses at a time. */
#ifndef SMMU_COMMANDS_H
#define SMMU_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>

/* A command: two doublewords. */
struct smmu_command {
    uint64_t first, second;
};

/*
 * Appends commands to the queue. `registers`: address of the SMMU. `queue`: address of the queue's
 * page. `count`: less than COMMANDS; the last command is CMD_SYNC. Sets *end for
 * smmu_has_consumed(). Returns false, and appends nothing, if the SMMU has stopped at an error or
 * has not consumed earlier commands. No other monitor may use the queue meanwhile.
 */
bool smmu_submit(uintptr_t registers, uint64_t queue, const struct smmu_command commands[],
                 uint32_t count, uint32_t *end);

/* Returns true if the SMMU has consumed all commands before index `end`. The last one is CMD_SYNC,
 * so all have completed then. */
bool smmu_has_consumed(uintptr_t registers, uint32_t end);

/* Appends commands, and waits until they have completed. Returns false if the SMMU stops at an
 * error or does not respond. Boot, while no monitor runs. */
bool smmu_run(uintptr_t registers, uint64_t queue, const struct smmu_command commands[],
              uint32_t count);

/* Polls the register at `address` until its bits in `mask` equal `value`. Returns false if that
 * takes longer than about a second. Boot. */
bool smmu_wait(uintptr_t address, uint32_t mask, uint32_t value);

#endif
