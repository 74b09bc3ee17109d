/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The schedules of Quest-V's paper (3.3) by the running kernel, to the tick: the time of the host
 * machine passes only while a thread executes, so that the kernel itself takes none.
 */
#include "interrupt/scheduler_hooks.h"
#include "kernel/sync.h"
#include "kernel/vcpu.h"
#include "kernel_fixture.h"
#include "sched/core.h"
#include "sched/scheduler.h"
#include <string.h>

#define TICKS 128u

/* Who executes at each tick; ' ': nobody. */
static char timeline[TICKS + 1];
static uint64_t end_of_schedule;

/* Begins a schedule that ends at this time. */
static void begin_schedule(uint64_t end)
{
    memset(timeline, ' ', TICKS);
    timeline[TICKS] = '\0';
    end_of_schedule = end;
}

/* The calling thread executes for so many ticks, and is preempted meanwhile. It ends with the
 * schedule, so that the first thread, which has no VCPU, runs again. */
static void execute(char name, uint64_t ticks)
{
    for (uint64_t i = 0; i < ticks; i++) {
        if (time_now() >= end_of_schedule) {
            thread_exit();
        }
        timeline[time_now()] = name;
        host_clock_advance(1);
    }
}

/* Compares the beginning of the timeline. */
static void check_timeline(const char *expected)
{
    char beginning[TICKS + 1] = "";

    memcpy(beginning, timeline, strlen(expected));
    note(beginning);
    CHECK_NOTES(expected);
}

static unsigned count(char name, unsigned first, unsigned end)
{
    unsigned found = 0;

    for (unsigned i = first; i < end; i++) {
        found += timeline[i] == name ? 1 : 0;
    }
    return found;
}

static int make_vcpu(enum vcpu_policy policy, uint64_t budget, uint64_t period)
{
    struct vcpu_param param = {.policy = policy, .C = budget, .T = period};
    int id = vcpu_create(&param);

    CHECK(id > 0);
    return id;
}

/* Lets the threads run until the time. */
static void run_until(uint64_t time)
{
    (void)thread_set_priority(thread_current(), THREAD_PRIORITY_HIGHEST);
    thread_sleep_until(time);
}

static void spin(void *name)
{
    for (;;) {
        execute(*(const char *)name, 1);
    }
}

static struct figure_7 {
    struct semaphore requested;
    struct semaphore done;
    struct timer delay;
    struct thread *io;
} figure_7;

static void zero(void *argument)
{
    thread_sleep_until(1);
    spin(argument);
}

static void one(void *argument)
{
    for (;;) {
        execute(*(const char *)argument, 18);
        (void)semaphore_post(&figure_7.requested);
        (void)vcpu_request_service(figure_7.io);
        CHECK_EQUAL(semaphore_wait(&figure_7.done, DEADLINE_NONE), RESULT_OK);
    }
}

static void post_done(struct timer *timer, void *argument)
{
    (void)timer;
    (void)argument;
    (void)semaphore_post(&figure_7.done);
}

/* The work of the I/O VCPU takes its whole budget, so that it is in the background when it ends:
 * the timer tells the requester. Other VCPUs, which the figure does not show, delay VCPU 1 until
 * 40. */
static void io(void *argument)
{
    for (;;) {
        uint64_t end;

        CHECK_EQUAL(semaphore_wait(&figure_7.requested, DEADLINE_NONE), RESULT_OK);
        end = time_now() + 2;
        timer_arm(&figure_7.delay, end < 40 ? 40 : end);
        execute(*(const char *)argument, 2);
    }
}

/* A VCPU for each thread. The threads have the same priority: their VCPUs alone count. What they
 * leave goes to another thread in the background (dots), so that none runs without budget. */
