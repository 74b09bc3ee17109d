/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A player for a Linux guest: a tone, and a decoder's work in each period. It is a program for
 * Linux. Each argument is NAME=NUMBER; the names are in `parameters`. Prints the numbers of played
 * and lost periods after each `report` periods, and at the end.
 */
#define _GNU_SOURCE /* CPU_SET, sched_setaffinity */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "pcm.h"
#include "tone.h"
#include "work.h"

#define NS_PER_S          1000000000ull
#define FRAME_NS          40000000ull /* of a video: 25 frames a second */
#define PERIOD_FRAMES_MAX 4096u
#define PRIORITY          50 /* SCHED_FIFO's are 1 to 99; the kernel's interrupt threads have 50 */

enum { RATE, PERIOD, PERIODS, TONE, LOAD, VIDEO, COUNT, REPORT, PARAMETERS };

struct parameter {
    const char *name;
    unsigned value, min, max;
};

static struct parameter parameters[PARAMETERS] = {
    [RATE] = {"rate", 48000, 8000, 48000},             /* frames a second */
    [PERIOD] = {"period", 480, 32, PERIOD_FRAMES_MAX}, /* frames between two interrupts */
    [PERIODS] = {"periods", 8, 2, 32},                 /* in the device's buffer */
    [TONE] = {"tone", 440, 20, 4000},                  /* hertz */
    [LOAD] = {"load", 0, 0, 99},                       /* percent of processor 0, for audio */
    [VIDEO] = {"video", 0, 0, 99},                     /* percent of each other processor */
    [COUNT] = {"count", 0, 0, 1000000000},             /* periods to play; 0: for ever */
    [REPORT] = {"report", 500, 1, 1000000000},         /* periods from a report to the next */
};

static bool parse(const char *argument)
{
    const char *number = strchr(argument, '=');

    for (unsigned i = 0; number != NULL && i < PARAMETERS; i++) {
        struct parameter *each = &parameters[i];
        size_t length = strlen(each->name);

        if ((size_t)(number - argument) == length && strncmp(argument, each->name, length) == 0) {
            char *end;
            unsigned long value = strtoul(number + 1, &end, 10);

            each->value = (unsigned)value;
            return end != number + 1 && *end == '\0' && value >= each->min && value <= each->max;
        }
    }
    return false;
}

/* Executes the calling thread on this processor only, before all threads without real time. */
static bool set_real_time(unsigned processor)
{
    const struct sched_param priority = {.sched_priority = PRIORITY};
    cpu_set_t processors;

    CPU_ZERO(&processors);
    CPU_SET(processor, &processors);
    return sched_setaffinity(0, sizeof(processors), &processors) == 0 &&
           sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
}

/* Decodes this processor's part of each frame of the video. */
static void *decode_video(void *processor)
{
    struct timespec next;

    if (!set_real_time((unsigned)(uintptr_t)processor)) {
        perror("player: no real time for the video");
        return NULL;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &next);
    for (;;) {
        work_until(work_clock() + parameters[VIDEO].value * (FRAME_NS / 100));
        next.tv_nsec += (long)FRAME_NS;
        if (next.tv_nsec >= (long)NS_PER_S) {
            next.tv_nsec -= (long)NS_PER_S;
            next.tv_sec++;
        }
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
}

static bool start_video(unsigned processors)
{
    pthread_t thread;

    for (unsigned each = 1; parameters[VIDEO].value != 0 && each < processors; each++) {
        if (pthread_create(&thread, NULL, decode_video, (void *)(uintptr_t)each) != 0) {
            return false;
        }
    }
    return true;
}

static void report(const struct pcm *pcm, uint64_t played)
{
    printf("player: %llu periods played, %llu lost\n", (unsigned long long)played,
           (unsigned long long)pcm->lost);
}

static bool play(struct pcm *pcm)
{
    static int16_t samples[PERIOD_FRAMES_MAX * PCM_CHANNELS];
    uint64_t played = 0;
    struct tone tone;

    tone_begin(&tone, parameters[TONE].value, parameters[RATE].value);
    while (parameters[COUNT].value == 0 || played < parameters[COUNT].value) {
        uint64_t end = work_clock() + parameters[LOAD].value * (pcm->period_ns / 100);

        tone_write(&tone, samples, pcm->period_frames);
        work_until(end);
        if (!pcm_write(pcm, samples)) {
            return false;
        }
        played++;
        if (played % parameters[REPORT].value == 0) {
            report(pcm, played);
        }
    }
    report(pcm, played);
    return true;
}

int main(int count, char **arguments)
{
    struct pcm pcm;

    for (int i = 1; i < count; i++) {
        if (!parse(arguments[i])) {
            fprintf(stderr, "player: '%s' is no parameter, or out of range\n", arguments[i]);
            return 2;
        }
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0 || !set_real_time(0)) {
        perror("player: no real time");
        return 1;
    }
    if (!pcm_open(&pcm, parameters[RATE].value, parameters[PERIOD].value,
                  parameters[PERIODS].value) ||
        !start_video((unsigned)sysconf(_SC_NPROCESSORS_ONLN))) {
        return 1;
    }
    puts("player: playing");
    return play(&pcm) ? 0 : 1;
}
