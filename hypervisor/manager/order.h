/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules for orders: what is refused in which state of the partition. */
#ifndef MANAGER_ORDER_H
#define MANAGER_ORDER_H

#include "hypervisor/partition.h"
#include <arch/hypercalls.h>
#include <stdbool.h>

/* The state of a partition that decides whether it accepts an order. */
struct situation {
    uint32_t presence;
    uint32_t request; /* enum partition_request */
    bool is_in_transition;
    bool may_start; /* its system file allows another start */
};

/* Returns the state that the manager sees. */
enum partition_state order_state(const struct situation *situation);

/* Returns MANAGER_DONE if the order is to be carried out, or the reason of a refusal. */
enum manager_result order_judge(uint32_t command, const struct situation *situation);

#endif