static void init_figure_7(void)
{
    int vcpu_zero = make_vcpu(SCHED_SPORADIC, 10, 40);
    int vcpu_one = make_vcpu(SCHED_SPORADIC, 20, 50);
    int vcpu_io = make_vcpu(SCHED_PIBS, 4, 100);

    begin_schedule(114);
    (void)start("background", 11, spin, (void *)(uintptr_t) ".");
    semaphore_init(&figure_7.requested, 0, 1);
    semaphore_init(&figure_7.done, 0, 1);
    timer_init(&figure_7.delay, post_done, NULL);
    figure_7.io = start("io", 10, io, "I");
    CHECK_EQUAL(vcpu_bind_thread(start("zero", 10, zero, "0"), vcpu_zero), 0);
    CHECK_EQUAL(vcpu_bind_thread(start("one", 10, one, "1"), vcpu_one), 0);
    CHECK_EQUAL(vcpu_bind_thread(figure_7.io, vcpu_io), 0);
    run_until(114);
    check_timeline("1"
                   "0000000000"
                   "11111111111111111"
                   "II"
                   ".........."
                   "1"
                   "0000000000"
                   "11111111111111111"
                   ".........."
                   "II"
                   "1"
                   "0000000000"
                   "111"
                   "......"
                   "11111111111111");
    /* Not the 46 units of the POSIX server (schedule B). */
    CHECK_EQUAL(count('1', 0, 100), 40);
}

static void test_figure_7(void **state)
{
    (void)state;
    kernel_run(init_figure_7);
}

/* Three CPU-bound VCPUs: each gets its share in each period, by priority. */
static void init_figure_6(void)
{
    static const struct {
        uint64_t budget;
        uint64_t period;
        const char *name;
    } vcpus[] = {{1, 4, "0"}, {2, 8, "1"}, {8, 16, "2"}};

    begin_schedule(64);
    for (unsigned i = 0; i < 3; i++) {
        int id = make_vcpu(SCHED_SPORADIC, vcpus[i].budget, vcpus[i].period);

        CHECK_EQUAL(vcpu_bind_thread(start("spin", 10, spin, (void *)(uintptr_t)vcpus[i].name), id),
                    0);
    }
    run_until(64);
    for (unsigned i = 0; i < 3; i++) {
        for (uint64_t begin = 0; begin < 64; begin += vcpus[i].period) {
            CHECK_EQUAL(
                count(vcpus[i].name[0], (unsigned)begin, (unsigned)(begin + vcpus[i].period)),
                vcpus[i].budget);
        }
    }
    check_timeline("0112022201120222");
}

static void test_figure_6(void **state)
{
    (void)state;
    kernel_run(init_figure_6);
}

/* A VCPU without budget runs in the background, behind VCPUs that have some, and by the priority of
 * its thread. Execution there costs no budget. */
static void init_background(void)
{
    int id = make_vcpu(SCHED_SPORADIC, 2, 10);

    begin_schedule(100);
    (void)start("low", 5, spin, "-");
    CHECK_EQUAL(vcpu_bind_thread(start("budgeted", 6, spin, "b"), id), 0);
    run_until(4);
    check_timeline("bbbb"); /* 2 on the budget, then in the background before the less urgent one */
    CHECK_EQUAL(vcpu_bind_thread(start("other", 7, spin, "o"), 0), 0);
    thread_sleep_until(24);
    check_timeline("bbbboooooobboooooooobboo");
}

static void test_background(void **state)
{
    (void)state;
    kernel_run(init_background);
}

static void execute_every_other_tick(void *name)
{
    for (;;) {
        execute(*(const char *)name, 1);
        thread_sleep_until(time_now() + 1);
    }
}

/* A thread that blocks after each tick of its budget gets all of it. */
static void init_many_blocks(void)
{
    begin_schedule(80);
    (void)start("background", 11, spin, (void *)(uintptr_t) ".");
    CHECK_EQUAL(vcpu_bind_thread(start("w", 10, execute_every_other_tick, (void *)(uintptr_t) "w"),
                                 make_vcpu(SCHED_SPORADIC, 40, 100)),
                0);
    run_until(80);
    check_timeline("w.w.w.w.w.w.w.w.w.w.w.w.w.w.w.w.w.w.w.w."
                   "w.w.w.w.w.w.w.w.w.w.w.w.w.w.w.w.w.w.w.w.");
}

