/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes the stream table entries of a partition when it starts or stops. */
#include "hypervisor/ticket_lock.h"
#include "smmu/commands.h"
#include "smmu/registers.h"
#include "smmu/smmu.h"
#include <arch/device_access.h>
#include <stddef.h>

/* Polls of the lock before it is taken from a core that has stopped for ever: more than all other
 * monitors' commands take, even if the SMMU does not answer. */
#define PATIENCE (UINT64_C(1) << 33)

/* An invalidation for each function, one for the VMID, CMD_SYNC. */
#define COMMANDS_USED (DESCRIPTION_FUNCTIONS_MAX + 2u)
_Static_assert(COMMANDS_USED < COMMANDS, "the queue never gets full");

static struct ticket_lock lock __attribute__((section(".bss.monitor_shared")));

/*
 * Changes the first word of the partition's entries, and waits until the SMMU uses the new content.
 * An entry stays consistent if only its first word changes, and once CMD_SYNC has completed
 * CMD_CFGI_STE, the old content is no longer used (IHI 0070, 3.21.3). CMD_TLBI_S12_VMALL is there
 * because accesses that were translated before are then complete, too (3.21.1).
 */
static bool set_entries(const struct partition *partition, uint64_t config)
{
    const struct description_partition *described = partition->described;
    uint64_t *table = (uint64_t *)(uintptr_t)partition->streams;
    struct smmu_command commands[COMMANDS_USED];
    uint32_t functions = smmu_streams(partition->system, described), count = 0;

    for (; count < functions; count++) {
        uint32_t stream = described->functions[count].address;

        __atomic_store_n(&table[(size_t)stream * STE_WORDS], STE_VALID | config, __ATOMIC_RELAXED);
        commands[count].first = COMMAND_CFGI_STE | COMMAND_STREAM(stream);
        commands[count].second = COMMAND_CFGI_LEAF;
    }
    commands[count].first = COMMAND_TLBI_VMID | COMMAND_VMID(partition->index + 1);
    commands[count++].second = 0;
    commands[count].first = COMMAND_SYNC;
    commands[count++].second = 0;
    device_publish();
    return smmu_run((uintptr_t)partition->system->board.smmu, partition->commands, commands, count);
}

static bool change_entries(const struct partition *partition, uint64_t config)
{
    bool done = true;

    if (smmu_streams(partition->system, partition->described) != 0) {
        ticket_lock_take(&lock, PATIENCE);
        done = set_entries(partition, config);
        ticket_lock_give(&lock);
    }
    return done;
}

bool smmu_block_dma(const struct partition *partition)
{
    return change_entries(partition, 0);
}

bool smmu_permit_dma(const struct partition *partition)
{
    return change_entries(partition,
                          smmu_confined(partition->described) != 0 ? STE_STAGE2 : STE_BYPASS);
}
