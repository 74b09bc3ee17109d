/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the trace: the order of events, the ring, and the names of threads and VCPUs. */
#include "kernel/trace.h"

#include "kernel/report.h"
#include "kernel/sync.h"
#include "kernel/vcpu.h"
#include "kernel_fixture.h"
#include "sched/thread_trace.h"
#include <stdio.h>
#include <string.h>

#define EVENTS UINT64_C(64)

/* The ring that the last trace_start() made. It stays after trace_stop(). */
static const struct trace *ring;

static void begin(void)
{
    CHECK_EQUAL(trace_start(EVENTS), RESULT_OK);
    ring = trace_ring;
}

static unsigned kind_of(const struct trace_event *event)
{
    return (unsigned)(event->kind_and_ticks >> TRACE_KIND_SHIFT);
}

/* Returns the live entry of a thread, NULL if there is none. */
static const struct trace_thread *entry_of(const char *name)
{
    for (unsigned i = 0; i < TRACE_THREADS; i++) {
        if (ring->threads[i].state != TRACE_NAME_FREE && strcmp(ring->threads[i].name, name) == 0) {
            return &ring->threads[i];
        }
    }
    return NULL;
}

static const char *name_of(uint32_t number)
{
    for (unsigned i = 0; i < TRACE_THREADS; i++) {
        if (ring->threads[i].state != TRACE_NAME_FREE && ring->threads[i].number == number) {
            return ring->threads[i].name;
        }
    }
    return "?";
}

/* Notes the events from number `first` on: a word for each. */
static void note_events(uint64_t first)
{
    static const char *const names[] = {
        [TRACE_SWITCH] = "switch",
        [TRACE_PREEMPT] = "preempt",
        [TRACE_READY] = "ready",
        [TRACE_BLOCK] = "block",
        [TRACE_CREATE] = "create",
        [TRACE_END] = "end",
        [TRACE_BIND] = "bind",
        [TRACE_DEADLINE_MISS] = "miss",
        [TRACE_VCPU_CREATE] = "vcpu",
        [TRACE_VCPU_DESTROY] = "no-vcpu",
        [TRACE_VCPU_EXHAUSTED] = "exhausted",
        [TRACE_VCPU_REPLENISHED] = "replenished",
        [TRACE_VCPU_RUNNABLE] = "runnable",
        [TRACE_VCPU_BLOCKED] = "blocked",
    };
    char word[64];

    for (uint64_t i = first; i < ring->written; i++) {
        const struct trace_event *event = &ring->events[i % ring->capacity];

        if (kind_of(event) >= TRACE_VCPU_CREATE) {
            (void)snprintf(word, sizeof(word), "%s:%u", names[kind_of(event)], event->subject);
        } else if (kind_of(event) == TRACE_BLOCK) {
            (void)snprintf(word, sizeof(word), "block:%s:%u", name_of(event->subject),
                           event->argument >> TRACE_WAIT_KIND_SHIFT);
        } else {
            (void)snprintf(word, sizeof(word), "%s:%s", names[kind_of(event)],
                           name_of(event->subject));
        }
        note(word);
    }
}

static struct semaphore semaphore;
static struct mutex mutex;
static struct event_flags flags;
static struct message_queue queue;
static uint32_t message;

static void use_everything(void *argument)
{
    uint32_t received;

    (void)argument;
    (void)mutex_lock(&mutex, DEADLINE_NONE);
    (void)mutex_unlock(&mutex);
    (void)semaphore_wait(&semaphore, DEADLINE_NONE);
    (void)event_flags_wait(&flags, 1, EVENT_WAIT_ANY, NULL, DEADLINE_NONE);
    (void)message_queue_receive(&queue, &received, DEADLINE_NONE);
    thread_sleep_until(time_now() + 1000);
}

/* The tested thread is more urgent than init, and blocks on an object of each kind. */
static void init_order(void)
{
    struct thread *user;
    uint64_t first;

    mutex_init(&mutex);
    semaphore_init(&semaphore, 0, 1);
    event_flags_init(&flags);
    message_queue_init(&queue, &message, sizeof(message), 1);
    CHECK_EQUAL(mutex_lock(&mutex, DEADLINE_NONE), RESULT_OK);
    begin();
    first = ring->written;
    user = start("user", INIT_PRIORITY + 1, use_everything, NULL);
    (void)mutex_unlock(&mutex);
    (void)semaphore_post(&semaphore);
    event_flags_set(&flags, 1);
    (void)message_queue_send(&queue, &message, DEADLINE_NONE);
    host_clock_advance(2000);
    finish(user);
    note_events(first);
    CHECK_NOTES("create:user ready:user preempt:user block:user:1 switch:init "
                "ready:user preempt:user block:user:2 switch:init "
                "ready:user preempt:user block:user:3 switch:init "
                "ready:user preempt:user block:user:5 switch:init "
                "ready:user preempt:user block:user:0 switch:init "
                "ready:user preempt:user end:user switch:init");
    /* The wait that ended by a deadline says so. */
    CHECK_EQUAL(ring->events[(first + 17) % EVENTS].argument, RESULT_OK);
    CHECK_EQUAL(ring->events[(first + 21) % EVENTS].argument, RESULT_TIMED_OUT);
    /* The same object has the same mark, and another one another. */
    CHECK((ring->events[(first + 3) % EVENTS].argument & TRACE_OBJECT_MASK) != 0);
    CHECK((ring->events[(first + 3) % EVENTS].argument & TRACE_OBJECT_MASK) !=
          (ring->events[(first + 7) % EVENTS].argument & TRACE_OBJECT_MASK));
    trace_stop();
}