static void test_many_blocks(void **state)
{
    (void)state;
    kernel_run(init_many_blocks);
}

/* An interrupt's time comes off the budget of the VCPU whose thread it wakes. */
static void interrupt_for_done(void *argument)
{
    (void)argument;
    host_clock_advance(3);
    (void)semaphore_post(&figure_7.done);
}

static void wait_and_spin(void *name)
{
    CHECK_EQUAL(semaphore_wait(&figure_7.done, DEADLINE_NONE), RESULT_OK);
    spin(name);
}

static void init_interrupt(void)
{
    int id = make_vcpu(SCHED_SPORADIC, 5, 20);

    begin_schedule(100);
    semaphore_init(&figure_7.done, 0, 1);
    CHECK_EQUAL(vcpu_bind_thread(start("woken", 5, wait_and_spin, "w"), id), 0);
    (void)start("other", 7, spin, "o");
    run_until(2);
    host_interrupt(interrupt_for_done, NULL); /* 2 .. 5 */
    thread_sleep_until(30);
    check_timeline("oo   wwooooooooooooooowwwwwooo");
}

static void test_interrupt_is_charged(void **state)
{
    (void)state;
    kernel_run(init_interrupt);
}

/* Two interrupts that one exception handles. */
static void interrupt_for_two(void *argument)
{
    (void)argument;
    host_clock_advance(1);
    (void)semaphore_post(&figure_7.done);
    scheduler_interrupt_next();
    host_clock_advance(4);
    (void)semaphore_post(&figure_7.requested);
}

static void wait_for_request(void *argument)
{
    (void)argument;
    CHECK_EQUAL(semaphore_wait(&figure_7.requested, DEADLINE_NONE), RESULT_OK);
}

/* The VCPU of the thread that the first interrupt wakes does not pay for the second one. */
static void init_two_interrupts(void)
{
    int id = make_vcpu(SCHED_SPORADIC, 5, 20);

    begin_schedule(100);
    semaphore_init(&figure_7.done, 0, 1);
    semaphore_init(&figure_7.requested, 0, 1);
    CHECK_EQUAL(vcpu_bind_thread(start("woken", 5, wait_and_spin, "w"), id), 0);
    (void)start("second", 8, wait_for_request, NULL);
    (void)start("other", 7, spin, "o");
    run_until(2);
    host_interrupt(interrupt_for_two, NULL); /* 2 .. 3 and 3 .. 7 */
    thread_sleep_until(30);
    check_timeline("oo     wwwwooooooooooowwwwwooo");
}

static void test_each_interrupt_is_charged(void **state)
{
    (void)state;
    kernel_run(init_two_interrupts);
}

static void sleep_and_spin(void *name)
{
    thread_sleep_until(4);
    spin(name);
}

static void take_3_ticks(struct timer *timer, void *argument)
{
    (void)timer;
    (void)argument;
    host_clock_advance(3);
}

/* At 4 a thread wakes up and a callback is called, from 4 to 7, one of them first. */
static void wake_up_beside_callback(bool callback_first)
{
    struct timer timer;

    begin_schedule(100);
    CHECK_EQUAL(
        vcpu_bind_thread(start("woken", 5, sleep_and_spin, "w"), make_vcpu(SCHED_SPORADIC, 5, 20)),
        0);
    (void)start("other", 7, spin, "o");
    timer_init(&timer, take_3_ticks, NULL);
    if (callback_first) {
        timer_arm(&timer, 4);
    }
    run_until(1);
    if (!callback_first) {
        timer_arm(&timer, 4);
    }
    thread_sleep_until(30);
    CHECK_EQUAL(timer.payer, 0);
    check_timeline("oooo   wwwwwoooooooooooowwwwwo");
}

static void init_callback_after_a_wake_up(void)
{
    wake_up_beside_callback(false);
}

