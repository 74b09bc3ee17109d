/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares the timer queue with a sorted array; tests the kernel's timers and their alarm. */
#include "kernel_fixture.h"
#include "sched/alarm.h"
#include "time/timer_queue.h"
#include <stdio.h>

#define TIMERS 300u

static struct timer timers[TIMERS];
static struct timer *sorted[TIMERS];
static size_t sorted_count;

static void model_remove(const struct timer *timer)
{
    size_t i = 0;

    while (sorted[i] != timer) {
        i++;
    }
    sorted_count--;
    for (; i < sorted_count; i++) {
        sorted[i] = sorted[i + 1];
    }
}

static void model_insert(struct timer *timer)
{
    size_t i = sorted_count;

    for (; i > 0 && sorted[i - 1]->deadline > timer->deadline; i--) {
        sorted[i] = sorted[i - 1];
    }
    sorted[i] = timer;
    sorted_count++;
}

/* Checks that the tree is complete, that links are consistent and that parents come before
 * children. Returns the number of timers in the subtree. */
static size_t check_tree(const struct timer *timer, const struct timer *parent, size_t place,
                         size_t count)
{
    if (timer == NULL) {
        assert_true(place > count);
        return 0;
    }
    assert_true(place <= count);
    assert_ptr_equal(timer->parent, parent);
    assert_true(timer->armed);
    if (parent != NULL) {
        assert_true(parent->deadline < timer->deadline ||
                    (parent->deadline == timer->deadline && parent->sequence < timer->sequence));
    }
    return 1 + check_tree(timer->left, timer, 2 * place, count) +
           check_tree(timer->right, timer, 2 * place + 1, count);
}

static void step(struct timer_queue *queue, uint64_t *random)
{
    struct timer *timer = &timers[random_below(random, TIMERS)];
    unsigned operation = (unsigned)random_below(random, 16);

    if (operation == 0 && sorted_count > 0) {
        uint64_t now = sorted[random_below(random, sorted_count)]->deadline;
        struct timer *due = timer_queue_pop_due(queue, now, UINT64_MAX);

        assert_ptr_equal(due, sorted[0]);
        assert_false(due->armed);
        model_remove(due);
    } else if (timer->armed) {
        timer_queue_remove(queue, timer);
        model_remove(timer);
    } else {
        timer->deadline = random_below(random, 200); /* many are equal */
        timer_queue_insert(queue, timer);
        model_insert(timer);
    }
}

static void test_queue_against_model(void **state)
{
    struct timer_queue queue;
    uint64_t random = 7;

    (void)state;
    timer_queue_init(&queue);
    for (unsigned i = 0; i < 100000; i++) {
        step(&queue, &random);
        assert_ptr_equal(queue.root, sorted_count == 0 ? NULL : sorted[0]);
        if (i % 64 == 0) {
            assert_int_equal(check_tree(queue.root, NULL, 1, queue.count), sorted_count);
        }
    }
    while (sorted_count > 0) {
        assert_null(sorted[0]->deadline == 0
                        ? NULL
                        : timer_queue_pop_due(&queue, sorted[0]->deadline - 1, UINT64_MAX));
        struct timer *due = timer_queue_pop_due(&queue, UINT64_MAX, UINT64_MAX);

        assert_ptr_equal(due, sorted[0]);
        model_remove(due);
        assert_int_equal(check_tree(queue.root, NULL, 1, queue.count), sorted_count);
    }
    assert_null(timer_queue_pop_due(&queue, UINT64_MAX, UINT64_MAX));
}

static void note_timer(struct timer *timer, void *argument)
{
    CHECK(interrupt_context());
    CHECK(!timer->armed);
    CHECK(time_now() >= timer->deadline);
    note(argument);
}

static void init_order(void)
{
    struct timer timer[4];
    uint64_t ticks;
    const char *name[4] = {"0", "1", "2", "3"};

    CHECK(!host_clock_alarm(&ticks)); /* tickless: no alarm without a timer */
    for (unsigned i = 0; i < 4; i++) {
        timer_init(&timer[i], note_timer, (void *)(uintptr_t)name[i]);
    }
    timer_arm(&timer[0], 300);
    timer_arm(&timer[1], 100);
    CHECK(host_clock_alarm(&ticks) && ticks == 100);
    timer_arm(&timer[2], 100);
    timer_arm(&timer[3], 200);
    CHECK(timer_cancel(&timer[3]));
    CHECK(!timer_cancel(&timer[3]));
    host_clock_advance(99);
    CHECK_NOTES("");
    host_clock_advance(1);
    CHECK_NOTES("1 2");
    CHECK(host_clock_alarm(&ticks) && ticks == 300);
    timer_arm(&timer[0], 150); /* earlier than before */
    CHECK(host_clock_alarm(&ticks) && ticks == 150);
    timer_arm(&timer[0], 400); /* later */
    CHECK(host_clock_alarm(&ticks) && ticks == 400);
    host_clock_advance(299);
    CHECK_NOTES("");
    host_clock_advance(1);
    CHECK_NOTES("0");
    CHECK(!host_clock_alarm(&ticks));
    timer_arm(&timer[0], 500);
    CHECK(timer_cancel(&timer[0]));
    CHECK(!host_clock_alarm(&ticks));
    timer_arm(&timer[0], 17); /* in the past: expires at once */
    CHECK_NOTES("0");
}