static void sleep_once(void *argument)
{
    thread_sleep_until(*(const uint64_t *)argument);
}

/* Times are those of the counter, and the ring tells when the clock was 0. */
static void init_times(void)
{
    uint64_t deadline;
    struct thread *sleeper;
    uint64_t first;

    host_clock_advance(5000);
    begin();
    CHECK_EQUAL(ring->frequency, 1000000000);
    CHECK_EQUAL(ring->start_ticks, 0);
    deadline = time_now() + 300;
    first = ring->written;
    sleeper = start("sleeper", INIT_PRIORITY + 1, sleep_once, &deadline);
    host_clock_advance(1000);
    finish(sleeper);
    /* create ready preempt block switch, and at the deadline: ready */
    CHECK_EQUAL(ring->events[first].kind_and_ticks,
                (uint64_t)TRACE_CREATE << TRACE_KIND_SHIFT | 5000);
    CHECK_EQUAL(ring->events[first + 5].kind_and_ticks,
                (uint64_t)TRACE_READY << TRACE_KIND_SHIFT | 5300);
    trace_stop();
}

/* The oldest events are overwritten, and nothing behind the ring is. */
static void init_wrap(void)
{
    uint64_t first;

    begin();
    CHECK_EQUAL(ring->capacity, EVENTS);
    first = ring->written;
    for (uint32_t i = 0; i < 3 * EVENTS + 5; i++) {
        trace_vcpu_replenished(1, i);
    }
    CHECK_EQUAL(ring->written, first + 3 * EVENTS + 5);
    for (uint64_t i = ring->written - EVENTS; i < ring->written; i++) {
        CHECK_EQUAL(ring->events[i % EVENTS].argument, i - first);
    }
    trace_stop();
}

static void init_sizes(void)
{
    CHECK_EQUAL(trace_start(TRACE_EVENTS_MAX + 1), RESULT_INVALID);
    CHECK_EQUAL(trace_start(TRACE_EVENTS_MAX), RESULT_NO_MEMORY);
    CHECK(trace_ring == NULL);
    CHECK_EQUAL(trace_start(300), RESULT_OK);
    CHECK_EQUAL(trace_ring->capacity, 256);
    CHECK_EQUAL(trace_start(300), RESULT_BUSY);
    CHECK_EQUAL(report_directory.reports[0].kind, REPORT_TRACE);
    CHECK_EQUAL(report_directory.reports[0].address, (uintptr_t)trace_ring);
    CHECK_EQUAL(report_directory.reports[0].bytes,
                sizeof(struct trace) + 256 * sizeof(struct trace_event));
    trace_stop();
    CHECK_EQUAL(trace_start(0), RESULT_OK);
    CHECK_EQUAL(trace_ring->capacity, TRACE_EVENTS_MIN);
    trace_stop();
}

static void nothing(void *argument)
{
    (void)argument;
}

/* Names of live threads stay, however many threads end; init and idle existed before the trace. */
static void init_names(void)
{
    struct thread *ended = start("ended", INIT_PRIORITY + 1, nothing, NULL);
    uint32_t number;

    begin();
    CHECK(entry_of("idle") != NULL);
    CHECK(entry_of("ended") == NULL);
    number = entry_of("init")->number;
    for (unsigned i = 0; i < 3 * TRACE_THREADS; i++) {
        finish(start("short", INIT_PRIORITY + 1, nothing, NULL));
    }
    CHECK_EQUAL(entry_of("init")->state, TRACE_NAME_LIVE);
    CHECK_EQUAL(entry_of("init")->number, number);
    CHECK_EQUAL(entry_of("short")->state, TRACE_NAME_ENDED);
    finish(ended);
    trace_stop();
}

static void wait_for_post(void *argument)
{
    (void)semaphore_wait(argument, DEADLINE_NONE);
}

/* With more threads than entries some have no name, and none loses its name to another. */
static void init_too_many_threads(void)
{
    struct thread *threads[TRACE_THREADS + 3];
    struct semaphore end;
    unsigned named = 0;

    semaphore_init(&end, 0, 100);
    begin();
    for (unsigned i = 0; i < TRACE_THREADS + 3; i++) {
        threads[i] = start("waiter", INIT_PRIORITY + 1, wait_for_post, &end);
    }
    for (unsigned i = 0; i < TRACE_THREADS; i++) {
        CHECK_EQUAL(ring->threads[i].state, TRACE_NAME_LIVE);
        named += strcmp(ring->threads[i].name, "waiter") == 0 ? 1 : 0;
    }
    CHECK_EQUAL(named, TRACE_THREADS - 2);
    for (unsigned i = 0; i < TRACE_THREADS + 3; i++) {
        (void)semaphore_post(&end);
    }
    for (unsigned i = 0; i < TRACE_THREADS + 3; i++) {
        finish(threads[i]);
    }
    for (unsigned i = 0; i < TRACE_THREADS; i++) {
        CHECK(ring->threads[i].state == TRACE_NAME_ENDED ||
              strcmp(ring->threads[i].name, "waiter") != 0);
    }
    trace_stop();
}