static void init_callback_before_a_wake_up(void)
{
    wake_up_beside_callback(true);
}

/* The VCPU of the thread that wakes up does not pay for the callback, which wakes no thread. */
static void test_callback_beside_a_wake_up_is_not_charged(void **state)
{
    (void)state;
    kernel_run(init_callback_after_a_wake_up);
    kernel_run(init_callback_before_a_wake_up);
}

/* A device: an interrupt posts `requested`, the I/O thread works and wakes the client. */
static struct device {
    struct semaphore requested;
    struct semaphore done[2];
    struct timer interrupts[2];
    unsigned client;
    unsigned ticks; /* of work for an interrupt */
    struct thread *io;
} device;

static void device_interrupt(struct timer *timer, void *argument)
{
    (void)argument;
    device.client = timer == &device.interrupts[0] ? 0 : 1;
    (void)semaphore_post(&device.requested);
}

/* The device interrupts at 5 and at 45. */
static void start_device(unsigned ticks)
{
    device.ticks = ticks;
    semaphore_init(&device.requested, 0, 1);
    for (unsigned i = 0; i < 2; i++) {
        semaphore_init(&device.done[i], 0, 1);
        timer_init(&device.interrupts[i], device_interrupt, NULL);
        timer_arm(&device.interrupts[i], i == 0 ? 5 : 45);
    }
}

static void serve_device(void *name)
{
    for (;;) {
        CHECK_EQUAL(semaphore_wait(&device.requested, DEADLINE_NONE), RESULT_OK);
        execute(*(const char *)name, device.ticks);
        (void)semaphore_post(&device.done[device.client]);
    }
}

static void wait_for_device(unsigned client, char name)
{
    (void)vcpu_request_service(device.io);
    CHECK_EQUAL(semaphore_wait(&device.done[client], DEADLINE_NONE), RESULT_OK);
    execute(name, 5);
    for (;;) {
        thread_sleep_until(DEADLINE_NONE);
    }
}

static void slow_client(void *name)
{
    wait_for_device(0, *(const char *)name);
}

static void fast_client(void *name)
{
    thread_sleep_until(30);
    wait_for_device(1, *(const char *)name);
}

static void spin_from_2(void *name)
{
    thread_sleep_until(2);
    spin(name);
}

static void start_on(enum vcpu_policy policy, uint64_t budget, uint64_t period,
                     void (*entry)(void *), const char *name)
{
    int id = make_vcpu(policy, budget, period);
    struct thread *thread = start(name, 10, entry, (void *)(uintptr_t)name);

    if (policy == SCHED_PIBS) {
        device.io = thread;
    }
    CHECK_EQUAL(vcpu_bind_thread(thread, id), 0);
}

/* The I/O VCPU has the priority of the VCPU whose thread waits for it: behind `a` for the slow
 * client, before `a` for the fast one. */
static void init_inheritance(void)
{
    begin_schedule(58);
    (void)start("background", 11, spin, (void *)(uintptr_t) ".");
    start_device(2);
    start_on(SCHED_SPORADIC, 10, 40, spin_from_2, "a");
    start_on(SCHED_PIBS, 10, 100, serve_device, "i");
    start_on(SCHED_SPORADIC, 20, 100, slow_client, "s");
    start_on(SCHED_SPORADIC, 6, 30, fast_client, "f");
    run_until(58);
    check_timeline("..aaaaaaaaaaiisssss.......................aaaiifffffaaaaaa");
}

static void test_io_vcpu_inherits_priority(void **state)
{
    (void)state;
    kernel_run(init_inheritance);
}

static void late_client(void *name)
{
    thread_sleep_until(7);
    wait_for_device(0, *(const char *)name);
}

/* Work that no thread waits for is behind every Main VCPU: behind `a` at 5 and at 45. A thread
 * that waits for it at 7 gives it a higher priority. */