static void test_order_and_alarm(void **state)
{
    (void)state;
    kernel_run(init_order);
}

static unsigned expirations;

static void rearm(struct timer *timer, void *argument)
{
    (void)argument;
    expirations++;
    timer_arm(timer, timer->deadline + 10);
}

static void cancel_other(struct timer *timer, void *argument)
{
    (void)timer;
    CHECK(timer_cancel(argument));
    note("cancelled");
}

static void rearm_in_the_past(struct timer *timer, void *argument)
{
    (void)argument;
    expirations++;
    if (expirations < 5) {
        timer_arm(timer, 1);
    }
}

static void init_from_callbacks(void)
{
    struct timer periodic;
    struct timer canceller;
    struct timer victim;

    expirations = 0;
    timer_init(&periodic, rearm, NULL);
    timer_arm(&periodic, 10);
    host_clock_advance(1000);
    CHECK_EQUAL(expirations, 100);
    CHECK(timer_cancel(&periodic));
    host_clock_advance(1000);
    CHECK_EQUAL(expirations, 100);

    timer_init(&victim, note_timer, "victim");
    timer_init(&canceller, cancel_other, &victim);
    timer_arm(&canceller, 3000); /* both expire in the same interrupt */
    timer_arm(&victim, 3000);
    host_clock_advance(2000);
    CHECK_NOTES("cancelled");

    expirations = 0;
    timer_init(&periodic, rearm_in_the_past, NULL);
    timer_arm(&periodic, 1);
    CHECK_EQUAL(expirations, 5);
}

static void test_callbacks_may_use_timers(void **state)
{
    (void)state;
    kernel_run(init_from_callbacks);
}

static void note_due(struct timer *timer, void *argument)
{
    char word[24];

    (void)argument;
    CHECK(interrupt_context());
    CHECK(timer->armed && timer->deadline == timer->due + timer->period);
    CHECK(time_now() >= timer->due);
    (void)snprintf(word, sizeof word, "%llu", (unsigned long long)timer->due);
    note(word);
}

static void let_time_pass_masked(uint64_t ticks)
{
    interrupt_state state = interrupts_save();

    host_clock_advance(ticks);
    interrupts_restore(state);
}

static void init_periodic_in_time(void)
{
    struct timer timer;
    uint64_t ticks;

    timer_init(&timer, note_due, NULL);
    timer_arm_periodic(&timer, 15, 10, TIMER_SKIP_MISSED);
    host_clock_advance(50);
    CHECK_NOTES("15 25 35 45");
    CHECK_EQUAL(timer.skipped, 0);
    CHECK(timer_cancel(&timer));
    CHECK(!host_clock_alarm(&ticks));
    timer_arm_periodic(&timer, 60, 10, TIMER_SKIP_MISSED);
    CHECK(host_clock_alarm(&ticks) && ticks == 60);
    CHECK(timer_cancel(&timer));
}

/* 900 periods late: one call, for the latest period. */
static void init_periodic_late(void)
{
    struct timer timer;

    timer_init(&timer, note_due, NULL);
    timer_arm_periodic(&timer, 10, 10, TIMER_SKIP_MISSED);
    let_time_pass_masked(9005);
    CHECK_NOTES("9000");
    CHECK_EQUAL(timer.skipped, 899);
    host_clock_advance(4);
    CHECK_NOTES("");
    host_clock_advance(1);
    CHECK_NOTES("9010");      /* still multiples of the period */
    let_time_pass_masked(20); /* exactly at a deadline */
    CHECK_NOTES("9030");
    CHECK_EQUAL(timer.skipped, 900);
    let_time_pass_masked(19); /* late, but by less than a period */
    CHECK_NOTES("9040");
    CHECK_EQUAL(timer.skipped, 900);
    timer_arm_periodic(&timer, 9060, 10, TIMER_SKIP_MISSED);
    CHECK_EQUAL(timer.skipped, 0);
    host_clock_advance(12);
    CHECK_NOTES("9060");
    CHECK(timer_cancel(&timer));
}

static void init_periodic_each(void)
{
    struct timer timer;

    timer_init(&timer, note_due, NULL);
    timer_arm_periodic(&timer, 10, 10, TIMER_FIRE_EACH);
    let_time_pass_masked(55);
    CHECK_NOTES("10 20 30 40 50");
    CHECK_EQUAL(timer.skipped, 0);
    host_clock_advance(5);
    CHECK_NOTES("60");
    CHECK(timer_cancel(&timer));
}

