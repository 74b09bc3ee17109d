/* SPDX-License-Identifier: BSD-2-Clause */
/* See usage.h. */
#include "usage.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES 1024

/* Reads what /proc/stat has of idle time, in ticks, and of context switches. The time of a
 * processor that waits for a disk is idle, too (proc_stat(5)). */
static bool read_statistics(FILE *file, uint64_t *idle_ticks, uint64_t *context_switches)
{
    char line[LINE_BYTES];
    unsigned found = 0;

    while (fgets(line, sizeof(line), file) != NULL) {
        unsigned long long idle;
        unsigned long long waiting;
        unsigned long long switches;

        if (strncmp(line, "cpu ", strlen("cpu ")) == 0 &&
            sscanf(line, "cpu %*u %*u %*u %llu %llu", &idle, &waiting) == 2) {
            *idle_ticks = idle + waiting;
            found++;
        } else if (sscanf(line, "ctxt %llu", &switches) == 1) {
            *context_switches = switches;
            found++;
        }
    }
    return found == 2;
}

struct usage usage_now(void)
{
    FILE *file = fopen("/proc/stat", "re");
    uint64_t ticks = 0;
    struct usage usage;
    struct timespec time;

    if (file == NULL || !read_statistics(file, &ticks, &usage.context_switches)) {
        perror("/proc/stat");
        exit(1);
    }
    (void)fclose(file);
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    usage.idle_us = ticks * UINT64_C(1000000) / (uint64_t)sysconf(_SC_CLK_TCK);
    usage.time_us = (uint64_t)time.tv_sec * UINT64_C(1000000) + (uint64_t)time.tv_nsec / 1000;
    return usage;
}

void usage_print(const struct usage *begin, const struct usage *end)
{
    uint64_t time = end->time_us - begin->time_us;
    uint64_t idle = end->idle_us - begin->idle_us;

    /* Idle time is counted in whole ticks. */
    printf(" switches %llu busy %llu of %llu\n",
           (unsigned long long)(end->context_switches - begin->context_switches),
           (unsigned long long)(idle < time ? time - idle : 0), (unsigned long long)time);
    (void)fflush(stdout);
}