static void init_work_without_client(void)
{
    begin_schedule(60);
    (void)start("background", 11, spin, (void *)(uintptr_t) ".");
    start_device(2);
    start_on(SCHED_SPORADIC, 10, 40, spin_from_2, "a");
    start_on(SCHED_PIBS, 10, 100, serve_device, "i");
    start_on(SCHED_SPORADIC, 6, 30, late_client, "f");
    run_until(60);
    check_timeline("..aaaaaiifffffaaaaa.......................aaaaaaaaaaii......");
}

static void test_work_without_client(void **state)
{
    (void)state;
    kernel_run(init_work_without_client);
}

static void spin_from_6(void *name)
{
    thread_sleep_until(6);
    spin(name);
}

static void client_from_20(void *name)
{
    thread_sleep_until(20);
    wait_for_device(0, *(const char *)name);
}

/* The I/O VCPU executes a tick that no thread waits for, and `a` then keeps it waiting. At 28 the
 * other thread waits for it, and gives it a higher priority. The time in which the lower one kept
 * it waiting does not count for its next budget: it has none before 64. */
static void init_late_client_forfeits_the_wait(void)
{
    begin_schedule(66);
    (void)start("background", 11, spin, (void *)(uintptr_t) ".");
    start_device(17);
    start_on(SCHED_SPORADIC, 22, 40, spin_from_6, "a");
    start_on(SCHED_PIBS, 25, 100, serve_device, "i");
    start_on(SCHED_SPORADIC, 1, 40, client_from_20, "f");
    run_until(66);
    check_timeline(".....iaaaaaaaaaaaaaaaaaaaaaaiiiiiiiii.........aaaaaaaaaaaaaaaaaaii");
}

static void test_late_client_forfeits_the_wait(void **state)
{
    (void)state;
    kernel_run(init_late_client_forfeits_the_wait);
}

/* Work that no thread waits for, with a single Main VCPU. */
static void init_single_main_vcpu(void)
{
    begin_schedule(20);
    (void)start("background", 11, spin, (void *)(uintptr_t) ".");
    start_device(2);
    start_on(SCHED_SPORADIC, 10, 40, spin_from_2, "a");
    start_on(SCHED_PIBS, 10, 100, serve_device, "i");
    run_until(20);
    check_timeline("..aaaaaaaaaaii......");
}

static void test_work_beside_a_single_main_vcpu(void **state)
{
    (void)state;
    kernel_run(init_single_main_vcpu);
}

/* The replenishment of the less urgent VCPU is due at 50, in the middle of this. */
static void execute_undisturbed(void *name)
{
    uint64_t interrupts;

    thread_sleep_until(40);
    interrupts = core_this()->interrupts;
    execute(*(const char *)name, 18);
    CHECK_EQUAL(core_this()->interrupts, interrupts);
    thread_sleep_until(90);
}

static void execute_once(void *name)
{
    execute(*(const char *)name, 1);
    thread_sleep_until(90);
}

static void init_less_urgent_replenishment(void)
{
    int once = make_vcpu(SCHED_SPORADIC, 2, 20);
    int shorter = make_vcpu(SCHED_SPORADIC, 20, 45);
    int longer = make_vcpu(SCHED_SPORADIC, 10, 50);

    begin_schedule(70);
    (void)start("background", 11, spin, (void *)(uintptr_t) ".");
    CHECK_EQUAL(vcpu_bind_thread(start("once", 10, execute_once, "o"), once), 0);
    CHECK_EQUAL(vcpu_bind_thread(start("longer", 10, spin, "l"), longer), 0);
    CHECK_EQUAL(vcpu_bind_thread(start("shorter", 10, execute_undisturbed, "s"), shorter), 0);
    run_until(70);
    check_timeline("ollllllllll............................."
                   "ssssssssssssssssssllllllllll..");
}

/* It interrupts nothing, and takes effect when the more urgent thread blocks. */
static void test_less_urgent_replenishment_waits(void **state)
{
    (void)state;
    kernel_run(init_less_urgent_replenishment);
}

#define LATE_JOBS 3u

static uint64_t job_began[LATE_JOBS];

