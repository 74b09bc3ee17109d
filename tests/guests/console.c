/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The console under load: two threads and a timer print more text than the buffer holds. Then each
 * line of input is printed, until the line `end`.
 */
#include "kernel/console.h"
#include "kernel/application.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include <string.h>

#define LINES       200u
#define STACK_BYTES ((size_t)8192)

static void print_lines(void *argument)
{
    const char *name = argument;

    for (unsigned i = 0; i < LINES; i++) {
        print("%s %u of %u: the quick brown fox jumps over the lazy dog\n", name, i, LINES);
    }
}

static void print_in_timer(struct timer *timer, void *argument)
{
    unsigned *left = argument;

    print("timer %u\n", *left);
    *left -= 1;
    if (*left > 0) {
        timer_arm(timer, time_after(100 * NANOSECONDS_PER_MICROSECOND));
    }
}

static void read_lines(void)
{
    char line[80];
    size_t length = 0;

    print("ready\n");
    while (console_read(&line[length], DEADLINE_NONE) == RESULT_OK) {
        if (line[length] != '\n' && length < sizeof line - 1) {
            length++;
            continue;
        }
        line[length] = '\0';
        print("read: %s\n", line);
        if (strcmp(line, "end") == 0) {
            return;
        }
        length = 0;
    }
}

int application_main(void)
{
    static unsigned left = LINES;
    static struct timer timer;
    const struct thread_attributes attributes = {
        .name = "second", .priority = 33, .stack_bytes = STACK_BYTES};
    struct thread *second;

    timer_init(&timer, print_in_timer, &left);
    timer_arm(&timer, time_after(0));
    if (thread_create(&second, &attributes, print_lines, "second") != RESULT_OK) {
        return 1;
    }
    print_lines("first");
    (void)thread_join(second, DEADLINE_NONE);
    while (left > 0) {
        thread_sleep_until(time_after(NANOSECONDS_PER_MILLISECOND));
    }
    print("%0300u\n", 7u);
    read_lines();
    print("PASS\n");
    return 0;
}
