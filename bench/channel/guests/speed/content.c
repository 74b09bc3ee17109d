/* SPDX-License-Identifier: BSD-2-Clause */
/* See speed.h. */
#include "kernel/thread.h"
#include "kernel/time.h"
#include "speed.h"
#include <string.h>

#define WORDS          8u /* in a step */
#define BYTES_PER_LOOK 4096u

static volatile uint64_t content_sum; /* so that the content is read */
static uint64_t round_trips[ROUND_TRIPS_MAX];

static uint64_t word_at(const uint8_t *place)
{
    uint64_t word;

    memcpy(&word, place, sizeof(word));
    return word;
}

void read_content(const void *content, size_t bytes)
{
    const uint8_t *place = content;
    uint64_t sum = 0;

    for (; bytes >= WORDS * sizeof(uint64_t); bytes -= WORDS * sizeof(uint64_t)) {
        for (unsigned i = 0; i < WORDS; i++) {
            sum += word_at(place + i * sizeof(uint64_t));
        }
        place += WORDS * sizeof(uint64_t);
    }
    for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t)) {
        sum += word_at(place);
        place += sizeof(uint64_t);
    }
    for (; bytes > 0; bytes--) {
        sum += *place;
        place++;
    }
    content_sum = sum;
}

uint64_t messages_per_look(uint32_t bytes)
{
    return bytes >= BYTES_PER_LOOK ? 1 : BYTES_PER_LOOK / bytes;
}

void set_round_trip(uint32_t trip, uint64_t nanoseconds)
{
    round_trips[trip] = nanoseconds;
}

/* Shell sort. */
uint64_t median_round_trip(uint32_t count)
{
    uint64_t *values = round_trips;

    for (size_t gap = count / 2; gap > 0; gap /= 2) {
        for (size_t end = gap; end < count; end++) {
            uint64_t value = values[end];
            size_t place = end;

            for (; place >= gap && values[place - gap] > value; place -= gap) {
                values[place] = values[place - gap];
            }
            values[place] = value;
        }
    }
    return count == 0 ? 0 : values[count / 2];
}

struct usage usage_now(void)
{
    struct scheduler_statistics statistics;

    scheduler_statistics(&statistics);
    return (struct usage){
        .time = time_now(),
        .idle = statistics.idle_nanoseconds,
        .switches = statistics.context_switches,
    };
}
