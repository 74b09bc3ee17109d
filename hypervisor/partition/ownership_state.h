/* SPDX-License-Identifier: BSD-2-Clause */
/* The states of movable functions, for the files of this folder. All monitors map them. */
#ifndef PARTITION_OWNERSHIP_STATE_H
#define PARTITION_OWNERSHIP_STATE_H

#include "hypervisor/description.h"
#include "partition/state.h"
#include <stdint.h>

enum ownership { OWNERSHIP_OWNED, OWNERSHIP_LEAVING, OWNERSHIP_ARRIVING, OWNERSHIP_QUARANTINED };

/* Holder and goal of a function, partitions by their index, and its state, in one word, so that
 * they change at once. Without a goal, `goal` is the holder. */
struct holding {
    uint8_t state; /* enum ownership */
    uint8_t holder;
    uint8_t goal;
};

/* `words`, `moves`, `adopted`, `all_moves` and `executing` are accessed by the monitors of all
 * partitions, by atomic operations. */
struct ownerships {
    /* By partition: the root of the stage 2 that the SMMU uses, constant after boot. Changed by its
     * own monitors: the SPIs that it has, the progress of a function that leaves it, and 1 + the
     * index of the function whose stream table entry is being changed, or 0. */
    uint64_t stage2[DESCRIPTION_PARTITIONS_MAX];
    uint32_t interrupts[DESCRIPTION_PARTITIONS_MAX][DESCRIPTION_SPI_WORDS];
    struct departure departures[DESCRIPTION_PARTITIONS_MAX];
    uint32_t changing[DESCRIPTION_PARTITIONS_MAX];
    uint32_t words[DESCRIPTION_MOVABLES_MAX]; /* struct holding, as holding_word() packs it */
    /* Moves of each function, and those at which an owner adopted it last (CALL_DEVICE_STATE).
     * Written by its holder. */
    uint32_t moves[DESCRIPTION_MOVABLES_MAX];
    uint32_t adopted[DESCRIPTION_MOVABLES_MAX];
    uint32_t all_moves;
    uint32_t executing; /* bit n: partition n executes */
};

extern struct ownerships ownerships;

static inline uint32_t holding_word(struct holding holding)
{
    return holding.state | (uint32_t)holding.holder << 8 | (uint32_t)holding.goal << 16;
}

static inline struct holding holding_of(uint32_t word)
{
    return (struct holding){(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16)};
}

#endif
