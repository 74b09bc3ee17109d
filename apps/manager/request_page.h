/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The last page of the staging memory: requests of `./bulkhead partition` and the manager's answers
 * (tools/bulkhead/running/partitions.py).
 */
#ifndef APP_MANAGER_REQUEST_PAGE_H
#define APP_MANAGER_REQUEST_PAGE_H

#include "calls.h"
#include <stdint.h>

#define REQUEST_PAGE_MAGIC UINT64_C(0x32474e414d4b4c42) /* "BLKMANG2" */

/* A command besides those of enum order_command: image.offset is the address of a PCI function,
 * which the partition gets. */
#define REQUEST_GIVE 16u

struct request_page {
    uint64_t magic;   /* written by the manager when it serves requests */
    uint32_t request; /* changed by the tool, when all else of the request is written */
    uint32_t answer;  /* set to `request` when it is carried out */
    uint32_t command; /* enum order_command, or REQUEST_GIVE; any other: only the states are read */
    uint32_t partition;
    struct staged image;
    int32_t result;
    int32_t states[CALL_PARTITIONS_MAX]; /* enum partition_state; negative: there is no such
                                            partition */
    uint32_t
        images[CALL_PARTITIONS_MAX]; /* offset of the staged image that the partition loads, plus 1;
                                        0: none, or the partition has not taken the last order */
    int32_t results[CALL_PARTITIONS_MAX]; /* enum manager_result: of the last order, or why the
                                             partition failed or stays stopped */
    uint32_t errors[CALL_PARTITIONS_MAX]; /* number of the partition's errors */
};

#endif
