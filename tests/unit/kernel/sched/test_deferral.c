/* SPDX-License-Identifier: BSD-2-Clause */
/* Deferrable interrupts by the running kernel: which threads they interrupt. */
#include "kernel/sync.h"
#include "kernel/vcpu.h"
#include "kernel_fixture.h"

#define FOR_EVER UINT64_C(1000)

static struct {
    struct semaphore work;
    struct semaphore reply;
    struct thread *server;
    unsigned handled;
    unsigned served;
} device;

static void handler(void *argument)
{
    (void)argument;
    device.handled++;
    (void)semaphore_post(&device.work);
}

static void raise_interrupt(void)
{
    host_deferrable_interrupt(handler, NULL);
}

static void serve(void *argument)
{
    (void)argument;
    for (;;) {
        CHECK_EQUAL(semaphore_wait(&device.work, DEADLINE_NONE), RESULT_OK);
        device.served++;
    }
}

static int make_vcpu(enum vcpu_policy policy, uint64_t budget, uint64_t period)
{
    struct vcpu_param param = {.policy = policy, .C = budget, .T = period};
    int id = vcpu_create(&param);

    CHECK(id > 0);
    return id;
}

static struct thread *start_on_vcpu(const char *name, void (*entry)(void *), int id)
{
    struct thread *thread = start(name, 10, entry, NULL);

    CHECK_EQUAL(vcpu_bind_thread(thread, id), 0);
    return thread;
}

static void prepare(void)
{
    device = (__typeof__(device)){.handled = 0};
    semaphore_init(&device.work, 0, 1);
    semaphore_init(&device.reply, 0, 1);
    (void)thread_set_priority(thread_current(), THREAD_PRIORITY_HIGHEST);
    device.server = start_on_vcpu("server", serve, make_vcpu(SCHED_PIBS, 10, 100));
    thread_sleep_until(1);
    interrupt_set_server(device.server);
}

/* A VCPU of budget 50. The interrupt comes while it executes; it ends or blocks later. */
static void interrupted(void *argument)
{
    (void)argument;
    raise_interrupt();
    host_clock_advance(20);
    CHECK_EQUAL(device.handled, 0);
    thread_sleep_until(FOR_EVER);
}

static void init_more_urgent(void)
{
    prepare();
    (void)start_on_vcpu("loop", interrupted, make_vcpu(SCHED_SPORADIC, 50, 100));
    thread_sleep_until(10);
    CHECK_EQUAL(time_now(), 21); /* this thread has no VCPU, and waited for it */
    CHECK_EQUAL(device.handled, 1);
    CHECK_EQUAL(device.served, 1);
    /* In the background, it comes at once. */
    raise_interrupt();
    CHECK_EQUAL(device.handled, 2);
    CHECK_EQUAL(device.served, 2);
    interrupt_set_server(NULL);
}

static void test_waits_for_a_more_urgent_thread(void **state)
{
    (void)state;
    kernel_run(init_more_urgent);
}

/* The budget of 50 ends at 51, and with it the urgency of the thread, which goes on. */
static void execute_beyond_budget(void *argument)
{
    (void)argument;
    raise_interrupt();
    host_clock_advance(49);
    CHECK_EQUAL(device.handled, 0);
    host_clock_advance(1);
    CHECK_EQUAL(device.handled, 1);
    CHECK_EQUAL(device.served, 1);
    thread_sleep_until(FOR_EVER);
}

static void init_budget(void)
{
    prepare();
    (void)start_on_vcpu("loop", execute_beyond_budget, make_vcpu(SCHED_SPORADIC, 50, 100));
    thread_sleep_until(200);
    CHECK_EQUAL(device.served, 1);
    interrupt_set_server(NULL);
}

static void test_comes_at_the_end_of_the_budget(void **state)
{
    (void)state;
    kernel_run(init_budget);
}

static void wait_for_server(void *argument)
{
    (void)argument;
    (void)vcpu_request_service(device.server);
    CHECK_EQUAL(semaphore_wait(&device.reply, DEADLINE_NONE), RESULT_OK);
}

static void raise_above_server(void *argument)
{
    unsigned handled = device.handled;

    (void)argument;
    raise_interrupt();
    CHECK_EQUAL(device.handled, handled);
}

