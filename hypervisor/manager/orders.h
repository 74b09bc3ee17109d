/* SPDX-License-Identifier: BSD-2-Clause */
/* The page of orders. Only the monitor of the manager's boot VCPU writes it. */
#ifndef MANAGER_ORDERS_H
#define MANAGER_ORDERS_H

#include "hypervisor/partition.h"

struct order {
    uint32_t number;  /* counts the orders to this partition; written last */
    uint32_t command; /* enum order_command */
    struct staged_image image;
};

/* A check of an image, between two calls. */
struct image_check {
    bool has_begun;
    uint32_t partition;
    struct staged_image image;
    uint64_t done;     /* bytes */
    uint32_t checksum; /* of them */
};

struct manager_orders {
    struct order orders[DESCRIPTION_PARTITIONS_MAX];
    const struct partition *partitions[DESCRIPTION_PARTITIONS_MAX];
    struct image_check check;
};

_Static_assert(sizeof(struct manager_orders) <= DESCRIPTION_PAGE_BYTES, "must fit one page");

#endif
