/* SPDX-License-Identifier: BSD-2-Clause */
/* The hypervisor's calls for the manager of a system (docs/hypercalls.md). Thread context, on the
 * partition's first core. */
#ifndef APP_MANAGER_CALLS_H
#define APP_MANAGER_CALLS_H

#include <arch/health.h>
#include <arch/hypercalls.h>
#include <stdbool.h>
#include <stdint.h>

/* A result besides those of enum manager_result. */
#define RESULT_NOT_REACHED (-100) /* the partition is not in the state that the command is for */

/* An image in the staging memory. */
struct staged {
    uint32_t bytes;
    uint32_t offset; /* from the start of staging; whole pages */
    uint32_t checksum;
};

/* The state of a partition. */
struct partition_situation {
    int64_t state;   /* enum partition_state, or a negative result */
    int64_t result;  /* enum manager_result: of the last order, or why it failed or stays stopped */
    uint64_t errors; /* number of its errors */
};

struct partition_situation partition_status(uint32_t partition);

/* Copies the first record of the partition's log whose number is `from` or larger. Returns false if
 * there is none. */
bool partition_log(uint32_t partition, uint64_t from, struct health_record *record);

/* Returns the offset in the staging memory of the image that the partition loads in place of its
 * own, plus 1; 0 if it loads its own, or has not taken the last order. */
uint32_t partition_image(uint32_t partition);

/* Gives the order, and waits until the partition has carried it out, five seconds at most. `image`:
 * for ORDER_REPLACE. Returns 0, or a negative result. */
int64_t partition_order(enum order_command command, uint32_t partition, const struct staged *image);

/* Moves a PCI function, bus << 8 | device << 3 | function, to the partition, and waits until its
 * owner has given it up, five seconds at most. Returns 0, or a negative result. */
int64_t device_give(uint32_t function, uint32_t partition);

#endif
