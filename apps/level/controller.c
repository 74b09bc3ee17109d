/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The controller of a level: answers each sample of the channel "loop" with a command for the pump,
 * and sends a record of both over the channel "plot". It never waits for the reader of the records,
 * and drops those for which there is no space. The setpoint changes by itself until the reader
 * sends one.
 */
#include "kernel/application.h"
#include "kernel/print.h"
#include "kernel/time.h"
#include "law.h"
#include "messages.h"
#include "side.h"
#include <channel/wait.h>

#define SETPOINT_LOW  0.2 /* metres */
#define SETPOINT_HIGH 0.35
#define SETPOINT_MAX  0.45
#define HALF_CYCLE    (12 * NANOSECONDS_PER_SECOND)
#define LEVEL_MAX     1.0 /* metres: no sensor measures more */
#define GAP_MAX       (100 * NANOSECONDS_PER_MILLISECOND)

static struct {
    struct partition_waiter waiter;
    struct side loop;
    struct side plot;
    struct law law;
    uint64_t sensor_life;
    uint64_t sample_time; /* of the last sample, by the sensor's clock; 0: none in this life */
    uint64_t records;
    uint64_t acknowledge; /* time that the last acknowledgement took; 0: not known */
    double setpoint;      /* that the reader has sent; 0: none, it changes by itself */
} controller;

static double setpoint_at(uint64_t time)
{
    if (controller.setpoint > 0) {
        return controller.setpoint;
    }
    return time / HALF_CYCLE % 2 == 0 ? SETPOINT_HIGH : SETPOINT_LOW;
}

/* Returns the seconds since the sample before, 0 for the first one. */
static double seconds_since_sample(const struct level_sample *sample)
{
    uint64_t gap = 0;

    if (controller.sensor_life != controller.loop.channel.peer) {
        controller.sensor_life = controller.loop.channel.peer;
        controller.sample_time = 0;
        controller.law = (struct law){0};
        print("control: life %lu of the sensor\n", (unsigned long)controller.sensor_life);
    }
    if (controller.sample_time != 0 && sample->time > controller.sample_time) {
        gap = sample->time - controller.sample_time;
    }
    controller.sample_time = sample->time;
    /* After a longer gap the samples between are missing, and the integral would jump. */
    return (double)(gap < GAP_MAX ? gap : GAP_MAX) / NANOSECONDS_PER_SECOND;
}

static void answer(const struct level_sample *sample, uint64_t time)
{
    struct level_record record = {
        .number = ++controller.records,
        .time = time,
        .sample = sample->number,
        .setpoint = setpoint_at(time),
        .level = sample->level,
        .round_trip = sample->round_trip,
        .acknowledge = controller.acknowledge,
    };
    double seconds = seconds_since_sample(sample);
    struct level_command command = {
        .sample_time = sample->time,
        .pump = law_command(&controller.law, record.setpoint, sample->level, seconds),
    };

    (void)side_send(&controller.loop, &command, sizeof(command), LEVEL_COMMAND);
    record.answer = time_now() - time;
    record.life = controller.sensor_life;
    record.pump = command.pump;
    controller.acknowledge = 0;
    (void)side_send(&controller.plot, &record, sizeof(record), LEVEL_RECORD);
}

/* Handles the oldest sample. Returns false if there is none. */
static bool handle_sample(void)
{
    struct level_sample sample;
    uint64_t length;
    uint32_t tag;

    if (!side_receive(&controller.loop, &sample, sizeof(sample), &length, &tag)) {
        return false;
    }
    /* The comparison is false if the level is not a number. */
    if (tag == LEVEL_SAMPLE && length == sizeof(sample) && sample.level > -LEVEL_MAX &&
        sample.level < LEVEL_MAX) {
        answer(&sample, time_now());
    }
    return true;
}

/* Handles the oldest message of the reader. Returns false if there is none. */
static bool handle_request(void)
{
    union {
        struct level_acknowledgement acknowledgement;
        double setpoint;
    } request;
    uint64_t length;
    uint32_t tag;

    if (!side_receive(&controller.plot, &request, sizeof(request), &length, &tag)) {
        return false;
    }
    if (tag == LEVEL_ACKNOWLEDGE && length == sizeof(request.acknowledgement)) {
        controller.acknowledge = time_now() - request.acknowledgement.record_time;
    }
    if (tag == LEVEL_SETPOINT && length == sizeof(request.setpoint) && request.setpoint >= 0 &&
        request.setpoint <= SETPOINT_MAX) {
        controller.setpoint = request.setpoint;
    }
    return true;
}

static void wait_for_message(void)
{
    const struct channel_sleeper sleeper = partition_waiter_sleeper(&controller.waiter);
    struct channel_wait waits[2];

    (void)side_is_connected(&controller.loop);
    (void)side_is_connected(&controller.plot);
    waits[0] = channel_wait_for_message(&controller.loop.channel);
    waits[1] = channel_wait_for_message(&controller.plot.channel);
    (void)channel_wait_any(waits, 2, &sleeper, DEADLINE_NONE);
}

int application_main(void)
{
    partition_waiter_init(&controller.waiter);
    side_open(&controller.loop, "loop", &controller.waiter);
    side_open(&controller.plot, "plot", &controller.waiter);
    print("control: waits for samples\n");
    for (;;) {
        while (handle_sample() || handle_request()) {
        }
        wait_for_message();
    }
}
