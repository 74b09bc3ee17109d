/* SPDX-License-Identifier: BSD-2-Clause */
/* The control loop's periods (apps/control): when turns are due, and which come too late. */
#include "kernel/panic.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "periods.h"
#include <setjmp.h>
#include <stdarg.h>

#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PERIOD UINT64_C(1000)

/* A short model of periodic threads, and of the machine below the kernel, whose alarm can come
 * late. */
static struct {
    uint64_t now;
    uint64_t release; /* the next */
    bool job_runs;
    uint64_t misses;
    uint64_t idle;
    uint64_t oversleep; /* lateness of the next alarm */
    uint64_t others;    /* time for which other threads run before the next alarm */
    uint64_t taken;     /* time for which the processor is not run after the next alarm */
    uint64_t switches;
    uint64_t interrupts;
} world;

uint64_t time_now(void)
{
    return world.now;
}

_Noreturn void panic(const char *format, ...)
{
    (void)format;
    abort();
}

const char *result_text(enum result result)
{
    return result == RESULT_OK ? "ok" : "error";
}

/* The deadline of the turn may pass before the processor, which was taken away, continues. */
static void sleep_until(uint64_t deadline)
{
    if (deadline > world.now) {
        uint64_t awake = world.others < deadline - world.now ? world.others : deadline - world.now;

        world.idle += deadline - world.now - awake + world.oversleep;
        world.now = deadline + world.oversleep + (world.others - awake);
        world.now += world.taken;
        world.switches += world.others != 0 ? 4 : 2;
        world.interrupts++;
        if (world.taken >= PERIOD) {
            world.interrupts++;
            world.misses += world.taken / PERIOD;
        }
        world.oversleep = 0;
        world.others = 0;
        world.taken = 0;
    }
}

enum result periodic_start(struct periodic *periodic, const struct periodic_attributes *attributes)
{
    (void)periodic;
    assert_int_equal(attributes->period, PERIOD);
    assert_int_equal(attributes->first, 0);
    assert_int_equal(attributes->deadline, 0);
    assert_int_equal(attributes->catch_up, PERIODIC_RUN_EACH);
    world.release = world.now + PERIOD;
    return RESULT_OK;
}

uint64_t periodic_wait(struct periodic *periodic)
{
    (void)periodic;
    if (world.job_runs) {
        world.release += PERIOD;
    }
    world.job_runs = true;
    sleep_until(world.release);
    return world.release;
}

void periodic_statistics(const struct periodic *periodic, struct periodic_statistics *statistics)
{
    (void)periodic;
    *statistics = (struct periodic_statistics){.misses = world.misses};
}

void scheduler_statistics(struct scheduler_statistics *statistics)
{
    memset(statistics, 0, sizeof(*statistics));
    statistics->idle_nanoseconds = world.idle;
    statistics->context_switches = world.switches;
    statistics->interrupts = world.interrupts;
}

static void advance(uint64_t nanoseconds)
{
    world.now += nanoseconds;
}

static int set_up(void **state)
{
    (void)state;
    memset(&world, 0, sizeof(world));
    world.now = 12345;
    return 0;
}

static void test_turns_are_multiples_of_the_period(void **state)
{
    struct periods periods;
    uint64_t begin = time_now();

    (void)state;
    periods_begin(&periods, PERIOD);
    for (uint64_t turn = 1; turn <= 5; turn++) {
        periods_wait(&periods);
        assert_int_equal(time_now(), begin + turn * PERIOD);
        assert_int_equal(periods.count, turn);
    }
    assert_int_equal(periods.missed, 0);
    assert_int_equal(periods.worst, 0);
}