/* Is released at 100, 200 and 300, and uses its whole budget each time. */
static void execute_jobs(void *argument)
{
    (void)argument;
    for (unsigned i = 0; i < LATE_JOBS; i++) {
        thread_sleep_until(100 * (i + 1));
        job_began[i] = time_now();
        host_clock_advance(10);
    }
}

/* Masks interrupts from 95 to 130. */
static void hold_up_a_release(void *argument)
{
    (void)argument;
    while (time_now() < 350) {
        if (time_now() == 95) {
            interrupt_state state = interrupts_save();

            host_clock_advance(35);
            interrupts_restore(state);
        }
        host_clock_advance(1);
    }
}

static void init_late_release(void)
{
    int vcpu = make_vcpu(SCHED_SPORADIC, 10, 100);
    struct thread *jobs = start("jobs", 10, execute_jobs, NULL);
    struct thread *other = start("other", 11, hold_up_a_release, NULL);

    CHECK_EQUAL(vcpu_bind_thread(jobs, vcpu), 0);
    finish(jobs);
    finish(other);
    CHECK_EQUAL(job_began[0], 130);
    CHECK_EQUAL(job_began[1], 200);
    CHECK_EQUAL(job_began[2], 300);
}

/* The budget is available again a period after the thread's timer expired, however late the timer's
 * interrupt was handled. */
static void test_late_release_does_not_delay_the_next(void **state)
{
    (void)state;
    kernel_run(init_late_release);
}

static struct semaphore released;

static void release_job(struct timer *timer, void *argument)
{
    (void)timer;
    (void)argument;
    (void)semaphore_post(&released);
}

/* Uses its whole budget in each job, and notes when it has used the first half. */
static void execute_released_jobs(void *argument)
{
    (void)argument;
    for (unsigned i = 0; i < LATE_JOBS; i++) {
        (void)semaphore_wait(&released, DEADLINE_NONE);
        host_clock_advance(5);
        job_began[i] = time_now() - 5;
        host_clock_advance(5);
    }
}

/* Has the processor from 0 on, and arms timers for 905 at 1,000 and at 1,020. */
static void release_jobs_in_the_past(void *argument)
{
    struct timer timer;

    (void)argument;
    timer_init(&timer, release_job, NULL);
    host_clock_advance(1000 - time_now());
    timer_arm(&timer, 905);
    host_clock_advance(1020 - time_now());
    timer_arm(&timer, 905);
    host_clock_advance(1300 - time_now());
}

static void init_release_in_the_past(void)
{
    int vcpu = make_vcpu(SCHED_SPORADIC, 10, 100);
    int other_vcpu = make_vcpu(SCHED_SPORADIC, 5000, 10000);
    struct thread *jobs = start("jobs", 10, execute_released_jobs, NULL);
    struct thread *other = start("other", 10, release_jobs_in_the_past, NULL);

    semaphore_init(&released, 0, 10);
    CHECK_EQUAL(vcpu_bind_thread(jobs, vcpu), 0);
    CHECK_EQUAL(vcpu_bind_thread(other, other_vcpu), 0);
    finish(other);
    CHECK_EQUAL(job_began[0], 1000);
    CHECK_EQUAL(job_began[1], 1100);
}

/* No VCPU has its next budget early because the timer that releases its thread was armed for the
 * past. */
static void test_release_in_the_past(void **state)
{
    (void)state;
    kernel_run(init_release_in_the_past);
}

static uint64_t interrupts_at_22;

/* From 22 to 25, on the budget of the thread that it interrupts. */
static void interrupt_that_ends_a_budget(void *argument)
{
    interrupts_at_22 = core_this()->interrupts;
    interrupt_for_done(argument);
}

static void execute_and_raise(void *name)
{
    thread_sleep_until(20);
    execute(*(const char *)name, 2);
    host_interrupt(interrupt_that_ends_a_budget, NULL);
    spin(name);
}

static void execute_and_look(void *name)
{
    for (;;) {
        if (time_now() == 25) {
            CHECK_EQUAL(core_this()->interrupts, interrupts_at_22);
        }
        execute(*(const char *)name, 1);
    }
}

