/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The messages of the level control, in channels of messages. All times are in nanoseconds.
 *
 * The channel "loop" connects sensor and controller, "plot" connects controller and plot.
 */
#ifndef LEVEL_MESSAGES_H
#define LEVEL_MESSAGES_H

#include <stdint.h>

/* Tags. */
enum {
    LEVEL_SAMPLE,      /* sensor to controller: struct level_sample */
    LEVEL_COMMAND,     /* controller to sensor: struct level_command */
    LEVEL_RECORD,      /* controller to plot: struct level_record */
    LEVEL_ACKNOWLEDGE, /* plot to controller: struct level_acknowledgement */
    LEVEL_SETPOINT     /* plot to controller: in metres, a double; 0: it changes by itself */
};

struct level_sample {
    uint64_t number;     /* from 1 on in each life of the sensor */
    uint64_t time;       /* at which it was taken, by the sensor's clock */
    uint64_t round_trip; /* from the sample before until its command came; 0: not known */
    double level;        /* metres */
};

struct level_command {
    uint64_t sample_time; /* of the sample that it answers: see struct level_sample */
    double pump;          /* from 0, off, to 1 */
};

struct level_acknowledgement {
    uint64_t number;      /* of the record */
    uint64_t record_time; /* the record's `time` */
};

struct level_record {
    uint64_t number;      /* from 1 on in each life of the controller; counts dropped ones */
    uint64_t time;        /* at which the sample came, by the controller's clock */
    uint64_t life;        /* of the sensor, from 1 on */
    uint64_t sample;      /* its number */
    double setpoint;      /* metres */
    double level;         /* metres */
    double pump;          /* from 0, off, to 1 */
    uint64_t round_trip;  /* from a sample until its command came, at the sensor; 0: not known */
    uint64_t answer;      /* from the sample's receipt until the command was sent */
    uint64_t acknowledge; /* from a record until its acknowledgement came; 0: not known */
};

#endif
