/* SPDX-License-Identifier: BSD-2-Clause */
#include "smmu/commands.h"

#include "smmu/registers.h"
#include <arch/device_access.h>
#include <stddef.h>

/* Polls of a register during boot, after which the SMMU counts as not responding. Each poll takes
 * tens of nanoseconds at least. */
#define POLLS_MAX 10000000u

/* Mask of an index, which has one bit more than the number of entries needs: the wrap bit
 * (3.5.1). */
#define INDEX_MASK (2 * COMMANDS - 1)

bool smmu_wait(uintptr_t address, uint32_t mask, uint32_t value)
{
    for (uint32_t i = 0; i < POLLS_MAX; i++) {
        if ((device_read32(address) & mask) == value) {
            return true;
        }
    }
    return false;
}

bool smmu_submit(uintptr_t registers, uint64_t queue, const struct smmu_command commands[],
                 uint32_t count, uint32_t *end)
{
    volatile uint64_t *words = (volatile uint64_t *)(uintptr_t)queue;
    uint32_t next = device_read32(registers + SMMU_CMDQ_PROD) & INDEX_MASK;

    /* CONS equals PROD, because the queue is empty, unless the SMMU has stopped at an error
     * (4.2). */
    if (device_read32(registers + SMMU_CMDQ_CONS) != next) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        size_t at = (size_t)(next % COMMANDS) * COMMAND_WORDS;

        words[at] = commands[i].first;
        words[at + 1] = commands[i].second;
        next = (next + 1) & INDEX_MASK;
    }
    device_publish();
    device_write32(registers + SMMU_CMDQ_PROD, next);
    *end = next;
    return true;
}

bool smmu_has_consumed(uintptr_t registers, uint32_t end)
{
    return device_read32(registers + SMMU_CMDQ_CONS) == end;
}

bool smmu_run(uintptr_t registers, uint64_t queue, const struct smmu_command commands[],
              uint32_t count)
{
    uint32_t end;

    return smmu_submit(registers, queue, commands, count, &end) &&
           smmu_wait(registers + SMMU_CMDQ_CONS, UINT32_MAX, end);
}
