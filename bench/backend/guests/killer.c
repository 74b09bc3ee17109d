/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The manager of a system of ./bulkhead bench backend, which ends another partition at random
 * instants, as if its guest had reported a panic. Boot arguments:
 *
 *     target   number of the partition in the system file
 *     kills    how often
 *     seed     of the random numbers, > 0
 *     first    nanoseconds, by the board's counter, at which the first window begins
 *     pause    nanoseconds from the begin of a window to that of the next
 *     window   nanoseconds; the instant lies in them
 *
 * The counter is the same in all partitions, so a client knows the windows, too. Output:
 *
 *     killer: kill I at T ns, result R
 *     killer: done
 */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include <arch/cpu.h>
#include <arch/hypercalls.h>
#include <arch/hypervisor_call.h>

#define SECOND NANOSECONDS_PER_SECOND

/* Returns the next number of a sequence (xorshift64, Marsaglia 2003). */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Returns the time of the board's counter, which began before this guest. */
static uint64_t board_time(void)
{
    uint64_t ticks = arch_clock_ticks(), frequency = arch_clock_frequency();

    return ticks / frequency * SECOND + ticks % frequency * SECOND / frequency;
}

static void sleep_until(uint64_t board)
{
    uint64_t now = board_time();

    if (board > now) {
        thread_sleep_until(time_after(board - now));
    }
}

int application_main(void)
{
    uint64_t target = boot_argument_number("target", 0, 0, CALL_PARTITIONS_MAX - 1);
    uint64_t kills = boot_argument_number("kills", 1, 1, 1000000);
    uint64_t seed = boot_argument_number("seed", 1, 1, UINT64_MAX);
    uint64_t window_begin = boot_argument_number("first", 0, 0, 1000 * SECOND);
    uint64_t pause = boot_argument_number("pause", 2 * SECOND, 1, 100 * SECOND);
    uint64_t window = boot_argument_number("window", 1, 1, SECOND);

    (void)thread_set_priority(thread_current(), THREAD_PRIORITY_HIGHEST);
    for (uint64_t i = 1; i <= kills; i++, window_begin += pause) {
        int64_t result;
        uint64_t at;

        sleep_until(window_begin + next_random(&seed) % window);
        at = board_time();
        do {
            result = hypervisor_call(CALL_PARTITION_CRASH, target, 0, 0).result;
        } while (result == MANAGER_AGAIN);
        print("killer: kill %lu at %lu ns, result %ld\n", (unsigned long)i, (unsigned long)at,
              (long)result);
    }
    print("killer: done\n");
    return 0;
}
