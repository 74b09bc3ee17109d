/* SPDX-License-Identifier: BSD-2-Clause */
/* The work of all of a Linux guest, for the programs of ./bulkhead bench channel. */
#ifndef BENCH_CHANNEL_USAGE_H
#define BENCH_CHANNEL_USAGE_H

#include <stdint.h>

struct usage {
    uint64_t time_us; /* CLOCK_MONOTONIC */
    uint64_t idle_us; /* of its only processor */
    uint64_t context_switches;
};

/* Returns what Linux has done since its start, by /proc/stat. Ends the process if it has none. */
struct usage usage_now(void);

/* Prints " switches N busy MICROSECONDS of MICROSECONDS" and a line break: what Linux has done
 * between `begin` and `end`. */
void usage_print(const struct usage *begin, const struct usage *end);

#endif