static void wait_for_done(void *argument)
{
    (void)argument;
    CHECK_EQUAL(semaphore_wait(&figure_7.done, DEADLINE_NONE), RESULT_OK);
}

static void init_replenished_meanwhile(void)
{
    int shorter = make_vcpu(SCHED_SPORADIC, 5, 20);
    int longer = make_vcpu(SCHED_SPORADIC, 2, 22);

    begin_schedule(30);
    semaphore_init(&figure_7.done, 0, 1);
    (void)start("background", 11, spin, (void *)(uintptr_t) ".");
    CHECK_EQUAL(vcpu_bind_thread(start("woken", 12, wait_for_done, NULL), shorter), 0);
    CHECK_EQUAL(vcpu_bind_thread(start("shorter", 10, execute_and_raise, "s"), shorter), 0);
    CHECK_EQUAL(vcpu_bind_thread(start("longer", 10, execute_and_look, "l"), longer), 0);
    run_until(30);
    check_timeline("ll..................ss   ll...");
}

/* A replenishment has waited for a VCPU whose budget an interrupt ends: it takes effect at once. */
static void test_replenished_before_the_end_of_a_budget(void **state)
{
    (void)state;
    kernel_run(init_replenished_meanwhile);
}

static struct mutex section;

static void execute_at_50(void *name)
{
    thread_sleep_until(50);
    execute(*(const char *)name, 20);
}

static void own_section(void *name)
{
    thread_sleep_until(48);
    CHECK_EQUAL(mutex_lock(&section, DEADLINE_NONE), RESULT_OK);
    execute(*(const char *)name, 4);
    CHECK_EQUAL(mutex_unlock(&section), RESULT_OK);
}

/* A job of a whole budget at 50, with the section in it, and the next one a period later. */
static void wait_for_section(void *name)
{
    thread_sleep_until(50);
    execute(*(const char *)name, 4);
    CHECK_EQUAL(mutex_lock(&section, DEADLINE_NONE), RESULT_OK);
    execute(*(const char *)name, 4);
    CHECK_EQUAL(mutex_unlock(&section), RESULT_OK);
    thread_sleep_until(110);
    execute(*(const char *)name, 10);
}

/* A more urgent VCPU delays the job of `w` to 70, and its wait for the mutex divides it. All parts
 * of its budget return a period after the job was released, at 110. */
static void init_budget_around_a_loan(void)
{
    begin_schedule(126);
    mutex_init(&section);
    (void)start("background", 11, spin, (void *)(uintptr_t) ".");
    start_on(SCHED_SPORADIC, 20, 50, execute_at_50, "d");
    start_on(SCHED_SPORADIC, 10, 60, wait_for_section, "w");
    start_on(SCHED_SPORADIC, 10, 200, own_section, "o");
    run_until(126);
    CHECK_EQUAL(count('w', 0, 110), 8);
    check_timeline("................................................oo"
                   "dddddddddddddddddddd"
                   "wwwwoowwww"
                   ".............................."
                   "wwwwwwwwww"
                   "......");
}

static void test_budget_around_a_loan_returns_at_once(void **state)
{
    (void)state;
    kernel_run(init_budget_around_a_loan);
}

#define CALLBACKS_MAX 1000u

static unsigned callbacks;

static void count_callback(struct timer *timer, void *argument)
{
    (void)timer;
    (void)argument;
    callbacks++;
}

/* Has a callback at each tick, and budget for the first two of 40. */
static void call_each_tick(void *argument)
{
    timer_arm_periodic(argument, 1, 1, TIMER_SKIP_MISSED);
    for (;;) {
        host_clock_advance(1);
    }
}

/* Returns the number of callbacks until `time`. The thread that calls has no budget. */
static unsigned callbacks_until(uint64_t time)
{
    unsigned before = callbacks;

    host_clock_advance(time - time_now());
    return callbacks - before;
}

