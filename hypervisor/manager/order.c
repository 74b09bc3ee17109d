/* SPDX-License-Identifier: BSD-2-Clause */
#include "manager/order.h"

enum partition_state order_state(const struct situation *situation)
{
    if (situation->is_halted) {
        return PARTITION_STATE_FAILED;
    }
    if (situation->is_in_transition) {
        return PARTITION_STATE_BUSY;
    }
    if (situation->request == REQUEST_FAILED) {
        return PARTITION_STATE_FAILED;
    }
    if (situation->request == REQUEST_STOPPED) {
        return situation->presence == PARTITION_ABSENT ? PARTITION_STATE_ABSENT
                                                       : PARTITION_STATE_STOPPED;
    }
    return situation->request == REQUEST_NONE && situation->presence == PARTITION_PRESENT
               ? PARTITION_STATE_RUNNING
               : PARTITION_STATE_BUSY;
}

static enum manager_result require(bool is_met)
{
    return is_met ? MANAGER_DONE : MANAGER_WRONG_STATE;
}

/* Returns whether a partition accepts the order to stop. While it is being destroyed it does not,
 * because its memory would keep its content; if that has failed, it can only be destroyed again.
 * Otherwise it may be stopped also while it starts, as from the terminal, and again if its stop has
 * failed. */
static enum manager_result check_stop(const struct situation *situation, enum partition_state state)
{
    if (situation->presence == PARTITION_ENDING && state == PARTITION_STATE_BUSY) {
        return MANAGER_BUSY;
    }
    return require(situation->presence == PARTITION_PRESENT && state != PARTITION_STATE_STOPPED);
}

enum manager_result order_judge(uint32_t command, const struct situation *situation)
{
    enum partition_state state = order_state(situation);

    if (situation->is_halted) {
        return MANAGER_NOT_ISOLATED;
    }
    if (command == ORDER_STOP) {
        return check_stop(situation, state);
    }
    if (state == PARTITION_STATE_BUSY) {
        return MANAGER_BUSY;
    }
    switch (command) {
    case ORDER_CRASH:
        return require(state == PARTITION_STATE_RUNNING);
    case ORDER_CREATE:
        return require(state == PARTITION_STATE_ABSENT);
    case ORDER_START:
        if (state != PARTITION_STATE_STOPPED) {
            return MANAGER_WRONG_STATE;
        }
        break;
    case ORDER_REPLACE:
        if (state != PARTITION_STATE_STOPPED && state != PARTITION_STATE_RUNNING) {
            return MANAGER_WRONG_STATE;
        }
        break;
    case ORDER_DESTROY:
        return require(state != PARTITION_STATE_ABSENT);
    default:
        return MANAGER_INVALID;
    }
    return situation->may_start ? MANAGER_DONE : MANAGER_NEVER_RESTARTS;
}
