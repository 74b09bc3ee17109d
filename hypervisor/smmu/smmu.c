/* SPDX-License-Identifier: BSD-2-Clause */
#include "smmu/smmu.h"

#include "smmu/commands.h"
#include "smmu/registers.h"
#include <arch/device_access.h>
#include <stddef.h>

struct smmu {
    const struct description *system;
    struct page_pool *pool;
    uintptr_t registers;
};

static uint32_t read(const struct smmu *smmu, uint32_t at)
{
    return device_read32(smmu->registers + at);
}

static void write(const struct smmu *smmu, uint32_t at, uint32_t value)
{
    device_write32(smmu->registers + at, value);
}

static void write_base(const struct smmu *smmu, uint32_t at, uint64_t value)
{
    device_write64(smmu->registers + at, value | BASE_ALLOCATE);
}

static bool wait_for(const struct smmu *smmu, uint32_t at, uint32_t mask, uint32_t value)
{
    return smmu_wait(smmu->registers + at, mask, value);
}

/* Enables the parts of the SMMU, and disables all others. The SMMU acknowledges each change of CR0
 * (6.3.9). CR0_CHECK_ATS is not compared, because it stays 0 in an SMMU without ATS. */
static bool enable_only(const struct smmu *smmu, uint32_t parts)
{
    write(smmu, SMMU_CR0, parts != 0 ? parts | CR0_CHECK_ATS : 0);
    return wait_for(smmu, SMMU_CR0ACK, CR0_SMMU | CR0_EVENTS | CR0_COMMANDS, parts);
}

/* Returns NULL if the SMMU can be used, otherwise the reason why not. An SMMU that must stall
 * faults is refused, because stalled DMA waits for software to resume it (3.12.2). */
static const char *check_support(const struct smmu *smmu)
{
    uint32_t idr0 = read(smmu, SMMU_IDR0), idr1 = read(smmu, SMMU_IDR1);

    if (idr0 == 0 || idr0 == UINT32_MAX) {
        return "no SMMUv3 answers";
    }
    if ((idr0 & IDR0_NEEDED) != IDR0_NEEDED || (read(smmu, SMMU_IDR5) & IDR5_4KIB) == 0) {
        return "the SMMU lacks stage 2, 4 KiB pages or coherent accesses";
    }
    if ((idr0 & IDR0_STALL) == IDR0_STALL_FORCED || (idr1 & IDR1_PRESET) != 0 ||
        IDR1_COMMANDS(idr1) < COMMANDS_LOG2 || IDR1_EVENTS(idr1) < EVENTS_LOG2) {
        return "the SMMU stalls all faults, or its queues are fixed or too short";
    }
    return NULL;
}

/* Returns the number of bits of the largest stream ID with an entry. DMA of streams beyond the
 * table is aborted. */
static uint32_t stream_bits(const struct description *system)
{
    uint32_t streams = 0, bits = 0;

    for (uint32_t i = 0; i < system->partition_count; i++) {
        for (uint32_t j = 0; j < smmu_streams(system, &system->partitions[i]); j++) {
            streams |= system->partitions[i].functions[j].address;
        }
    }
    while (streams >> bits != 0) {
        bits++;
    }
    return bits;
}

static uint64_t table_bytes(uint32_t bits)
{
    return page_up(STE_WORDS * sizeof(uint64_t) << bits);
}

uint64_t smmu_room(const struct description *system)
{
    return system->board.smmu != 0 ? 2 * table_bytes(stream_bits(system)) : 0;
}

/* Allocates zeroed pages that are aligned to `bytes` (6.3.24). Returns NULL if the pool has too
 * few. */
static uint64_t *allocate_aligned(struct page_pool *pool, uint64_t bytes)
{
    uint64_t gap = -pool->next & (bytes - 1);

    if (page_pool_take(pool, gap / PAGE_BYTES) == 0) {
        return NULL;
    }
    return (uint64_t *)(uintptr_t)page_pool_take(pool, (bytes + PAGE_BYTES - 1) / PAGE_BYTES);
}

/* Returns true if the partition has the function at boot. */
static bool is_first_owner(const struct description *system,
                           const struct description_function *function, uint32_t partition)
{
    return function->movable == 0 || system->movables[function->movable - 1].owner == partition;
}

/* Fills in the stream table, so that DMA of every stream is aborted. streams.c changes the first
 * doubleword of an entry when its partition starts. Doublewords 1 to 3 are for stage 2. The SMMU
 * walks the tables as the processors do (hypervisor/registers.h). A fault is recorded, and the
 * access aborted. An entry that bypasses translation uses only the shareability in these
 * doublewords (IHI 0070, 5.2). */
