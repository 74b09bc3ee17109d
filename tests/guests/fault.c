/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Causes the failure that the boot argument `fault` names, so that a test can check the report.
 * Ends with status 1 if the failure did not occur.
 */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/heartbeat.h"
#include "kernel/interrupt.h"
#include "kernel/memory.h"
#include "kernel/panic.h"
#include "kernel/periodic.h"
#include "kernel/print.h"
#include "kernel/result.h"
#include "kernel/scrub.h"
#include "kernel/sync.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "kernel/watchdog.h"
#include "sched/core.h"
#include <arch/mmu.h>
#include <string.h>

/* Ends the program if a function does not return RESULT_OK. */
#define CHECK_START(call)                                 \
    do {                                                  \
        enum result result_ = (call);                     \
        if (result_ != RESULT_OK) {                       \
            panic("%s: %s", #call, result_text(result_)); \
        }                                                 \
    } while (0)

static const uint32_t constant = 1;
static uint32_t writable_code[] = {0xd65f03c0}; /* RET */

/* Returns the value in a way that the compiler can't see through. */
static uintptr_t hide(uintptr_t value)
{
    __asm__ volatile("" : "+r"(value));
    return value;
}

static void write_to(uintptr_t address)
{
    *(volatile uint32_t *)address = 0;
}

static void write_text(void)
{
    write_to(hide((uintptr_t)application_main));
}

static void write_constants(void)
{
    write_to(hide((uintptr_t)&constant));
}

/* Accesses a page, so that its translation is cached, and unmaps it. */
static void write_unmapped(void)
{
    void *page = page_allocate(1, PAGE_BYTES);

    if (page != NULL) {
        write_to(hide((uintptr_t)page));
        (void)arch_mmu_unmap(page, PAGE_BYTES);
        write_to(hide((uintptr_t)page));
    }
}

static void call(uintptr_t address)
{
    ((void (*)(void))address)();
}

static void execute_data(void)
{
    call(hide((uintptr_t)writable_code));
}

static void execute_heap(void)
{
    uint32_t *code = heap_allocate(sizeof writable_code);

    if (code != NULL) {
        memcpy(code, writable_code, sizeof writable_code);
        call(hide((uintptr_t)code));
    }
}

static void read_null(void)
{
    (void)*(volatile uint32_t *)hide(8);
}

static void call_null(void)
{
    call(hide(0));
}

/* Avoids a tail call, so that each recursion keeps its frame. Avoids inlining into itself, because
 * several recursions would make a frame above the limit. */
__attribute__((noinline)) static unsigned recurse(unsigned depth)
{
    volatile uint8_t frame[512];

    if (depth == hide(UINTPTR_MAX)) {
        return depth;
    }
    frame[depth % sizeof frame] = (uint8_t)depth;
    return recurse(depth + 1) + frame[depth % sizeof frame];
}

static void overflow_stack(void)
{
    (void)recurse(0);
}

static void undefined(void)
{
    __asm__ volatile("udf #0");
}

/* Makes an unaligned exclusive access. It faults in every type of memory, and even with FEAT_LSE2
 * if it crosses 16 bytes. */
static void unaligned(void)
{
    static uint64_t words[4] __attribute__((aligned(32)));
    uint64_t value;

    __asm__ volatile("ldxr %0, [%1]" : "=r"(value) : "r"(hide((uintptr_t)words + 12)) : "memory");
}

static void panic_plainly(void)
{
    panic("number %d", 42);
}

static void read_null_in_timer(struct timer *timer, void *argument)
{
    (void)timer;
    (void)argument;
    read_null();
}

static void panic_in_timer(struct timer *timer, void *argument)
{
    (void)timer;
    (void)argument;
    panic("in a timer");
}

static void overflow_in_timer(struct timer *timer, void *argument)
{
    (void)timer;
    (void)argument;
    overflow_stack();
}

static void with_timer(void (*callback)(struct timer *, void *))
{
    static struct timer timer;
    uint64_t end = time_after(20 * NANOSECONDS_PER_SECOND);

    timer_init(&timer, callback, NULL);
    timer_arm(&timer, time_after(NANOSECONDS_PER_MILLISECOND));
    while (time_now() < end) {
    }
}

static void null_in_interrupt(void)
{
    with_timer(read_null_in_timer);
}

static void panic_in_interrupt(void)
{
    with_timer(panic_in_timer);
}

static void overflow_in_interrupt(void)
{
    with_timer(overflow_in_timer);
}

/* Makes the chain of frames point to itself, then to an address that is not memory. */
static void corrupt_frames(uintptr_t next)
{
    uintptr_t *record = __builtin_frame_address(0);

    record[0] = next == 0 ? (uintptr_t)record : next;
    panic("corrupt frames");
}

static void frames_in_circle(void)
{
    corrupt_frames(hide(0));
}

static void frames_into_nowhere(void)
{
    corrupt_frames(hide(0x1230));
}

/* Corrupts the pointer to the running thread, which every report reads. */
static void corrupt_thread(void)
{
    struct core *core = core_this();

    core->current = (struct thread *)hide(0x123450);
    panic("corrupt thread");
}

static struct mutex held;

static void wait_for_held(void *argument)
{
    struct watchdog *watchdog = argument;

    watchdog_arm(watchdog, NULL, 100 * NANOSECONDS_PER_MILLISECOND);
    (void)mutex_lock(&held, DEADLINE_NONE);
    (void)mutex_unlock(&held);
}

/* The thread that is to feed a watchdog waits for a mutex whose owner loops. */
static void starve_watchdog(void)
{
    static struct watchdog watchdog;
    const struct thread_attributes attributes = {
        .name = "feeder", .priority = THREAD_PRIORITY_HIGHEST, .stack_bytes = PAGE_BYTES};
    uint64_t end = time_after(20 * NANOSECONDS_PER_SECOND);
    struct thread *thread;

    mutex_init(&held);
    watchdog_init(&watchdog, "guard", NULL, NULL);
    (void)mutex_lock(&held, DEADLINE_NONE);
    if (thread_create(&thread, &attributes, wait_for_held, &watchdog) == RESULT_OK) {
        while (time_now() < end) {
        }
    }
    (void)mutex_unlock(&held);
}

/* Changes a bit of memory that a scrubber reads, after it has read it several times. */
static void change_scrubbed(void)
{
    static uint64_t words[PAGE_BYTES / sizeof(uint64_t)] = {1};
    const struct scrub_range range = {words, sizeof(words)};
    const struct scrub_attributes attributes = {.period = NANOSECONDS_PER_MILLISECOND,
                                                .priority = THREAD_PRIORITY_HIGHEST,
                                                .ranges = &range,
                                                .range_count = 1};

    CHECK_START(scrub_start(&attributes));
    if (scrub_start(&attributes) != RESULT_BUSY) {
        panic("the scrubber starts twice");
    }
    thread_sleep_until(time_after(20 * NANOSECONDS_PER_MILLISECOND));
    print("fault: changes the page at %p\n", (const void *)words);
    words[1] ^= 1;
    thread_sleep_until(time_after(NANOSECONDS_PER_SECOND));
}

/* Masks its interrupts for ever, between two beats. */
static void loop_masked(void)
{
    CHECK_START(heartbeat_start());
    (void)interrupts_save();
    for (;;) {
        __asm__ volatile("" : : : "memory");
    }
}

static void note_expiry(struct watchdog *watchdog, void *argument)
{
    (void)watchdog;
    (void)argument;
    print("fault: the thread makes no progress\n");
}

/* Loops with interrupts on, and does not feed its watchdog, whose hook does not panic. */
static void loop_unfed(void)
{
    static struct watchdog watchdog;

    CHECK_START(heartbeat_start());
    watchdog_init(&watchdog, "guard", note_expiry, NULL);
    watchdog_arm(&watchdog, NULL, 50 * NANOSECONDS_PER_MILLISECOND);
    for (;;) {
        __asm__ volatile("" : : : "memory");
    }
}

static void object(struct periodic *periodic, void *argument)
{
    (void)periodic;
    (void)argument;
    print("fault: the deadline was missed\n");
    heartbeat_withhold();
}

/* Does not complete its first job. */
static void miss_deadline(void)
{
    static struct periodic periodic;
    const struct periodic_attributes attributes = {.period = 10 * NANOSECONDS_PER_MILLISECOND,
                                                   .missed = object};

    CHECK_START(heartbeat_start());
    CHECK_START(periodic_start(&periodic, &attributes));
    (void)periodic_wait(&periodic);
    for (;;) {
        __asm__ volatile("" : : : "memory");
    }
}

static void free_twice(void)
{
    void *block = heap_allocate(64);

    heap_free(block);
    heap_free(block);
}

static const struct {
    const char *name;
    void (*make)(void);
} faults[] = {
    {"write-text", write_text},
    {"write-constants", write_constants},
    {"write-unmapped", write_unmapped},
    {"exec-data", execute_data},
    {"exec-heap", execute_heap},
    {"null", read_null},
    {"call-null", call_null},
    {"stack-overflow", overflow_stack},
    {"undefined", undefined},
    {"unaligned", unaligned},
    {"panic", panic_plainly},
    {"null-in-interrupt", null_in_interrupt},
    {"panic-in-interrupt", panic_in_interrupt},
    {"overflow-in-interrupt", overflow_in_interrupt},
    {"frames-in-circle", frames_in_circle},
    {"frames-into-nowhere", frames_into_nowhere},
    {"free-twice", free_twice},
    {"corrupt-thread", corrupt_thread},
    {"watchdog", starve_watchdog},
    {"scrubber", change_scrubbed},
    {"loop-masked", loop_masked},
    {"loop-unfed", loop_unfed},
    {"miss-deadline", miss_deadline},
};

int application_main(void)
{
    char name[32];

    if (!boot_argument("fault", name, sizeof name)) {
        print("FAIL: which fault?\n");
        return 1;
    }
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        if (strcmp(name, faults[i].name) == 0) {
            faults[i].make();
            print("FAIL: fault=%s did not happen\n", name);
            return 1;
        }
    }
    print("FAIL: there is no fault=%s\n", name);
    return 1;
}