static void raise_below_server(void *argument)
{
    unsigned handled = device.handled;

    (void)argument;
    raise_interrupt();
    CHECK_EQUAL(device.handled, handled + 1);
    CHECK_EQUAL(device.served, device.handled);
}

/* A thread of the period 200 waits for the server, which would have its urgency now. */
static void init_client(void)
{
    int slow = make_vcpu(SCHED_SPORADIC, 40, 400);
    int fast;

    prepare();
    fast = make_vcpu(SCHED_SPORADIC, 10, 100);
    (void)start_on_vcpu("client", wait_for_server, make_vcpu(SCHED_SPORADIC, 20, 200));
    thread_sleep_until(2);
    (void)start_on_vcpu("slow", raise_below_server, slow);
    thread_sleep_until(3);
    CHECK_EQUAL(device.handled, 1);
    (void)start_on_vcpu("fast", raise_above_server, fast);
    thread_sleep_until(4);
    CHECK_EQUAL(device.handled, 2);
    CHECK_EQUAL(device.served, 2);
    (void)semaphore_post(&device.reply);
    /* No thread waits for the work of the server any more. */
    thread_sleep_until(5);
    (void)start_on_vcpu("slow", raise_above_server, slow);
    thread_sleep_until(6);
    CHECK_EQUAL(device.served, 3);
    interrupt_set_server(NULL);
}

static void test_urgency_of_the_waiting_client(void **state)
{
    (void)state;
    kernel_run(init_client);
}

/* A timer and the interrupt are pending when interrupts are enabled: the timer comes first, and the
 * thread that it wakes is not interrupted. */
static void sleep_and_look(void *argument)
{
    (void)argument;
    thread_sleep_until(20);
    CHECK_EQUAL(device.handled, 0);
    host_clock_advance(5);
    CHECK_EQUAL(device.handled, 0);
    thread_sleep_until(FOR_EVER);
}

static void init_timer_first(void)
{
    interrupt_state state;

    prepare();
    (void)start_on_vcpu("loop", sleep_and_look, make_vcpu(SCHED_SPORADIC, 50, 100));
    thread_sleep_until(10);
    state = interrupts_save();
    raise_interrupt();
    host_clock_advance(10);
    interrupts_restore(state);
    CHECK_EQUAL(time_now(), 25);
    CHECK_EQUAL(device.served, 1);
    interrupt_set_server(NULL);
}

static void test_timer_comes_first(void **state)
{
    (void)state;
    kernel_run(init_timer_first);
}

/* Its budget of 50 ends at 2050. A timer is due at 2060: the budget's end waits for it, because it
 * comes less than 1400 ticks before. */
static void execute_until_timer(void *argument)
{
    (void)argument;
    raise_interrupt();
    host_clock_advance(59);
    CHECK_EQUAL(device.handled, 0);
    host_clock_advance(1);
    CHECK_EQUAL(device.handled, 1);
    thread_sleep_until(DEADLINE_NONE - 1);
}

static void count_call(struct timer *timer, void *calls)
{
    (void)timer;
    ++*(unsigned *)calls;
}

static void init_decision_waits(void)
{
    struct timer timer;
    unsigned calls = 0;

    prepare();
    thread_sleep_until(2000);
    timer_init(&timer, count_call, &calls);
    timer_arm(&timer, 2060);
    (void)start_on_vcpu("loop", execute_until_timer, make_vcpu(SCHED_SPORADIC, 50, 100));
    thread_sleep_until(4000);
    CHECK_EQUAL(calls, 1);
    CHECK_EQUAL(device.served, 1);
    interrupt_set_server(NULL);
}

/* One interrupt ends the budget and calls the timer, so that the timer waits for no other. */
static void test_decision_waits_for_a_near_timer(void **state)
{
    (void)state;
    kernel_run(init_decision_waits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits_for_a_more_urgent_thread),
        cmocka_unit_test(test_comes_at_the_end_of_the_budget),
        cmocka_unit_test(test_urgency_of_the_waiting_client),
        cmocka_unit_test(test_timer_comes_first),
        cmocka_unit_test(test_decision_waits_for_a_near_timer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
