/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests semaphores, and wake-ups at every possible point. */
#include "kernel/sync.h"
#include "kernel_fixture.h"

static struct semaphore semaphore;

static void init_counting(void)
{
    semaphore_init(&semaphore, 1, 2);
    CHECK_EQUAL(semaphore_post(&semaphore), RESULT_OK);
    CHECK_EQUAL(semaphore_post(&semaphore), RESULT_OVERFLOW);
    CHECK_EQUAL(semaphore_wait(&semaphore, DEADLINE_POLL), RESULT_OK);
    CHECK_EQUAL(semaphore_wait(&semaphore, DEADLINE_NONE), RESULT_OK);
    CHECK_EQUAL(semaphore_wait(&semaphore, DEADLINE_POLL), RESULT_TIMED_OUT);
    CHECK_EQUAL(semaphore_wait(&semaphore, 70), RESULT_TIMED_OUT);
    CHECK_EQUAL(time_now(), 70);
    CHECK_EQUAL(semaphore_wait(&semaphore, 5), RESULT_TIMED_OUT); /* a deadline in the past */
    CHECK_EQUAL(time_now(), 70);
    /* Timeouts took nothing from the semaphore. */
    CHECK_EQUAL(semaphore_post(&semaphore), RESULT_OK);
    CHECK_EQUAL(semaphore_wait(&semaphore, 75), RESULT_OK);
}

static void test_counting(void **state)
{
    (void)state;
    kernel_run(init_counting);
}

static void wait_and_note(void *argument)
{
    CHECK_EQUAL(semaphore_wait(&semaphore, DEADLINE_NONE), RESULT_OK);
    note(argument);
}

static void wait_in_vain(void *argument)
{
    CHECK_EQUAL(semaphore_wait(&semaphore, time_after(100)), RESULT_TIMED_OUT);
    note(argument);
}

static void init_order(void)
{
    semaphore_init(&semaphore, 0, 10);
    struct thread *thread[5];

    thread[0] = start("a", 40, wait_and_note, "a");
    thread[1] = start("b", 41, wait_and_note, "b");
    thread[2] = start("c", 40, wait_and_note, "c");
    thread[3] = start("d", 42, wait_in_vain, "d");
    thread[4] = start("e", 33, wait_and_note, "e");
    host_clock_advance(100);
    CHECK_NOTES("d");
    for (unsigned i = 0; i < 4; i++) {
        CHECK_EQUAL(semaphore_post(&semaphore), RESULT_OK);
        CHECK_EQUAL(semaphore.count, 0); /* handed over to the waiter, not counted */
    }
    CHECK_NOTES("b a c e");
    for (unsigned i = 0; i < 5; i++) {
        finish(thread[i]);
    }
}

static void test_order_of_waiters(void **state)
{
    (void)state;
    kernel_run(init_order);
}

/* A post goes to the thread that already waits, even if a more urgent thread asks before that one
 * has run. */
static void take_if_possible(void *argument)
{
    (void)argument;
    CHECK_EQUAL(semaphore_wait(&semaphore, DEADLINE_POLL), RESULT_TIMED_OUT);
    note("nothing left");
}

static void init_hand_over(void)
{
    semaphore_init(&semaphore, 0, 10);
    struct thread *low = start("low", 10, wait_and_note, "low");

    thread_sleep_until(time_after(10));
    CHECK_EQUAL(semaphore_post(&semaphore), RESULT_OK);
    finish(start("high", 60, take_if_possible, NULL));
    finish(low);
    CHECK_NOTES("nothing left low");
}

static void test_hand_over(void **state)
{
    (void)state;
    kernel_run(init_hand_over);
}

static unsigned received;
static unsigned timed_out;
static unsigned posted;

static void receive_some(void *argument)
{
    (void)argument;
    for (unsigned i = 0; i < 3; i++) {
        if (semaphore_wait(&semaphore, time_after(40)) == RESULT_OK) {
            received++;
        } else {
            timed_out++;
        }
    }
}

static void post_from_interrupt(void *argument)
{
    (void)argument;
    host_clock_advance(40); /* the waiter's deadline passes at the same time */
    CHECK_EQUAL(semaphore_post(&semaphore), RESULT_OK);
    posted++;
}

/* Wherever an interrupt posts, each post was received or is still counted, and no thread waits for
 * ever. */
static void init_sweep(void)
{
    received = 0;
    timed_out = 0;
    posted = 0;
    semaphore_init(&semaphore, 0, 10);
    sweep_interrupt(post_from_interrupt, NULL);
    struct thread *receiver = start("receiver", 40, receive_some, NULL);

    CHECK_EQUAL(semaphore_post(&semaphore), RESULT_OK);
    posted++;
    thread_yield();
    CHECK_EQUAL(semaphore_post(&semaphore), RESULT_OK);
    posted++;
    finish(receiver);
    CHECK_EQUAL(received + semaphore.count, posted);
    CHECK_EQUAL(received + timed_out, 3);
}

static void test_post_at_every_point(void **state)
{
    (void)state;
    kernel_sweep(init_sweep, 20);
}

static void poll_in_handler(void *argument)
{
    (void)argument;
    CHECK_EQUAL(semaphore_wait(&semaphore, DEADLINE_POLL), RESULT_OK);
    CHECK_EQUAL(semaphore_wait(&semaphore, DEADLINE_POLL), RESULT_TIMED_OUT);
}

static void init_poll(void)
{
    semaphore_init(&semaphore, 1, 1);
    host_interrupt(poll_in_handler, NULL);
}

static void test_poll_in_interrupt(void **state)
{
    (void)state;
    kernel_run(init_poll);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counting),          cmocka_unit_test(test_order_of_waiters),
        cmocka_unit_test(test_hand_over),         cmocka_unit_test(test_post_at_every_point),
        cmocka_unit_test(test_poll_in_interrupt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
