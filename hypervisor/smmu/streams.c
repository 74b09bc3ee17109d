/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes the stream table entries of a partition when it starts or stops, and of functions that
 * move. */
#include "smmu/commands.h"
#include "smmu/registers.h"
#include "smmu/smmu.h"
#include <arch/device_access.h>
#include <stddef.h>

/* The commands of a change: an invalidation for each function, one for the VMID, and CMD_SYNC. */
#define COMMANDS_USED (DESCRIPTION_FUNCTIONS_MAX + 2u)
_Static_assert(COMMANDS_USED < COMMANDS, "the queue never gets full");

/* Index + 1 of the partition that uses the command queue; 0: no partition uses it. */
static uint32_t queue_user __attribute__((section(".bss.monitor_shared")));

/* The SMMU ignores these doublewords until the first one says that DMA is translated: it aborts DMA
 * now, and has dropped its copy of an older entry (IHI 0070, 5.2 and 3.21.3). */
void smmu_set_stage2(const struct partition *partition, uint32_t stream, uint64_t root)
{
    uint64_t *table = (uint64_t *)(uintptr_t)partition->constant.smmu.streams;
    uint64_t *entry = &table[(size_t)stream * STE_WORDS];
    uint64_t others = __atomic_load_n(&entry[2], __ATOMIC_RELAXED) & ~STE_VMID_MASK;

    __atomic_store_n(&entry[2], others | (partition->constant.index + 1), __ATOMIC_RELAXED);
    __atomic_store_n(&entry[3], root, __ATOMIC_RELAXED);
    device_publish();
}

/*
 * Changes the first doubleword of the entries of `functions`, and submits the commands after which
 * the SMMU uses the new content. An entry stays consistent if only its first doubleword changes.
 * After CMD_CFGI_STE and CMD_SYNC have completed, the SMMU no longer uses the old content (IHI
 * 0070, 3.21.3). CMD_TLBI_S12_VMALL is added, because accesses that were translated before have
 * then completed, too (3.21.1).
 */
static bool set_entries(const struct partition *partition, uint32_t functions, uint64_t config,
                        uint32_t *end)
{
    const struct description_partition *described = partition->constant.described;
    uint64_t *table = (uint64_t *)(uintptr_t)partition->constant.smmu.streams;
    struct smmu_command commands[COMMANDS_USED];
    uint32_t count = 0;

    for (uint32_t left = functions; left != 0; left &= left - 1) {
        uint32_t stream = described->functions[__builtin_ctz(left)].address;

        __atomic_store_n(&table[(size_t)stream * STE_WORDS], STE_VALID | config, __ATOMIC_RELAXED);
        commands[count].first = COMMAND_CFGI_STE | COMMAND_STREAM(stream);
        commands[count++].second = COMMAND_CFGI_LEAF;
    }
    commands[count].first = COMMAND_TLBI_VMID | COMMAND_VMID(partition->constant.index + 1);
    commands[count++].second = 0;
    commands[count].first = COMMAND_SYNC;
    commands[count++].second = 0;
    device_publish();
    return smmu_submit((uintptr_t)partition->constant.system->board.smmu,
                       partition->constant.smmu.commands, commands, count, end);
}

static bool acquire_queue(const struct partition *partition)
{
    uint32_t nobody = 0;

    return __atomic_compare_exchange_n(&queue_user, &nobody, partition->constant.index + 1, false,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Returns those of the functions that have a stream table entry, and that no other partition has
 * now: bit i for function i. */
static uint32_t with_streams(const struct partition *partition, uint32_t functions)
{
    uint32_t count = smmu_streams(partition->constant.system, partition->constant.described);

    for (uint32_t i = 0; i < count; i++) {
        functions &= ~((uint32_t)partition->functions.views[i].foreign << i);
    }
    return functions & ((UINT32_C(1) << count) - 1);
}

static enum step_outcome change_entries(const struct partition *partition, uint32_t functions,
                                        struct smmu_change *change, uint64_t config)
{
    functions = with_streams(partition, functions);
    if (functions == 0) {
        return STEP_DONE;
    }
    if (!change->has_begun) {
        if (!acquire_queue(partition)) {
            return STEP_PENDING;
        }
        if (!set_entries(partition, functions, config, &change->end)) {
            return STEP_FAILED;
        }
        change->has_begun = true;
    }
    return smmu_settle(partition, change);
}

enum step_outcome smmu_settle(const struct partition *partition, struct smmu_change *change)
{
    if (!change->has_begun) {
        return STEP_DONE;
    }
    if (!smmu_has_consumed((uintptr_t)partition->constant.system->board.smmu, change->end)) {
        return STEP_PENDING;
    }
    smmu_end_change(partition, change);
    return STEP_DONE;
}

enum step_outcome smmu_block_functions(const struct partition *partition, uint32_t functions,
                                       struct smmu_change *change)
{
    return change_entries(partition, functions, change, 0);
}

enum step_outcome smmu_permit_functions(const struct partition *partition, uint32_t functions,
                                        struct smmu_change *change)
{
    return change_entries(partition, functions, change,
                          smmu_confined(partition->constant.described) != 0 ? STE_STAGE2
                                                                            : STE_BYPASS);
}

enum step_outcome smmu_block_dma(const struct partition *partition, struct smmu_change *change)
{
    return smmu_block_functions(partition, SMMU_ALL_FUNCTIONS, change);
}

enum step_outcome smmu_permit_dma(const struct partition *partition, struct smmu_change *change)
{
    return smmu_permit_functions(partition, SMMU_ALL_FUNCTIONS, change);
}

void smmu_end_change(const struct partition *partition, struct smmu_change *change)
{
    uint32_t own = partition->constant.index + 1;

    change->has_begun = false;
    (void)__atomic_compare_exchange_n(&queue_user, &own, 0, false, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED);
}
