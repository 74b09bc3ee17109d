/* SPDX-License-Identifier: BSD-2-Clause */
/* The SMMU's event queue. Monitors read from it which function's DMA was refused. `paused_since` is
 * written while the lock is held, so that it agrees with the enable in the Distributor. */
#include "gic/setup.h"
#include "hypervisor/ticket_lock.h"
#include "smmu/registers.h"
#include "smmu/smmu.h"
#include <arch/device_access.h>

static struct ticket_lock queue_lock __attribute__((section(".bss.monitor_shared")));

/* CNTPCT_EL0 when the queue's interrupt was disabled; 0: it is enabled. */
static uint64_t paused_since __attribute__((section(".bss.monitor_shared")));

/* Returns the index of the partition that owns the function with this stream, or
 * DESCRIPTION_NO_PARTITION. */
static uint32_t partition_of_stream(const struct description *system, uint32_t stream)
{
    for (uint32_t i = 0; i < system->partition_count; i++) {
        const struct description_partition *partition = &system->partitions[i];

        for (uint32_t j = 0; j < smmu_confined(partition); j++) {
            if (partition->functions[j].address == stream) {
                return i;
            }
        }
    }
    return DESCRIPTION_NO_PARTITION;
}

/* Returns true if both indices are equal, wrap bits included (3.5.1). */
static bool is_empty(uint32_t written, uint32_t next)
{
    return (written ^ next) % (2 * EVENTS) == 0;
}

/* Removes the oldest event. Returns false if the queue is empty. The caller holds the lock. */
static bool remove_oldest(const struct partition *partition, struct smmu_event *event)
{
    uintptr_t registers = (uintptr_t)partition->constant.system->board.smmu;
    const volatile uint64_t *record =
        (const volatile uint64_t *)(uintptr_t)partition->constant.smmu.events;
    uint32_t written = device_read32(registers + SMMU_EVENTQ_PROD);
    uint32_t next = device_read32(registers + SMMU_EVENTQ_CONS);

    if (is_empty(written, next)) {
        return false;
    }
    device_observe_memory(); /* the record is read after PROD, which says that it is valid */
    record += (size_t)(next % EVENTS) * EVENT_WORDS;
    *event = (struct smmu_event){.stream = EVENT_STREAM(record[0]),
                                 .type = EVENT_TYPE(record[0]),
                                 .address = record[2],
                                 .read = (record[1] & EVENT_READ) != 0};
    device_observe_memory(); /* the record is read before CONS frees its entry */
    next = (next + 1) % (2 * EVENTS) | (written & QUEUE_OVERFLOW);
    device_write32(registers + SMMU_EVENTQ_CONS, next);
    return true;
}

bool smmu_event(const struct partition *partition, struct smmu_event *event)
{
    bool has_event;

    if (partition->constant.smmu.events == 0) {
        return false;
    }
    ticket_lock_take(&queue_lock, TICKET_LOCK_PATIENCE);
    has_event = remove_oldest(partition, event);
    ticket_lock_give(&queue_lock);
    if (has_event) {
        event->partition = partition_of_stream(partition->constant.system, event->stream);
    }
    return has_event;
}

/* Returns true if the queue has events. A partition without access to the queue has to assume so.
 */
static bool may_have_events(const struct partition *partition)
{
    uintptr_t registers = (uintptr_t)partition->constant.system->board.smmu;

    return partition->constant.smmu.events == 0 ||
           !is_empty(device_read32(registers + SMMU_EVENTQ_PROD),
                     device_read32(registers + SMMU_EVENTQ_CONS));
}

void smmu_pause_events(const struct partition *partition, uint64_t now)
{
    const struct description *system = partition->constant.system;

    ticket_lock_take(&queue_lock, TICKET_LOCK_PATIENCE);
    gic_mask(system, system->board.smmu_interrupt);
    __atomic_store_n(&paused_since, now | 1, __ATOMIC_RELAXED);
    ticket_lock_give(&queue_lock);
}

void smmu_resume_events(const struct partition *partition)
{
    const struct description *system = partition->constant.system;

    ticket_lock_take(&queue_lock, TICKET_LOCK_PATIENCE);
    if (paused_since != 0) {
        __atomic_store_n(&paused_since, 0, __ATOMIC_RELAXED);
        gic_unmask(system, system->board.smmu_interrupt);
        /* The SMMU signals its interrupt only when the queue becomes non-empty (3.18). */
        if (may_have_events(partition)) {
            gic_make_pending(system, system->board.smmu_interrupt);
        }
    }
    ticket_lock_give(&queue_lock);
}

uint64_t smmu_paused_since(void)
{
    return __atomic_load_n(&paused_since, __ATOMIC_RELAXED);
}
