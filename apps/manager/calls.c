/* SPDX-License-Identifier: BSD-2-Clause */
#include "calls.h"

#include "kernel/thread.h"
#include "kernel/time.h"
#include <arch/hypervisor_call.h>

#define CALL_STATUS 0xc6000010u
#define CALL_FIRST  0xc6000011u

#define AGAIN 1
#define BUSY  (-3)

#define POLL_NANOSECONDS     (2 * NANOSECONDS_PER_MILLISECOND)
#define PATIENCE_NANOSECONDS (5 * NANOSECONDS_PER_SECOND)

int64_t partition_status(uint32_t partition, int64_t *result)
{
    struct hypervisor_answer answer = hypervisor_call(CALL_STATUS, partition, 0, 0);

    *result = (int64_t)answer.value;
    return answer.result;
}

/* Waits while the partition starts, stops, or has not taken the order. */
static int64_t wait_while_busy(uint32_t partition, int64_t *result)
{
    uint64_t deadline = time_now() + PATIENCE_NANOSECONDS;
    int64_t state = partition_status(partition, result);

    while (state == STATE_BUSY && time_now() < deadline) {
        thread_sleep_until(time_now() + POLL_NANOSECONDS);
        state = partition_status(partition, result);
    }
    return state;
}

static int64_t state_after(enum command command)
{
    switch (command) {
    case COMMAND_START:
    case COMMAND_REPLACE:
        return STATE_RUNNING;
    case COMMAND_DESTROY:
        return STATE_ABSENT;
    default:
        return STATE_STOPPED;
    }
}

int64_t partition_order(enum command command, uint32_t partition, const struct staged *image)
{
    uint64_t place = (uint64_t)image->offset << 32 | image->bytes;
    int64_t result, state;

    do {
        result = hypervisor_call(CALL_FIRST + (uint32_t)command, partition, place, image->checksum)
                     .result;
    } while (result == AGAIN);
    if (result != 0) {
        return result;
    }
    state = wait_while_busy(partition, &result);
    if (result != 0) {
        return result;
    }
    if (state == STATE_BUSY) {
        return BUSY;
    }
    return state == state_after(command) ? 0 : RESULT_NOT_REACHED;
}
