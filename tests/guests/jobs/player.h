/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A player: a pattern of work and sleep, from `begin` to `end`. All times are nanoseconds of the
 * physical counter, or instructions, which take one each.
 *
 *   jobs    is released each `period`, and up to `jitter` later; then executes `job`
 *   spin    works all the time
 *   pieces  works for `job` and sleeps for `nap` and up to `jitter`, again and again for `period`;
 *           then works for two periods without a pause
 *   pecks   works for `job` and sleeps for `nap` and up to `jitter`
 *   calls   calls the hypervisor as often as it can
 *   masks   as jobs, but `nap` earlier, and with interrupts masked for the whole job
 *   asks    as jobs, but ends each job with a wait for a device, whose interrupt wakes the player
 *           that serves
 *   serves  does a job for each of these interrupts
 *
 * jobs with a `section` execute so many instructions of each job with the mutex that all players of
 * the guest share.
 */
#ifndef JOBS_PLAYER_H
#define JOBS_PLAYER_H

#include "diary.h"
#include "kernel/sync.h"
#include "kernel/thread.h"
#include <stdbool.h>
#include <stdint.h>

enum play {
    PLAY_JOBS,
    PLAY_SPIN,
    PLAY_PIECES,
    PLAY_PECKS,
    PLAY_CALLS,
    PLAY_MASKS,
    PLAY_ASKS,
    PLAY_SERVES,
    PLAYS,
};

struct player {
    enum play play;
    uint64_t begin;
    uint64_t end;
    uint64_t job;
    uint64_t period;
    uint64_t jitter;
    uint64_t nap;
    uint64_t section;
    uint64_t seed;
    struct diary diary;
    /* Sleeps until the counter is `due`. */
    void (*sleep)(struct player *player, uint64_t due);
    struct thread *thread;
    uint64_t time_offset; /* of the kernel's time to the physical counter */
};

/* Shared by the players of a guest. `begin` before the first plays. */
struct stage {
    struct mutex mutex;
    struct semaphore requested;
    struct semaphore done;
    volatile uint64_t requested_at;
    struct thread *server; /* NULL: no player serves */
};

extern struct stage stage;

/* Reads KIND/BEGIN/END/JOB/PERIOD/JITTER/NAP/SECTION/SEED. Returns false if it is none. */
bool player_read(struct player *player, const char *text);

/* Plays until the end. */
void player_play(struct player *player);

#endif
