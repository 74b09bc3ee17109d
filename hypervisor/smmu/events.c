/* SPDX-License-Identifier: BSD-2-Clause */
/* The SMMU's event queue, from which monitors learn which function's DMA was refused. */
#include "gic/setup.h"
#include "smmu/registers.h"
#include "smmu/smmu.h"
#include <arch/device_access.h>

static const struct description_partition *owner_of(const struct description *system,
                                                    uint32_t stream)
{
    for (uint32_t i = 0; i < system->partition_count; i++) {
        const struct description_partition *partition = &system->partitions[i];

        for (uint32_t j = 0; j < smmu_confined(partition); j++) {
            if (partition->functions[j].address == stream) {
                return partition;
            }
        }
    }
    return NULL;
}

/* Returns the partition whose monitor removes the event from the queue: the owner of the function,
 * or, if no partition owns it, the first partition behind the SMMU. */
static const struct description_partition *remover_of(const struct description *system,
                                                      const struct description_partition *owner)
{
    uint32_t i = 0;

    if (owner != NULL) {
        return owner;
    }
    while (i < system->partition_count - 1 && smmu_confined(&system->partitions[i]) == 0) {
        i++;
    }
    return &system->partitions[i];
}

bool smmu_event(const struct partition *partition, struct smmu_event *event)
{
    const struct description *system = partition->system;
    const struct description_partition *asking = partition->described;
    const struct description_partition *owner, *remover;
    uintptr_t registers = (uintptr_t)system->board.smmu;
    const volatile uint64_t *record = (const volatile uint64_t *)(uintptr_t)partition->events;
    uint32_t written, next;

    if (record == NULL) {
        return false;
    }
    written = device_read32(registers + SMMU_EVENTQ_PROD);
    next = device_read32(registers + SMMU_EVENTQ_CONS);
    if ((written ^ next) % (2 * EVENTS) == 0) { /* index and wrap bit (3.5.1) */
        return false;
    }
    device_observe_memory(); /* the record is valid once PROD is past it */
    record += (size_t)(next % EVENTS) * EVENT_WORDS;
    *event = (struct smmu_event){.stream = EVENT_STREAM(record[0]),
                                 .type = EVENT_TYPE(record[0]),
                                 .address = record[2],
                                 .read = (record[1] & EVENT_READ) != 0};
    owner = owner_of(system, event->stream);
    remover = remover_of(system, owner);
    if (remover == asking) {
        device_observe_memory(); /* the record is read before its entry is freed */
        device_write32(registers + SMMU_EVENTQ_CONS,
                       (next + 1) % (2 * EVENTS) | (written & QUEUE_OVERFLOW));
    }
    /* The SMMU interrupts only when the queue becomes non-empty (3.18). So the interrupt is made
     * pending again, for the partition concerned. */
    gic_route(system, system->board.smmu_interrupt, description_boot_core(remover));
    return owner == asking;
}
