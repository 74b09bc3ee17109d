/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules for orders: what is refused in which state of the partition. */
#ifndef MANAGER_ORDER_H
#define MANAGER_ORDER_H

#include "hypervisor/partition.h"
#include <stdbool.h>

/* Calls and programs know these three enumerations by number: append only. */
enum order_command { ORDER_CREATE, ORDER_START, ORDER_STOP, ORDER_REPLACE, ORDER_DESTROY };

enum partition_state { STATE_ABSENT, STATE_STOPPED, STATE_RUNNING, STATE_BUSY };

enum manager_result {
    MANAGER_AGAIN = 1, /* the image is checked in steps: make the same call again */
    MANAGER_DONE = 0,
    MANAGER_NOT_SUPPORTED = -1, /* the caller is not the boot VCPU of the manager */
    MANAGER_INVALID = -2,       /* no such partition, or the manager itself */
    MANAGER_BUSY = -3,          /* the partition starts, stops, or has not taken the last order */
    MANAGER_WRONG_STATE = -4,
    MANAGER_NEVER_RESTARTS = -5, /* restart = "never", and it has been started before */
    MANAGER_BAD_IMAGE = -6,      /* no arm64 Image, or not one for the partition's entry */
    MANAGER_TOO_LARGE = -7,      /* outside staging, or larger than the partition's room */
    MANAGER_DAMAGED = -8,        /* another checksum than that of the call */
    MANAGER_CHANGED = -9,        /* the image was changed in staging after its check */
};

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
