/* SPDX-License-Identifier: BSD-2-Clause */
#include "calls.h"

#include "kernel/thread.h"
#include "kernel/time.h"
#include <arch/hypervisor_call.h>

#define POLL_NANOSECONDS     (2 * NANOSECONDS_PER_MILLISECOND)
#define PATIENCE_NANOSECONDS (5 * NANOSECONDS_PER_SECOND)

struct partition_situation partition_status(uint32_t partition)
{
    struct hypervisor_answer answer = hypervisor_call(CALL_PARTITION_STATUS, partition, 0, 0);

    return (struct partition_situation){answer.result, (int64_t)answer.value, answer.second};
}

bool partition_log(uint32_t partition, uint64_t from, struct health_record *record)
{
    struct hypervisor_answer event =
        hypervisor_call(CALL_PARTITION_LOG, partition, from, LOG_PART_EVENT);
    struct hypervisor_answer place =
        hypervisor_call(CALL_PARTITION_LOG, partition, event.value, LOG_PART_PLACE);

    if (event.result != MANAGER_DONE || event.value == 0 || place.result != MANAGER_DONE) {
        return false;
    }
    *record = (struct health_record){
        .number = event.value,
        .time = event.second,
        .address = place.value,
        .syndrome = place.second,
        .pc = place.third,
        .error = (uint16_t)event.third,
        .action = (uint16_t)(event.third >> 16),
        .source = (uint32_t)(event.third >> 32),
    };
    return true;
}

uint32_t partition_image(uint32_t partition)
{
    struct hypervisor_answer answer = hypervisor_call(CALL_PARTITION_IMAGE, partition, 0, 0);

    return answer.result == MANAGER_DONE && answer.value != 0 ? (uint32_t)(answer.value >> 32) + 1
                                                              : 0;
}

/* Waits while the partition starts, stops, or has not taken the order. */
static struct partition_situation wait_while_busy(uint32_t partition)
{
    uint64_t deadline = time_now() + PATIENCE_NANOSECONDS;
    struct partition_situation situation = partition_status(partition);

    while (situation.state == PARTITION_STATE_BUSY && time_now() < deadline) {
        thread_sleep_until(time_now() + POLL_NANOSECONDS);
        situation = partition_status(partition);
    }
    return situation;
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
    uint32_t function =
        command == ORDER_CRASH ? CALL_PARTITION_CRASH : CALL_PARTITION_CREATE + (uint32_t)command;
    uint64_t place = (uint64_t)image->offset << 32 | image->bytes;
    struct partition_situation situation;
    int64_t result;

    do {
        result = hypervisor_call(function, partition, place, image->checksum).result;
    } while (result == MANAGER_AGAIN);
    if (result != 0 || command == ORDER_CRASH) {
        return result;
    }
    situation = wait_while_busy(partition);
    if (situation.result != 0) {
        return situation.result;
    }
    if (situation.state == PARTITION_STATE_BUSY) {
        return MANAGER_BUSY;
    }
    return situation.state == state_after(command) ? 0 : RESULT_NOT_REACHED;
}

int64_t device_give(uint32_t function, uint32_t partition)
{
    uint64_t deadline = time_now() + PATIENCE_NANOSECONDS;
    int64_t result = hypervisor_call(CALL_DEVICE_GIVE, partition, function, 1).result;

    while (result == MANAGER_AGAIN && time_now() < deadline) {
        thread_sleep_until(time_now() + POLL_NANOSECONDS);
        result = hypervisor_call(CALL_DEVICE_GIVE, partition, function, 0).result;
    }
    return result == MANAGER_AGAIN ? MANAGER_BUSY : result;
}
