/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A level sensor and the pump's driver, with a simulated tank between them. In each `period`
 * (nanoseconds) it sends a sample over the channel "loop" and waits for the command that answers
 * it. The pump is off while there is no controller.
 */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/periodic.h"
#include "kernel/print.h"
#include "messages.h"
#include "plant.h"
#include "side.h"
#include <channel/wait.h>

#define PERIOD     (10 * NANOSECONDS_PER_MILLISECOND)
#define PERIOD_MIN NANOSECONDS_PER_MILLISECOND
#define PERIOD_MAX (50 * NANOSECONDS_PER_MILLISECOND)

static struct {
    struct partition_waiter waiter;
    struct side loop;
    struct plant plant;
    double command; /* of the pump */
    uint64_t number;
    uint64_t round_trip;
} sensor;

/* Executes the commands that have come. Returns true if one of them answers the sample of `time`.
 */
static bool execute_commands(uint64_t time)
{
    struct level_command command;
    uint64_t length;
    uint32_t tag;
    bool has_answer = false;

    while (side_receive(&sensor.loop, &command, sizeof(command), &length, &tag)) {
        if (tag == LEVEL_COMMAND && length == sizeof(command)) {
            sensor.command = command.pump;
            sensor.round_trip = time_now() - command.sample_time;
            has_answer |= command.sample_time == time;
        }
    }
    return has_answer;
}

/* Sends a sample, and executes the command that answers it, or what has come by the deadline. */
static void exchange(uint64_t deadline)
{
    const struct channel_sleeper sleeper = partition_waiter_sleeper(&sensor.waiter);
    const struct level_sample sample = {
        .number = ++sensor.number,
        .time = time_now(),
        .round_trip = sensor.round_trip,
        .level = plant_measure(&sensor.plant),
    };

    sensor.round_trip = 0;
    if (!side_send(&sensor.loop, &sample, sizeof(sample), LEVEL_SAMPLE)) {
        return;
    }
    while (!execute_commands(sample.time) && time_now() < deadline &&
           sensor.loop.channel.state == CHANNEL_CONNECTED) {
        struct channel_wait wait = channel_wait_for_message(&sensor.loop.channel);

        (void)channel_wait_any(&wait, 1, &sleeper, deadline);
    }
}

int application_main(void)
{
    const uint64_t period = boot_argument_number("period", PERIOD, PERIOD_MIN, PERIOD_MAX);
    const struct periodic_attributes attributes = {.period = period};
    static struct periodic periodic;

    plant_init(&sensor.plant);
    partition_waiter_init(&sensor.waiter);
    side_open(&sensor.loop, "loop", &sensor.waiter);
    (void)periodic_start(&periodic, &attributes);
    print("sensor: a sample every %lu ns\n", (unsigned long)period);
    for (;;) {
        uint64_t release = periodic_wait(&periodic);

        plant_advance(&sensor.plant, sensor.command, (double)period / NANOSECONDS_PER_SECOND);
        if (side_is_connected(&sensor.loop)) {
            exchange(release + period / 2);
        } else {
            sensor.command = 0;
        }
    }
}
