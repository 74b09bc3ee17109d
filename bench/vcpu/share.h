/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures the processor time that threads get, without the accounting of a kernel. Each thread
 * calls share_spin(), and one of them runs at any time. The threads tell each other by a shared
 * word which of them ran last. The time between two readings of the clock belongs to a thread if no
 * other thread ran in between, so interrupts count as time of the interrupted thread, as in the
 * accounting of every kernel. If another thread ran, the thread has executed one turn of its loop
 * meanwhile, in two parts, which counts as much as its shortest turn. The time of a switch between
 * two threads belongs to none.
 *
 * Each system defines share_now(), the time in nanoseconds, before it includes share.h.
 */
#ifndef VCPU_SHARE_H
#define VCPU_SHARE_H

#include "work.h"
#include <stdbool.h>
#include <stdint.h>

#define SHARE_THREADS_MAX 40u
#define SHARE_NOBODY      UINT32_MAX
#define SHARE_GLIMPSE     UINT64_C(100) /* nanoseconds: more than two readings of the clock take */
#define SHARE_SWITCHES    UINT64_C(300) /* nanoseconds: less than to another thread and back */
#define SHARE_PAUSE       20u           /* turns between two readings, each of two instructions */

enum share_state { SHARE_NOT_STARTED, SHARE_SPINS, SHARE_FINISHED };

struct share_thread {
    enum share_state state;
    uint64_t
        received; /* nanoseconds between `start` and `end`; valid in the state SHARE_FINISHED */
};

/* In memory of all threads. */
struct share {
    volatile uint64_t start; /* of the measurement, on the threads' clock */
    volatile uint64_t end;
    volatile uint32_t last; /* thread that ran last */
    volatile struct share_thread threads[SHARE_THREADS_MAX];
};

static inline void share_init(struct share *share)
{
    share->start = UINT64_MAX;
    share->end = UINT64_MAX;
    share->last = SHARE_NOBODY;
    for (uint32_t i = 0; i < SHARE_THREADS_MAX; i++) {
        share->threads[i].state = SHARE_NOT_STARTED;
    }
}

/* Returns true if the threads below `count` are in this state. */
static inline bool share_all(const struct share *share, uint32_t count, enum share_state state)
{
    for (uint32_t i = 0; i < count; i++) {
        if (share->threads[i].state != state) {
            return false;
        }
    }
    return true;
}

/* Sets the time of the measurement, when all threads spin. It begins when the reservations have
 * caught up with the work of the start. */
static inline void share_begin(struct share *share, uint64_t duration)
{
    uint64_t start = share_now() + 1000 * WORK_MILLISECOND;

    share->end = start + duration;
    share->start = start;
}

/* Returns the thread that ran last, and the time at which it was read. An interruption between the
 * two is noticed and the reading repeated, so that they belong together. */
static inline uint32_t share_last(const struct share *share, uint64_t *time)
{
    uint32_t last;

    do {
        *time = share_now();
        last = share->last;
    } while (share_now() - *time > SHARE_GLIMPSE);
    return last;
}

/* Makes the calling thread the one that ran last. Returns true if no other thread can have done the
 * same since `time`, at which it was read that another thread had run. */
static inline bool share_take_over(struct share *share, uint32_t number, uint64_t time)
{
    share->last = number;
    return share_now() - time <= SHARE_SWITCHES;
}

/* Spins until the end of the measurement. `number`: the caller, below SHARE_THREADS_MAX. */
static void share_spin(struct share *share, uint32_t number)
{
    uint64_t received = 0;
    uint64_t before = 0;
    uint64_t now = 0;
    uint64_t shortest = UINT64_MAX; /* turn of the loop that was counted */
    bool alone = false;             /* no other thread has run since `before` */

    share->threads[number].state = SHARE_SPINS;
    while (now < share->end) {
        bool interrupted = share_last(share, &now) != number;
        bool counts = alone && before >= share->start;
        uint64_t turn = now - before;

        alone = !interrupted || share_take_over(share, number, now);
        if (counts) {
            shortest = turn < shortest ? turn : shortest;
            received += interrupted ? shortest : turn;
        }
        before = now;
        work(SHARE_PAUSE);
    }
    share->threads[number].received = received;
    share->threads[number].state = SHARE_FINISHED;
}

#endif
