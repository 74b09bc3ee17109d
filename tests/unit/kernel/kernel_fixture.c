/* SPDX-License-Identifier: BSD-2-Clause */
/* See kernel_fixture.h. */
#include "kernel_fixture.h"

#include "kernel/panic.h"
#include "mm/memory_boot.h"
#include "sched/scheduler.h"
#include "sched/thread_private.h"
#include "time/clock.h"
#include <stdio.h>
#include <string.h>

static struct {
    void (*init)(void);
    unsigned sweep_point;
    bool sweep_ended; /* the run ended before its point was reached */
    bool sweeping;
    char notes[4096];
    char failure[1024];
} fixture;

static _Alignas(4096) uint8_t kernel_memory[KERNEL_MEMORY];

static _Noreturn void check_failed(const char *file, int line, const char *what, uint64_t value)
{
    (void)snprintf(fixture.failure, sizeof(fixture.failure), "%s:%d: not %s (%llu)%s", file, line,
                   what, (unsigned long long)value, fixture.sweeping ? " in a sweep" : "");
    if (fixture.sweeping) {
        size_t length = strlen(fixture.failure);

        (void)snprintf(fixture.failure + length, sizeof(fixture.failure) - length, ", point %u",
                       fixture.sweep_point);
    }
    machine_exit(STATUS_CHECK);
}

static void init_thread(void *argument)
{
    (void)argument;
    fixture.init();
    if (fixture.sweeping) {
        fixture.sweep_ended = !host_interrupt_happened();
    }
    machine_exit(0);
}

static void boot(void)
{
    const struct thread_attributes attributes = {
        .name = "init", .priority = INIT_PRIORITY, .stack_bytes = STACK_BYTES};
    struct thread *thread;

    memory_init(KERNEL_MEMORY, 0);
    page_add_range((uintptr_t)kernel_memory, KERNEL_MEMORY);
    clock_init(0);
    scheduler_init();
    if (thread_create(&thread, &attributes, init_thread, NULL) != RESULT_OK) {
        panic("no init thread");
    }
    scheduler_start();
}

int kernel_status(void (*init)(void))
{
    fixture.init = init;
    fixture.notes[0] = '\0';
    int status = host_machine_run(boot);

    if (status == STATUS_CHECK) {
        fail_msg("%s", fixture.failure);
    }
    return status;
}

void kernel_run(void (*init)(void))
{
    int status = kernel_status(init);

    if (status != 0) {
        fail_msg("the kernel ended with status %d: %s; notes: %s", status, host_panic_message(),
                 fixture.notes);
    }
}

void kernel_panics(void (*init)(void), const char *text)
{
    assert_int_equal(kernel_status(init), HOST_STATUS_PANIC);
    if (strstr(host_panic_message(), text) == NULL) {
        fail_msg("the panic says: %s", host_panic_message());
    }
}

void kernel_sweep(void (*init)(void), unsigned least)
{
    fixture.sweeping = true;
    fixture.sweep_ended = false;
    for (fixture.sweep_point = 0; !fixture.sweep_ended; fixture.sweep_point++) {
        kernel_run(init);
    }
    fixture.sweeping = false;
    assert_true(fixture.sweep_point > least);
}

void sweep_interrupt(void (*handler)(void *argument), void *argument)
{
    host_interrupt_at(fixture.sweep_point, handler, argument);
}

struct thread *start(const char *name, unsigned priority, void (*entry)(void *), void *argument)
{
    const struct thread_attributes attributes = {
        .name = name, .priority = priority, .stack_bytes = STACK_BYTES};
    struct thread *thread = NULL;

    CHECK_EQUAL(thread_create(&thread, &attributes, entry, argument), RESULT_OK);
    return thread;
}

void finish(struct thread *thread)
{
    CHECK_EQUAL(thread_join(thread, DEADLINE_NONE), RESULT_OK);
}

unsigned effective_priority(const struct thread *thread)
{
    return thread_urgency(thread);
}

void note(const char *word)
{
    size_t length = strlen(fixture.notes);

    (void)snprintf(fixture.notes + length, sizeof(fixture.notes) - length, "%s%s",
                   length == 0 ? "" : " ", word);
}

void check_notes(const char *file, int line, const char *expected)
{
    if (strcmp(fixture.notes, expected) != 0) {
        char what[700];

        (void)snprintf(what, sizeof(what), "notes \"%.300s\", expected \"%.300s\"", fixture.notes,
                       expected);
        check_failed(file, line, what, 0);
    }
    fixture.notes[0] = '\0';
}

void check_equal(uint64_t value, uint64_t expected, const char *what, const char *file, int line)
{
    if (value != expected) {
        check_failed(file, line, what, value);
    }
}

/* xorshift64* (Marsaglia, Vigna). */
uint64_t random_next(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

uint64_t random_below(uint64_t *state, uint64_t limit)
{
    return (random_next(state) >> 11) % limit;
}
