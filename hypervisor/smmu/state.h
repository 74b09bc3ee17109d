/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a partition's DMA: its access to the memory that the SMMU reads and writes, and the
 * progress of a change of its stream table entries (smmu/smmu.h). */
#ifndef SMMU_STATE_H
#define SMMU_STATE_H

#include <stdbool.h>
#include <stdint.h>

/* Physical addresses of the SMMU's memory. Constant after boot. */
struct smmu_access {
    uint64_t events;   /* page of the event queue; 0 if the monitors may not read events */
    uint64_t commands; /* page of the command queue; 0 if the partition has no streams */
    uint64_t streams;  /* stream table; 0 if the partition has no streams */
};

/* A change of the partition's stream table entries, which the SMMU executes. Only the boot VCPU's
 * monitor uses it. All zero: no change has begun. */
struct smmu_change {
    bool has_begun;
    uint32_t end; /* index in the command queue after the change's last command */
};

#endif
