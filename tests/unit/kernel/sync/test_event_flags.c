/* SPDX-License-Identifier: BSD-2-Clause */
/* Event flags. */
#include "kernel/sync.h"
#include "kernel_fixture.h"

static struct event_flags events;

static void init_modes(void)
{
    uint32_t seen = 0;

    event_flags_init(&events);
    CHECK_EQUAL(event_flags_wait(&events, 0, EVENT_WAIT_ANY, &seen, DEADLINE_POLL), RESULT_INVALID);
    CHECK_EQUAL(event_flags_wait(&events, 1, 4, &seen, DEADLINE_POLL), RESULT_INVALID);
    CHECK_EQUAL(event_flags_wait(&events, 6, EVENT_WAIT_ANY, &seen, DEADLINE_POLL),
                RESULT_TIMED_OUT);
    CHECK_EQUAL(seen, 0);
    event_flags_set(&events, 0x80000002);
    CHECK_EQUAL(event_flags_wait(&events, 6, EVENT_WAIT_ANY, &seen, DEADLINE_POLL), RESULT_OK);
    CHECK_EQUAL(seen, 0x80000002);
    seen = 0;
    CHECK_EQUAL(event_flags_wait(&events, 6, EVENT_WAIT_ALL, &seen, DEADLINE_POLL),
                RESULT_TIMED_OUT);
    CHECK_EQUAL(seen, 0x80000002); /* all flags that were set, not only those waited for */
    seen = 0;
    CHECK_EQUAL(event_flags_wait(&events, 6, EVENT_WAIT_ALL, &seen, 30), RESULT_TIMED_OUT);
    CHECK_EQUAL(seen, 0x80000002);
    CHECK_EQUAL(time_now(), 30);
    event_flags_set(&events, 4);
    CHECK_EQUAL(event_flags_wait(&events, 6, EVENT_WAIT_ALL, NULL, DEADLINE_NONE), RESULT_OK);
    CHECK_EQUAL(event_flags_wait(&events, 3, EVENT_WAIT_ANY | EVENT_WAIT_CLEAR, &seen, 50),
                RESULT_OK);
    CHECK_EQUAL(seen, 0x80000006);
    CHECK_EQUAL(events.flags, 0x80000004);
    event_flags_clear(&events, 0x80000001);
    CHECK_EQUAL(events.flags, 4);
    event_flags_set(&events, 3);
    CHECK_EQUAL(event_flags_wait(&events, 6, EVENT_WAIT_ALL | EVENT_WAIT_CLEAR, &seen, 50),
                RESULT_OK);
    CHECK_EQUAL(events.flags, 1);
}

static void test_modes(void **state)
{
    (void)state;
    kernel_run(init_modes);
}

static const struct wish {
    const char *name;
    unsigned priority;
    uint32_t flags;
    unsigned mode;
    uint32_t seen;
} wishes[] = {
    {"any1", 40, 0x3, EVENT_WAIT_ANY | EVENT_WAIT_CLEAR, 0x1},
    {"all12", 50, 0x3, EVENT_WAIT_ALL, 0x7},
    {"any4", 33, 0x4, EVENT_WAIT_ANY, 0x6},
    {"clear4", 34, 0x4, EVENT_WAIT_ANY | EVENT_WAIT_CLEAR, 0x6},
};

static void wait_for_wish(void *argument)
{
    const struct wish *wish = argument;
    uint32_t seen;

    CHECK_EQUAL(event_flags_wait(&events, wish->flags, wish->mode, &seen, DEADLINE_NONE),
                RESULT_OK);
    CHECK_EQUAL(seen, wish->seen);
    note(wish->name);
}

static struct thread *start_wish(unsigned i)
{
    return start(wishes[i].name, wishes[i].priority, wait_for_wish, (void *)(uintptr_t)&wishes[i]);
}

static void init_waiters(void)
{
    struct thread *thread[4];

    event_flags_init(&events);
    thread[0] = start_wish(0);
    thread[1] = start_wish(1);
    event_flags_set(&events, 1); /* enough for `any1`, which consumes it */
    CHECK_NOTES("any1");
    CHECK_EQUAL(events.flags, 0);
    thread[0] = (finish(thread[0]), NULL);
    event_flags_set(&events, 2);
    CHECK_NOTES("");
    event_flags_clear(&events, 2);
    event_flags_set(&events, 5);
    CHECK_NOTES("");
    event_flags_set(&events, 2);
    CHECK_NOTES("all12");
    finish(thread[1]);

    /* The more urgent of two threads gets the flag, the other one keeps waiting. */
    events.flags = 2;
    thread[2] = start_wish(2);
    thread[3] = start_wish(3);
    event_flags_set(&events, 4);
    CHECK_NOTES("clear4");
    CHECK_EQUAL(events.flags, 2);
    event_flags_set(&events, 4);
    CHECK_NOTES("any4");
    CHECK_EQUAL(events.flags, 6);
    finish(thread[2]);
    finish(thread[3]);
}