static void fill_table(const struct smmu *smmu, uint64_t *table, uint32_t bits,
                       const uint64_t stage2_roots[])
{
    uint64_t size = IDR5_SIZE(read(smmu, SMMU_IDR5));

    size = size < IDR5_SIZE_48_BITS ? size : IDR5_SIZE_48_BITS;
    for (uint32_t i = 0; i < UINT32_C(1) << bits; i++) {
        table[(size_t)i * STE_WORDS] = STE_VALID;
    }
    for (uint32_t i = 0; i < smmu->system->partition_count; i++) {
        const struct description_partition *partition = &smmu->system->partitions[i];

        for (uint32_t j = 0; j < smmu_streams(smmu->system, partition); j++) {
            uint64_t *entry = &table[(size_t)partition->functions[j].address * STE_WORDS];

            if (!is_first_owner(smmu->system, &partition->functions[j], i)) {
                continue;
            }
            entry[1] = STE_SHARE_INCOMING;
            entry[2] = STE_VTCR | size << STE_SIZE_SHIFT | STE_AARCH64 | STE_RECORD | (i + 1);
            entry[3] = stage2_roots[i];
        }
    }
}

static const char *set_table(const struct smmu *smmu, const uint64_t stage2_roots[],
                             struct smmu_memory *memory)
{
    uint32_t bits = stream_bits(smmu->system);
    uint64_t *table;

    if (bits > IDR1_STREAM_BITS(read(smmu, SMMU_IDR1))) {
        return "a PCI function has a stream beyond the SMMU's limit";
    }
    table = allocate_aligned(smmu->pool, STE_WORDS * sizeof(*table) << bits);
    if (table == NULL) {
        return "no memory for the SMMU's stream table";
    }
    fill_table(smmu, table, bits, stage2_roots);
    write_base(smmu, SMMU_STRTAB_BASE, (uintptr_t)table);
    write(smmu, SMMU_STRTAB_BASE_CFG, bits); /* format: linear */
    memory->streams = (uintptr_t)table;
    memory->stream_bytes = table_bytes(bits);
    return NULL;
}

/* Invalidates configuration and translations that firmware has left in the SMMU's caches (4.3.3,
 * 4.4.4.1, 4.7.3). */
static bool invalidate_caches(const struct smmu *smmu, uint64_t commands)
{
    static const struct smmu_command everything[] = {
        {COMMAND_CFGI_ALL, COMMAND_CFGI_RANGE}, {COMMAND_TLBI_ALL, 0}, {COMMAND_SYNC, 0}};

    return smmu_run(smmu->registers, commands, everything, 3);
}

/* Stops the SMMU and its interrupts. All DMA is aborted from then on, until start() has enabled the
 * SMMU. */
static bool stop(const struct smmu *smmu)
{
    if (!wait_for(smmu, SMMU_GBPA, GBPA_UPDATE, 0)) {
        return false;
    }
    write(smmu, SMMU_GBPA, GBPA_ABORT | GBPA_UPDATE);
    if (!wait_for(smmu, SMMU_GBPA, GBPA_UPDATE | GBPA_ABORT, GBPA_ABORT) || !enable_only(smmu, 0)) {
        return false;
    }
    write(smmu, SMMU_IRQ_CTRL, 0);
    return wait_for(smmu, SMMU_IRQ_CTRLACK, IRQ_CTRL_EVENTS, 0);
}

static bool start(const struct smmu *smmu, const struct smmu_memory *memory)
{
    write(smmu, SMMU_CR1, CR1_WRITE_BACK);
    write(smmu, SMMU_CR2, CR2_PRIVATE_TLB);
    write_base(smmu, SMMU_CMDQ_BASE, memory->commands | COMMANDS_LOG2);
    write(smmu, SMMU_CMDQ_PROD, 0);
    write(smmu, SMMU_CMDQ_CONS, 0);
    write_base(smmu, SMMU_EVENTQ_BASE, memory->events | EVENTS_LOG2);
    write(smmu, SMMU_EVENTQ_PROD, 0);
    write(smmu, SMMU_EVENTQ_CONS, 0);
    /* The interrupt is wired, not a message. */
    device_write64(smmu->registers + SMMU_EVENTQ_IRQ_CFG0, 0);
    if (!enable_only(smmu, CR0_COMMANDS) || !invalidate_caches(smmu, memory->commands) ||
        !enable_only(smmu, CR0_COMMANDS | CR0_EVENTS)) {
        return false;
    }
    write(smmu, SMMU_IRQ_CTRL, IRQ_CTRL_EVENTS);
    return wait_for(smmu, SMMU_IRQ_CTRLACK, IRQ_CTRL_EVENTS, IRQ_CTRL_EVENTS) &&
           enable_only(smmu, CR0_COMMANDS | CR0_EVENTS | CR0_SMMU);
}

const char *smmu_boot(const struct description *system, struct page_pool *pool,
                      const uint64_t stage2_roots[], struct smmu_memory *memory)
{
    struct smmu smmu = {system, pool, (uintptr_t)system->board.smmu};
    const char *failure;

    if (system->board.smmu == 0) {
        return NULL;
    }
    failure = check_support(&smmu);
    if (failure == NULL) {
        failure = stop(&smmu) ? set_table(&smmu, stage2_roots, memory) : "the SMMU does not stop";
    }
    if (failure == NULL && !start(&smmu, memory)) {
        failure = "the SMMU does not start";
    }
    return failure;
}
