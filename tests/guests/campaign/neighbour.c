/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A neighbour of ./bulkhead campaign: it does a turn of work each millisecond, and prints the
 * digest of all turns every fourth turn. After `turns` of them (boot argument) it checks its
 * pattern in memory, prints a last line, and does nothing more. Nothing that it prints depends on
 * time, so a run in which a neighbour has failed prints the same.
 *
 * Boot arguments:
 *   follow=1  also reads the values of the channel that the victim writes, and forgets them
 *   leak=1    mixes these values into its digest, so that a fault of the victim changes its result:
 *             the campaign must find that
 */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/memory.h"
#include "kernel/partition_channel.h"
#include "kernel/periodic.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "work.h"
#include <string.h>

#define TURNS         32u
#define TURNS_MAX     1000000u
#define TURNS_A_LINE  4u
#define PATTERN_WORDS ((size_t)8192)

static struct {
    struct partition_channel place;
    struct value_writer writer;
    struct value_reader reader;
    bool is_open;
} values;

static void open_values(void)
{
    values.is_open =
        partition_channel_open(&values.place, "values") == RESULT_OK &&
        partition_channel_begin_values(&values.place, &values.writer, &values.reader) == RESULT_OK;
    if (!values.is_open) {
        print("there is no channel\n");
    }
}

/* Returns the first word of the newest value; 0: there is none. */
static uint64_t newest_value(void)
{
    uint64_t length, word = 0;
    const uint8_t *value = values.is_open ? value_read(&values.reader, &length) : NULL;

    if (value != NULL && length >= sizeof(word)) {
        memcpy(&word, value, sizeof(word));
    }
    return word;
}

static uint64_t pattern(size_t word)
{
    return (word + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t *write_pattern(void)
{
    uint64_t *memory = heap_allocate(PATTERN_WORDS * sizeof(*memory));

    for (size_t i = 0; memory != NULL && i < PATTERN_WORDS; i++) {
        memory[i] = pattern(i);
    }
    return memory;
}

static bool is_intact(const uint64_t *memory)
{
    for (size_t i = 0; i < PATTERN_WORDS; i++) {
        if (memory[i] != pattern(i)) {
            return false;
        }
    }
    return true;
}

int application_main(void)
{
    static struct periodic periodic;
    const struct periodic_attributes attributes = {.period = NANOSECONDS_PER_MILLISECOND,
                                                   .catch_up = PERIODIC_RUN_EACH};
    uint32_t turns = (uint32_t)boot_argument_number("turns", TURNS, 1, TURNS_MAX), digest = 0;
    bool follows = boot_argument_number("follow", 0, 0, 1) != 0;
    bool leaks = boot_argument_number("leak", 0, 0, 1) != 0;
    uint64_t *memory = write_pattern();

    if (memory == NULL || periodic_start(&periodic, &attributes) != RESULT_OK) {
        print("FAIL: no memory\n");
        return 1;
    }
    if (follows || leaks) {
        open_values();
    }
    for (uint32_t turn = 1; turn <= turns; turn++) {
        uint64_t value;

        (void)periodic_wait(&periodic);
        value = newest_value();
        digest = work_mix(digest, work_turn(turn) + (leaks ? value : 0));
        if (turn % TURNS_A_LINE == 0) {
            work_print(turn, digest);
        }
    }
    periodic_stop(&periodic);
    print("done: %08lx, memory %s\n", (unsigned long)digest,
          is_intact(memory) ? "intact" : "CHANGED");
    for (;;) {
        thread_sleep_until(DEADLINE_NONE);
    }
}