static void init_vcpus(void)
{
    uint64_t first;

    begin();
    first = ring->written;
    trace_vcpu_created(2, "a name that is much too long", 1, 1000, 5000);
    trace_thread_bound(thread_current(), 2);
    trace_vcpu_runnable(2);
    trace_vcpu_exhausted(2);
    trace_vcpu_replenished(2, UINT64_MAX);
    trace_deadline_missed(thread_current());
    trace_vcpu_blocked(2);
    trace_vcpu_destroyed(2);
    trace_vcpu_created(33, "no entry", 0, 1, 1);
    trace_vcpu_created(0, "no entry", 0, 1, 1);
    note_events(first);
    CHECK_NOTES("vcpu:2 bind:init runnable:2 exhausted:2 replenished:2 miss:init blocked:2 "
                "no-vcpu:2 vcpu:33 vcpu:0");
    CHECK_EQUAL(strcmp(ring->vcpus[1].name, "a name that is "), 0);
    CHECK_EQUAL(ring->vcpus[1].policy, 1);
    CHECK_EQUAL(ring->vcpus[1].budget_ticks, 1000);
    CHECK_EQUAL(ring->vcpus[1].period_ticks, 5000);
    CHECK_EQUAL(ring->vcpus[1].state, TRACE_NAME_ENDED);
    CHECK_EQUAL(ring->vcpus[0].state, TRACE_NAME_FREE);
    CHECK_EQUAL(entry_of("init")->vcpu, 2);
    CHECK_EQUAL(ring->events[(first + 4) % EVENTS].argument, UINT32_MAX);
    trace_stop();
    trace_vcpu_created(3, "off", 0, 1, 1);
    trace_vcpu_destroyed(3);
    trace_thread_bound(thread_current(), 1);
    trace_deadline_missed(thread_current());
    CHECK_EQUAL(ring->written, first + 10);
}

static void work_too_long(void *argument)
{
    (void)argument;
    thread_sleep_until(time_now() + 500);
    host_clock_advance(2000); /* the budget ends after 1000, and the rest runs in the background */
    host_clock_advance(4000); /* 5000 after its first use the budget is there again, for 1000 */
}

/* The events of a VCPU with a budget of 1000 in 5000, and of its thread. */
static void init_real_vcpu(void)
{
    struct vcpu_param param = {.policy = SCHED_SPORADIC, .C = 1000, .T = 5000, .name = "short"};
    struct thread *thread;
    uint64_t first;
    int id;

    begin();
    first = ring->written;
    id = vcpu_create(&param);
    CHECK_EQUAL(id, 1);
    thread = start("loop", INIT_PRIORITY - 1, work_too_long, NULL);
    CHECK_EQUAL(vcpu_bind_thread(thread, id), 0);
    CHECK_EQUAL(entry_of("loop")->vcpu, 1);
    finish(thread);
    CHECK_EQUAL(vcpu_destroy(id, false), 0);
    note_events(first);
    CHECK_NOTES("vcpu:1 replenished:1 create:loop ready:loop bind:loop runnable:1 preempt:loop "
                "blocked:1 block:loop:0 switch:init block:init:6 switch:idle "
                "ready:loop runnable:1 preempt:loop exhausted:1 replenished:1 exhausted:1 "
                "blocked:1 end:loop ready:init switch:init no-vcpu:1");
    trace_stop();
}

static void test_real_vcpu(void **state)
{
    (void)state;
    kernel_run(init_real_vcpu);
}

static void test_order(void **state)
{
    (void)state;
    kernel_run(init_order);
}

static void test_times(void **state)
{
    (void)state;
    kernel_run(init_times);
}

static void test_wrap(void **state)
{
    (void)state;
    kernel_run(init_wrap);
}

static void test_sizes(void **state)
{
    (void)state;
    kernel_run(init_sizes);
}

static void test_names(void **state)
{
    (void)state;
    kernel_run(init_names);
}

static void test_too_many_threads(void **state)
{
    (void)state;
    kernel_run(init_too_many_threads);
}

static void test_vcpus(void **state)
{
    (void)state;
    kernel_run(init_vcpus);
}

/* Each test boots another kernel, so the ring of the test before is gone. */
static int reset(void **state)
{
    (void)state;
    trace_ring = NULL;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_order, reset),
        cmocka_unit_test_setup(test_times, reset),
        cmocka_unit_test_setup(test_wrap, reset),
        cmocka_unit_test_setup(test_sizes, reset),
        cmocka_unit_test_setup(test_names, reset),
        cmocka_unit_test_setup(test_too_many_threads, reset),
        cmocka_unit_test_setup(test_vcpus, reset),
        cmocka_unit_test_setup(test_real_vcpu, reset),
    };

    return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
