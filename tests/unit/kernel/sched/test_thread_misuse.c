/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests calls that are programming errors: they panic with a message that names the rule. */
#include "kernel/sync.h"
#include "kernel_fixture.h"
#include "sched/scheduler.h"

static struct semaphore wake_up;

static void note_argument(void *argument)
{
    note(argument);
}

static void init_exit_with_mutex(void)
{
    static struct mutex mutex;

    mutex_init(&mutex);
    CHECK_EQUAL(mutex_lock(&mutex, DEADLINE_NONE), RESULT_OK);
    thread_exit();
}

static void block_in_handler(void *argument)
{
    (void)argument;
    thread_sleep_until(1000);
}

static void init_block_in_interrupt(void)
{
    host_interrupt(block_in_handler, NULL);
}

static void init_block_unpreemptible(void)
{
    scheduler_preemption_disable();
    thread_sleep_until(1000);
}

static struct mutex held_by_other;
static struct event_flags no_flags;
static struct message_queue queue_of_one;
static uint64_t queue_storage;

static void hold_mutex(void *argument)
{
    (void)argument;
    CHECK_EQUAL(mutex_lock(&held_by_other, DEADLINE_NONE), RESULT_OK);
    thread_sleep_until(DEADLINE_NONE);
}

static void set_up_blocking_calls(void)
{
    semaphore_init(&wake_up, 0, 1);
    mutex_init(&held_by_other);
    event_flags_init(&no_flags);
    message_queue_init(&queue_of_one, &queue_storage, sizeof queue_storage, 1);
    (void)start("holder", INIT_PRIORITY + 1, hold_mutex, NULL);
}

static void init_sleep_in_section(void)
{
    (void)interrupts_save();
    thread_sleep_until(1000);
}

static void init_join_in_section(void)
{
    struct thread *thread = start("low", INIT_PRIORITY - 1, note_argument, "");

    (void)interrupts_save();
    (void)thread_join(thread, DEADLINE_NONE);
}

static void init_lock_in_section(void)
{
    set_up_blocking_calls();
    (void)interrupts_save();
    (void)mutex_lock(&held_by_other, 1000);
}

static void init_wait_in_section(void)
{
    set_up_blocking_calls();
    (void)interrupts_save();
    (void)semaphore_wait(&wake_up, 1000);
}

static void init_wait_for_flags_in_section(void)
{
    set_up_blocking_calls();
    (void)interrupts_save();
    (void)event_flags_wait(&no_flags, 1, EVENT_WAIT_ANY, NULL, 1000);
}

static void init_receive_in_section(void)
{
    uint64_t message;

    set_up_blocking_calls();
    (void)interrupts_save();
    (void)message_queue_receive(&queue_of_one, &message, DEADLINE_NONE);
}

static void init_send_in_section(void)
{
    uint64_t message = 1;

    set_up_blocking_calls();
    CHECK_EQUAL(message_queue_send(&queue_of_one, &message, DEADLINE_NONE), RESULT_OK);
    (void)interrupts_save();
    (void)message_queue_send(&queue_of_one, &message, DEADLINE_NONE);
}

static void init_exit_in_section(void)
{
    (void)interrupts_save();
    thread_exit();
}

/* Calls that do not have to wait are allowed. */
static void init_poll_in_section(void)
{
    uint64_t message = 7;
    interrupt_state state;

    set_up_blocking_calls();
    CHECK_EQUAL(semaphore_post(&wake_up), RESULT_OK);
    event_flags_set(&no_flags, 1);
    state = interrupts_save();
    thread_sleep_until(DEADLINE_POLL);
    CHECK_EQUAL(mutex_lock(&held_by_other, DEADLINE_POLL), RESULT_TIMED_OUT);
    CHECK_EQUAL(semaphore_wait(&wake_up, DEADLINE_NONE), RESULT_OK);
    CHECK_EQUAL(semaphore_wait(&wake_up, DEADLINE_POLL), RESULT_TIMED_OUT);
    CHECK_EQUAL(event_flags_wait(&no_flags, 1, EVENT_WAIT_ANY, NULL, DEADLINE_POLL), RESULT_OK);
    CHECK_EQUAL(message_queue_send(&queue_of_one, &message, DEADLINE_POLL), RESULT_OK);
    CHECK_EQUAL(message_queue_send(&queue_of_one, &message, DEADLINE_POLL), RESULT_TIMED_OUT);
    CHECK_EQUAL(message_queue_receive(&queue_of_one, &message, DEADLINE_POLL), RESULT_OK);
    interrupts_restore(state);
}

static void test_blocking_in_a_critical_section_panics(void **state)
{
    static void (*const blocking[])(void) = {
        init_sleep_in_section, init_join_in_section,    init_lock_in_section,
        init_wait_in_section,  init_receive_in_section, init_wait_for_flags_in_section,
        init_send_in_section,
    };

    (void)state;
    for (size_t i = 0; i < sizeof blocking / sizeof blocking[0]; i++) {
        kernel_panics(blocking[i], "a blocking call was made inside a critical section");
    }
    kernel_panics(init_exit_in_section, "thread init ended inside a critical section");
    kernel_run(init_poll_in_section);
}

static void test_misuse_panics(void **state)
{
    (void)state;
    kernel_panics(init_exit_with_mutex, "thread init ended with a mutex locked");
    kernel_panics(init_block_in_interrupt, "blocking");
    kernel_panics(init_block_unpreemptible, "blocking");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocking_in_a_critical_section_panics),
        cmocka_unit_test(test_misuse_panics),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
