/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a partition that the manager controls (manager/manager.h). */
#ifndef MANAGER_STATE_H
#define MANAGER_STATE_H

#include <stdint.h>

/* Whether the manager has created the partition. */
enum partition_presence {
    PARTITION_PRESENT,
    PARTITION_ENDING, /* it becomes absent as soon as its memory is zeroed */
    PARTITION_ABSENT
};

/* An image in the manager's staging memory. */
struct staged_image {
    uint64_t physical;
    uint64_t bytes; /* 0: none */
    uint32_t checksum;
};

/* The manager's orders, as far as the partition has taken them. Only the boot VCPU's monitor writes
 * it. The manager's monitors map the page read-only, and read `answered` first (acquire), which is
 * written last (release). */
struct management {
    uint32_t answered;         /* number of the last order that was taken */
    int32_t result;            /* result of that order: enum manager_result */
    uint32_t presence;         /* enum partition_presence */
    uint32_t copied;           /* checksum of the part of the image that has been copied */
    struct staged_image image; /* loaded in place of the image of the description */
};

#endif
