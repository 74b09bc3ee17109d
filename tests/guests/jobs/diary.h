/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The diary of a player: what it was allowed to execute, and when. A test reads it from the memory
 * of the guest. All times are nanoseconds of the physical counter, which all guests of a machine
 * have in common; its frequency is 1 GHz.
 */
#ifndef JOBS_DIARY_H
#define JOBS_DIARY_H

#include <stdint.h>

enum event {
    EVENT_GAP,    /* the player continues at `time`, after `span` in which it did not execute, and
                   * the work between two looks */
    EVENT_WAKE,   /* it wanted to execute from `time` on, and did so `span` later */
    EVENT_SLEEP,  /* it has no work from `time` on */
    EVENT_FINISH, /* a job is done at `time`, `span` after its release */
    EVENT_FULL,   /* some events are missing */
};

struct record {
    uint64_t time;
    uint64_t span; /* nanoseconds; the event in the highest byte */
};

#define EVENT_SHIFT 56u

struct diary {
    struct record *next;
    struct record *limit; /* for the last record, EVENT_FULL */
    struct record *first;
    uint64_t last; /* look at the counter */
    uint64_t gap;  /* longer times between two looks are gaps; UINT64_MAX: none is */
};

/* Begins a diary of `count` records, 2 at least. */
void diary_begin(struct diary *diary, struct record *records, uint32_t count);

void diary_write(struct diary *diary, enum event event, uint64_t time, uint64_t span);

/* Returns the physical counter. */
uint64_t diary_time(void);

/* Executes so many instructions, and notes the gaps. Ends earlier if it is `end`. The first look is
 * compared with the last one before. */
void diary_work(struct diary *diary, uint64_t instructions, uint64_t end);

#endif