/* Takes a tick, so that the next callback is due at its end. After CALLBACKS_MAX it takes none, so
 * that a test whose callbacks never stop fails instead of lasting for ever. */
static void spend_tick(struct timer *timer, void *argument)
{
    count_callback(timer, argument);
    if (callbacks <= CALLBACKS_MAX) {
        host_clock_advance(1);
    }
}

/* The timer is static, because it stays armed. */
static void start_caller(struct timer *timer, void (*callback)(struct timer *, void *))
{
    struct thread *caller = start("caller", 10, call_each_tick, timer);

    callbacks = 0;
    timer_init(timer, callback, NULL);
    CHECK_EQUAL(vcpu_bind_thread(caller, make_vcpu(SCHED_SPORADIC, 2, 40)), 0);
}

static void init_callbacks_without_preemption(void)
{
    static struct timer timer;

    start_caller(&timer, count_callback);
    run_until(4);
    scheduler_preemption_disable();
    CHECK_EQUAL(callbacks_until(39), 0);
    scheduler_preemption_enable();
    CHECK(callbacks_until(80) > 0);
}

/* Preemption is disabled while memory is allocated, also by a thread without budget. Threads with
 * budget wait for the end of that, and callbacks of a VCPU without budget would delay it. */
static void test_callbacks_do_not_prolong_a_section_without_preemption(void **state)
{
    (void)state;
    kernel_run(init_callbacks_without_preemption);
}

static void init_replenishment_without_preemption(void)
{
    static struct timer timer;

    start_caller(&timer, spend_tick);
    run_until(10);
    scheduler_preemption_disable();
    (void)callbacks_until(39);
    CHECK(callbacks_until(79) <= 3);
    scheduler_preemption_enable();
}

/* A budget that returns while preemption is disabled is used up by callbacks, although no decision
 * is made meanwhile. Otherwise callbacks that are due all the time would leave the thread no
 * instruction, and so would never end. */
static void test_callbacks_use_up_a_budget_that_returns_without_preemption(void **state)
{
    (void)state;
    kernel_run(init_replenishment_without_preemption);
}

/* At 1 and 2, and without budget at 3 to 6; then at 40 to 42, and without budget at 43 to 46. */
static void init_callbacks_in_the_background(void)
{
    static struct timer timer;

    start_caller(&timer, count_callback);
    run_until(4);
    CHECK_EQUAL(callbacks, 4);
    CHECK_EQUAL(callbacks_until(39), 2);
    CHECK_EQUAL(callbacks_until(79), 7);
}

/* Few callbacks of a VCPU without budget interrupt a thread without budget. */
static void test_few_callbacks_in_the_background(void **state)
{
    (void)state;
    kernel_run(init_callbacks_in_the_background);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figure_7),
        cmocka_unit_test(test_figure_6),
        cmocka_unit_test(test_background),
        cmocka_unit_test(test_many_blocks),
        cmocka_unit_test(test_interrupt_is_charged),
        cmocka_unit_test(test_each_interrupt_is_charged),
        cmocka_unit_test(test_callback_beside_a_wake_up_is_not_charged),
        cmocka_unit_test(test_io_vcpu_inherits_priority),
        cmocka_unit_test(test_budget_around_a_loan_returns_at_once),
        cmocka_unit_test(test_work_without_client),
        cmocka_unit_test(test_late_client_forfeits_the_wait),
        cmocka_unit_test(test_work_beside_a_single_main_vcpu),
        cmocka_unit_test(test_less_urgent_replenishment_waits),
        cmocka_unit_test(test_late_release_does_not_delay_the_next),
        cmocka_unit_test(test_release_in_the_past),
        cmocka_unit_test(test_replenished_before_the_end_of_a_budget),
        cmocka_unit_test(test_callbacks_do_not_prolong_a_section_without_preemption),
        cmocka_unit_test(test_callbacks_use_up_a_budget_that_returns_without_preemption),
        cmocka_unit_test(test_few_callbacks_in_the_background),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
