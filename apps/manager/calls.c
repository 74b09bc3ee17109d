/* SPDX-License-Identifier: BSD-2-Clause */
#include "calls.h"

#include "kernel/thread.h"
#include "kernel/time.h"
#include <arch/hypervisor_call.h>

#define POLL_NANOSECONDS     (2 * NANOSECONDS_PER_MILLISECOND)
#define PATIENCE_NANOSECONDS (5 * NANOSECONDS_PER_SECOND)

int64_t partition_status(uint32_t partition, int64_t *result)
{
    struct hypervisor_answer answer = hypervisor_call(CALL_PARTITION_STATUS, partition, 0, 0);

    *result = (int64_t)answer.value;
    return answer.result;
}

uint32_t partition_image(uint32_t partition)
{
    struct hypervisor_answer answer = hypervisor_call(CALL_PARTITION_IMAGE, partition, 0, 0);

    return answer.result == MANAGER_DONE && answer.value != 0 ? (uint32_t)(answer.value >> 32) + 1
                                                              : 0;
}

/* Waits while the partition starts, stops, or has not taken the order. */
static int64_t wait_while_busy(uint32_t partition, int64_t *result)
{
    uint64_t deadline = time_now() + PATIENCE_NANOSECONDS;
    int64_t state = partition_status(partition, result);

    while (state == PARTITION_STATE_BUSY && time_now() < deadline) {
        thread_sleep_until(time_now() + POLL_NANOSECONDS);
        state = partition_status(partition, result);
    }
    return state;
}

static int64_t state_after(enum order_command command)
{
    switch (command) {
    case ORDER_START:
    case ORDER_REPLACE:
        return PARTITION_STATE_RUNNING;
    case ORDER_DESTROY:
        return PARTITION_STATE_ABSENT;
    default:
        return PARTITION_STATE_STOPPED;
    }
}

int64_t partition_order(enum order_command command, uint32_t partition, const struct staged *image)
{
    uint32_t function = CALL_PARTITION_CREATE + (uint32_t)command;
    uint64_t place = (uint64_t)image->offset << 32 | image->bytes;
    int64_t result, state;

    do {
        result = hypervisor_call(function, partition, place, image->checksum).result;
    } while (result == MANAGER_AGAIN);
    if (result != 0) {
        return result;
    }
    state = wait_while_busy(partition, &result);
    if (result != 0) {
        return result;
    }
    if (state == PARTITION_STATE_BUSY) {
        return MANAGER_BUSY;
    }
    return state == state_after(command) ? 0 : RESULT_NOT_REACHED;
}