static void test_waiters(void **state)
{
    (void)state;
    kernel_run(init_waiters);
}

static unsigned woken;

static void wait_for_flag(void *argument)
{
    uint32_t flag = *(const uint32_t *)argument;

    CHECK_EQUAL(event_flags_wait(&events, flag, EVENT_WAIT_ANY, NULL, DEADLINE_NONE), RESULT_OK);
    woken++;
}

static void wait_briefly(void *argument)
{
    (void)argument;
    CHECK_EQUAL(event_flags_wait(&events, 2, EVENT_WAIT_ANY, NULL, 100), RESULT_TIMED_OUT);
}

/* event_flags_set() bounds the number of threads it wakes, so a further waiter is refused. A
 * timeout makes room. */
static void init_as_many_as_fit(void)
{
    static uint32_t flag = 1;
    struct thread *threads[EVENT_FLAGS_WAITERS_MAX];
    uint32_t seen = 0;

    woken = 0;
    event_flags_init(&events);
    for (unsigned i = 0; i < EVENT_FLAGS_WAITERS_MAX - 1; i++) {
        threads[i] = start("waiter", INIT_PRIORITY + 1 + i % 3, wait_for_flag, &flag);
    }
    finish(start("brief", INIT_PRIORITY + 1, wait_briefly, NULL));
    CHECK_EQUAL(time_now(), 100);
    threads[EVENT_FLAGS_WAITERS_MAX - 1] = start("last", INIT_PRIORITY + 1, wait_for_flag, &flag);
    event_flags_set(&events, 4);
    CHECK_EQUAL(event_flags_wait(&events, 2, EVENT_WAIT_ANY, &seen, DEADLINE_NONE),
                RESULT_OVERFLOW);
    CHECK_EQUAL(seen, 4);
    CHECK_EQUAL(event_flags_wait(&events, 2, EVENT_WAIT_ANY, &seen, DEADLINE_POLL),
                RESULT_TIMED_OUT);
    CHECK_EQUAL(event_flags_wait(&events, 4, EVENT_WAIT_ANY, &seen, DEADLINE_NONE), RESULT_OK);
    CHECK_EQUAL(woken, 0);
    event_flags_set(&events, 1);
    CHECK_EQUAL(woken, EVENT_FLAGS_WAITERS_MAX);
    for (unsigned i = 0; i < EVENT_FLAGS_WAITERS_MAX; i++) {
        finish(threads[i]);
    }
}

static void test_as_many_waiters_as_fit(void **state)
{
    (void)state;
    kernel_run(init_as_many_as_fit);
}

static uint32_t collected;
static bool interrupt_came;

static void collect(void *argument)
{
    (void)argument;
    while (collected != 7) {
        uint32_t seen;
        enum result result =
            event_flags_wait(&events, 7, EVENT_WAIT_ANY | EVENT_WAIT_CLEAR, &seen, time_after(25));

        CHECK(result == RESULT_OK || result == RESULT_TIMED_OUT);
        if (result == RESULT_OK) {
            CHECK((seen & 7) != 0 && (collected & seen) == 0);
            collected |= seen;
        }
        CHECK(time_now() < 1000);
    }
}

static void set_from_interrupt(void *argument)
{
    (void)argument;
    interrupt_came = true;
    host_clock_advance(25);
    event_flags_set(&events, 2);
}

static void init_sweep(void)
{
    collected = 0;
    interrupt_came = false;
    event_flags_init(&events);
    sweep_interrupt(set_from_interrupt, NULL);
    struct thread *collector = start("collector", 40, collect, NULL);

    event_flags_set(&events, 1);
    thread_yield();
    event_flags_set(&events, 4);
    if (!interrupt_came) {
        event_flags_set(&events, 2);
    }
    finish(collector); /* each flag was received exactly once */
}

static void test_set_at_every_point(void **state)
{
    (void)state;
    kernel_sweep(init_sweep, 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_waiters),
        cmocka_unit_test(test_as_many_waiters_as_fit),
        cmocka_unit_test(test_set_at_every_point),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