static void cancel_itself(struct timer *timer, void *argument)
{
    (void)argument;
    expirations++;
    if (expirations == 3) {
        CHECK(timer_cancel(timer));
    }
}

static void arm_once_more(struct timer *timer, void *argument)
{
    (void)argument;
    expirations++;
    if (expirations == 1) {
        timer_arm(timer, 1000);
    }
}

static void init_periodic_changed_by_callback(void)
{
    struct timer timer;

    expirations = 0;
    timer_init(&timer, cancel_itself, NULL);
    timer_arm_periodic(&timer, 10, 10, TIMER_SKIP_MISSED);
    host_clock_advance(500);
    CHECK_EQUAL(expirations, 3);
    expirations = 0;
    timer_init(&timer, arm_once_more, NULL);
    timer_arm_periodic(&timer, 510, 10, TIMER_SKIP_MISSED);
    host_clock_advance(2000);
    CHECK_EQUAL(expirations, 2); /* at 510, and once at 1000 */
    CHECK(!timer.armed);
}

/* The next deadline exceeds 64 bits, so the timer never expires again. */
static void init_periodic_at_the_end(void)
{
    struct timer timer;

    timer_init(&timer, cancel_itself, NULL);
    expirations = 0;
    timer_arm_periodic(&timer, 10, UINT64_MAX - 5, TIMER_SKIP_MISSED);
    host_clock_advance(1000);
    CHECK_EQUAL(expirations, 1);
    CHECK_EQUAL(timer.deadline, UINT64_MAX);
    CHECK(timer_cancel(&timer));
}

static void init_period_of_0(void)
{
    struct timer timer;

    timer_init(&timer, cancel_itself, NULL);
    timer_arm_periodic(&timer, 10, 0, TIMER_FIRE_EACH);
}

static void test_periodic_timers(void **state)
{
    (void)state;
    kernel_run(init_periodic_in_time);
    kernel_run(init_periodic_late);
    kernel_run(init_periodic_each);
    kernel_run(init_periodic_changed_by_callback);
    kernel_run(init_periodic_at_the_end);
    kernel_panics(init_period_of_0, "period of 0");
}

static unsigned in_one_alarm;

static void count_and_rearm(struct timer *timer, void *argument)
{
    (void)argument;
    in_one_alarm++;
    CHECK(in_one_alarm < 100);
    timer_arm(timer, 1);
}

static void call_alarm(void *argument)
{
    (void)argument;
    in_one_alarm = 0;
    alarm_expired();
    CHECK_EQUAL(in_one_alarm, 1);
}

/* A callback that repeatedly arms its timer in the past does not keep the processor inside one
 * interrupt. */
static void init_bounded(void)
{
    struct timer timer;
    interrupt_state state = interrupts_save();

    timer_init(&timer, count_and_rearm, NULL);
    timer_arm(&timer, 1);
    host_clock_advance(10);
    call_alarm(NULL);
    CHECK(timer_cancel(&timer));
    interrupts_restore(state);
}

static void test_alarm_is_bounded(void **state)
{
    (void)state;
    kernel_run(init_bounded);
}

static void early_alarm(void *argument)
{
    (void)argument;
    alarm_expired();
}

static void init_early(void)
{
    struct timer timer;
    uint64_t ticks;

    timer_init(&timer, note_timer, "due");
    timer_arm(&timer, 50);
    host_clock_advance(49);
    host_interrupt(early_alarm, NULL);
    CHECK_NOTES("");
    CHECK(host_clock_alarm(&ticks) && ticks == 50);
    host_clock_advance(1);
    CHECK_NOTES("due");
}

static void test_early_alarm_is_harmless(void **state)
{
    (void)state;
    kernel_run(init_early);
}

static void init_time_after(void)
{
    host_clock_advance(1000);
    CHECK_EQUAL(time_after(5), 1005);
    CHECK_EQUAL(time_after(UINT64_MAX), DEADLINE_NONE - 1);
    CHECK_EQUAL(time_after(DEADLINE_NONE - 1000), DEADLINE_NONE - 1);
    CHECK_EQUAL(time_after(DEADLINE_NONE - 1001), DEADLINE_NONE - 1);
    CHECK_EQUAL(time_after(DEADLINE_NONE - 1002), DEADLINE_NONE - 2);
}

static void test_time_after_saturates(void **state)
{
    (void)state;
    kernel_run(init_time_after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue_against_model),
        cmocka_unit_test(test_order_and_alarm),
        cmocka_unit_test(test_callbacks_may_use_timers),
        cmocka_unit_test(test_periodic_timers),
        cmocka_unit_test(test_alarm_is_bounded),
        cmocka_unit_test(test_early_alarm_is_harmless),
        cmocka_unit_test(test_time_after_saturates),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