static void test_turn_is_missed_when_the_next_is_due(void **state)
{
    struct periods periods;
    uint64_t begin = time_now();

    (void)state;
    periods_begin(&periods, PERIOD);
    advance(2 * PERIOD - 1);
    periods_wait(&periods);
    assert_int_equal(periods.worst, PERIOD - 1);
    assert_int_equal(periods.missed, 0);
    advance(3 * PERIOD + 1);
    periods_wait(&periods); /* due at 2, but now it is 5 */
    assert_int_equal(periods.worst, 3 * PERIOD);
    assert_int_equal(periods.missed, 1);
    for (unsigned turn = 3; turn <= 5; turn++) { /* 3 and 4 are missed, 5 is due now */
        periods_wait(&periods);
    }
    assert_int_equal(periods.missed, 3);
    assert_int_equal(periods.worst, 3 * PERIOD);
    periods_wait(&periods);
    assert_int_equal(time_now(), begin + 6 * PERIOD);
    assert_int_equal(periods.count, 6);
    assert_int_equal(periods.missed, 3);
}

/* The core wakes late. The lateness, and the turns that are late because of it, are counted
 * separately. */
static void test_core_wakes_late(void **state)
{
    struct periods periods;

    (void)state;
    periods_begin(&periods, PERIOD);
    world.oversleep = PERIOD - 1;
    periods_wait(&periods);
    assert_int_equal(periods.missed_asleep, 0);
    assert_int_equal(periods.worst_asleep, PERIOD - 1);
    world.oversleep = 3 * PERIOD;
    periods_wait(&periods);
    for (unsigned turn = 0; turn < 5; turn++) {
        periods_wait(&periods);
    }
    assert_int_equal(periods.missed, 0);
    assert_int_equal(periods.worst, 0);
    assert_int_equal(periods.missed_asleep, 3);
    assert_int_equal(periods.worst_asleep, 3 * PERIOD);
}

/* The host stops running the processor when it is awake already; nothing else of this system
 * ran. */
static void test_processor_is_not_run(void **state)
{
    struct periods periods;

    (void)state;
    periods_begin(&periods, PERIOD);
    world.taken = 2 * PERIOD;
    for (unsigned turn = 0; turn < 4; turn++) {
        periods_wait(&periods);
    }
    assert_int_equal(periods.missed, 0);
    assert_int_equal(periods.worst, 0);
    assert_int_equal(periods.missed_asleep, 2);
    assert_int_equal(periods.worst_asleep, 2 * PERIOD);
}

/* Other threads of this system delay the turn: that is its own lateness, however long it slept
 * before. */
static void test_other_threads_delay_a_turn(void **state)
{
    struct periods periods;

    (void)state;
    periods_begin(&periods, PERIOD);
    world.others = 3 * PERIOD;
    periods_wait(&periods);
    assert_int_equal(periods.missed, 1);
    assert_int_equal(periods.worst, 2 * PERIOD);
    assert_int_equal(periods.missed_asleep, 0);
    assert_int_equal(periods.worst_asleep, 0);
}

/* Both causes: the system is responsible for at most the time that it was busy during the wait. */
static void test_both_causes(void **state)
{
    struct periods periods;

    (void)state;
    periods_begin(&periods, PERIOD);
    world.others = 10;
    world.oversleep = PERIOD;
    periods_wait(&periods);
    assert_int_equal(periods.missed, 0);
    assert_int_equal(periods.missed_asleep, 1);
    assert_int_equal(periods.worst, 10);
    assert_int_equal(periods.worst_asleep, PERIOD - 10);
    periods_wait(&periods);
    assert_int_equal(periods.worst, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_turns_are_multiples_of_the_period, set_up),
        cmocka_unit_test_setup(test_turn_is_missed_when_the_next_is_due, set_up),
        cmocka_unit_test_setup(test_core_wakes_late, set_up),
        cmocka_unit_test_setup(test_processor_is_not_run, set_up),
        cmocka_unit_test_setup(test_other_threads_delay_a_turn, set_up),
        cmocka_unit_test_setup(test_both_causes, set_up),
    };

    return cmocka_run_group_tests_name("periods", tests, NULL, NULL);
}
