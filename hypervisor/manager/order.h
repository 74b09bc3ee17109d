/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules for orders: which order a partition refuses in which state. */
#ifndef MANAGER_ORDER_H
#define MANAGER_ORDER_H

#include "hypervisor/partition.h"
#include <arch/hypercalls.h>
#include <stdbool.h>

/* The state of a partition that decides whether it accepts an order. */
struct situation {
    uint32_t presence;     /* enum partition_presence */
    uint32_t request;      /* enum partition_request */
    bool is_in_transition; /* the partition starts or stops */
    bool is_halted;        /* the core of its boot VCPU has halted: it carries out no order */
    bool may_start;        /* the system file permits another start */
};

/* Returns the partition's state for the manager. */
enum partition_state order_state(const struct situation *situation);

/* Returns MANAGER_DONE if the partition accepts the order, otherwise the reason of the refusal.
 * `command`: enum order_command; any other value is MANAGER_INVALID. */
enum manager_result order_judge(uint32_t command, const struct situation *situation);

#endif
