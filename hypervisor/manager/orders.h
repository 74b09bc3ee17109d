/* SPDX-License-Identifier: BSD-2-Clause */
/* The page of orders. Only the monitor of the manager's boot VCPU writes it. */
#ifndef MANAGER_ORDERS_H
#define MANAGER_ORDERS_H

#include "hypervisor/partition.h"

/* The last order to a partition. */
struct order {
    uint32_t number;  /* number of orders to this partition so far; written last */
    uint32_t command; /* enum order_command */
    struct staged_image image;
};

/* The state of an image's check between two calls. */
struct image_check {
    bool has_begun;
    uint32_t partition;
    struct staged_image image;
    uint64_t done;     /* number of bytes that were checked */
    uint32_t checksum; /* CRC-32 of these bytes */
};

struct manager_orders {
    struct order orders[DESCRIPTION_PARTITIONS_MAX];
    const struct partition *partitions[DESCRIPTION_PARTITIONS_MAX];
    struct image_check check;
};

_Static_assert(sizeof(struct manager_orders) <= DESCRIPTION_PAGE_BYTES, "must fit one page");

#endif
