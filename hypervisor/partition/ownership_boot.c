/* SPDX-License-Identifier: BSD-2-Clause */
#include "partition/ownership.h"
#include "partition/ownership_state.h"

#include <string.h>

/* Gives a function that may be the partition's to its first owner. */
static void begin(struct partition *partition, uint32_t index)
{
    const struct description *system = partition->constant.system;
    uint32_t number = partition->constant.described->functions[index].movable;
    const struct description_movable *movable;

    if (number == 0) {
        return;
    }
    movable = &system->movables[number - 1];
    if (movable->owner == partition->constant.index) {
        return;
    }
    partition->functions.views[index].foreign = true;
    partition->functions.views[index].hidden = true;
    ownerships.interrupts[partition->constant.index][movable->interrupt / 32] &=
        ~(UINT32_C(1) << movable->interrupt % 32);
}

void ownership_boot(const struct description *system, struct partition *const *partitions,
                    const uint64_t stage2_roots[])
{
    for (uint32_t i = 0; i < system->movable_count; i++) {
        uint8_t owner = (uint8_t)system->movables[i].owner;

        ownerships.words[i] = holding_word((struct holding){OWNERSHIP_OWNED, owner, owner});
    }
    for (uint32_t i = 0; i < system->partition_count; i++) {
        ownerships.stage2[i] = stage2_roots[i];
        memcpy(ownerships.interrupts[i], system->partitions[i].interrupts,
               sizeof(ownerships.interrupts[i]));
        partitions[i]->constant.interrupts = ownerships.interrupts[i];
        for (uint32_t j = 0; j < system->partitions[i].function_count; j++) {
            begin(partitions[i], j);
        }
    }
}
