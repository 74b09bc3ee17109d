/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine in a host process: context switches, interrupts, the clock, and the exit. */
#include "fiber.h"
#include "interrupt/controller.h"
#include "interrupt/deferral.h"
#include "interrupt/scheduler_hooks.h"
#include "kernel/panic.h"
#include "kernel/thread.h"
#include "panic/backtrace.h"
#include "sched/alarm.h"
#include <arch/cpu.h>
#include <arch/host_machine.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define PENDING_MAX      16u
#define BOOT_STACK_BYTES ((size_t)65536)

struct interrupt {
    void (*handler)(void *argument);
    void *argument;
    bool deferrable;
};

static struct machine {
    bool running;
    bool masked;
    bool defers;                  /* deferrable interrupts stay pending */
    struct arch_context *current; /* of the current thread; NULL until the first thread starts */
    struct arch_context boot;
    void (*boot_function)(void);
    struct arch_context outside; /* of the test that called host_machine_run() */
    int status;
    char panic_message[256];

    struct interrupt pending[PENDING_MAX]; /* a queue that starts at pending[0] */
    unsigned pending_count;
    bool planned; /* host_interrupt_at() has set a plan */
    unsigned points_left;
    struct interrupt plan;

    uint64_t ticks;
    uint64_t reading_ticks; /* host_clock_set_reading_ticks() */
    void (*around_reading)(bool has_read);
    uint64_t alarm_ticks;
    bool alarm_set;
} machine;

static uint64_t next_frequency = UINT64_C(1000000000);

static bool alarm_is_due(void)
{
    return machine.alarm_set && machine.ticks >= machine.alarm_ticks;
}

static void alarm_handler(void *argument)
{
    (void)argument;
    alarm_expired();
}

static void take_interrupt(struct interrupt interrupt)
{
    struct arch_context *interrupted = machine.current;

    machine.masked = true;
    scheduler_interrupt_enter();
    interrupt.handler(interrupt.argument);
    deferral_after_handler(deferral_this());
    struct arch_context *next = scheduler_interrupt_exit(interrupted);

    if (next != interrupted) {
        machine.current = next;
        fiber_switch(interrupted, next);
    }
    machine.masked = false;
}

/* Takes the first pending interrupt of a kind off the queue. Returns false if there is none. */
static bool take_pending(bool deferrable, struct interrupt *interrupt)
{
    unsigned first = 0;

    while (first < machine.pending_count && machine.pending[first].deferrable != deferrable) {
        first++;
    }
    if (first == machine.pending_count) {
        return false;
    }
    *interrupt = machine.pending[first];
    machine.pending_count--;
    for (unsigned i = first; i < machine.pending_count; i++) {
        machine.pending[i] = machine.pending[i + 1];
    }
    return true;
}

static void deliver_pending(void)
{
    for (;;) {
        struct interrupt interrupt = {.handler = alarm_handler};

        if (!take_pending(false, &interrupt) && !alarm_is_due() &&
            (machine.defers || !take_pending(true, &interrupt))) {
            return;
        }
        take_interrupt(interrupt);
    }
}

void arch_interrupt_defer(bool defer)
{
    machine.defers = defer;
}

static void interrupt_point(void)
{
    if (!machine.planned) {
        return;
    }
    if (machine.points_left > 0) {
        machine.points_left--;
        return;
    }
    machine.planned = false;
    host_interrupt(machine.plan.handler, machine.plan.argument);
}

uint64_t arch_interrupts_save(void)
{
    if (!machine.masked) {
        interrupt_point();
    }
    uint64_t state = machine.masked ? 1 : 0;

    machine.masked = true;
    return state;
}

void arch_interrupts_restore(uint64_t state)
{
    machine.masked = state != 0;
    if (!machine.masked) {
        deliver_pending();
        interrupt_point();
    }
}

bool arch_interrupts_enabled_in(uint64_t state)
{
    return state == 0;
}

static void raise_interrupt(struct interrupt interrupt)
{
    if (machine.pending_count == PENDING_MAX) {
        abort();
    }
    machine.pending[machine.pending_count] = interrupt;
    machine.pending_count++;
    if (!machine.masked) {
        deliver_pending();
    }
}

void host_interrupt(void (*handler)(void *argument), void *argument)
{
    raise_interrupt((struct interrupt){.handler = handler, .argument = argument});
}

void host_deferrable_interrupt(void (*handler)(void *argument), void *argument)
{
    raise_interrupt(
        (struct interrupt){.handler = handler, .argument = argument, .deferrable = true});
}

void host_interrupt_at(unsigned point, void (*handler)(void *argument), void *argument)
{
    machine.planned = true;
    machine.points_left = point;
    machine.plan = (struct interrupt){.handler = handler, .argument = argument};
}

bool host_interrupt_happened(void)
{
    bool happened = !machine.planned;

    machine.planned = false;
    return happened;
}

uint64_t arch_clock_ticks(void)
{
    uint64_t ticks;

    if (machine.around_reading != NULL) {
        machine.around_reading(false);
    }
    machine.ticks += machine.reading_ticks;
    ticks = machine.ticks;
    if (machine.around_reading != NULL) {
        machine.around_reading(true);
    }
    return ticks;
}

void host_clock_watch(void (*around)(bool has_read))
{
    machine.around_reading = around;
}

void host_clock_pass(uint64_t ticks)
{
    machine.ticks += ticks;
}

void host_clock_set_reading_ticks(uint64_t ticks)
{
    machine.reading_ticks = ticks;
}

uint64_t arch_clock_frequency(void)
{
    return next_frequency;
}

void arch_clock_alarm(uint64_t ticks)
{
    machine.alarm_ticks = ticks;
    machine.alarm_set = ticks != UINT64_MAX;
}

bool host_clock_alarm(uint64_t *ticks)
{
    *ticks = machine.alarm_ticks;
    return machine.alarm_set;
}

void host_clock_set_frequency(uint64_t hertz)
{
    next_frequency = hertz;
}

void host_clock_advance(uint64_t ticks)
{
    uint64_t target = machine.ticks + ticks;

    while (!machine.masked && machine.alarm_set && machine.alarm_ticks <= target) {
        if (machine.ticks < machine.alarm_ticks) {
            machine.ticks = machine.alarm_ticks;
        }
        deliver_pending();
    }
    if (machine.ticks < target) {
        machine.ticks = target;
    }
}

void arch_wait_for_interrupt(void)
{
    if (machine.pending_count > 0 || alarm_is_due()) {
        return;
    }
    if (!machine.alarm_set) {
        machine_exit(HOST_STATUS_DEADLOCK);
    }
    machine.ticks = machine.alarm_ticks;
}

static void run_thread(struct arch_context *context)
{
    machine.masked = false;
    deliver_pending();
    context->entry(context->argument);
    thread_exit();
}

void arch_context_init(struct arch_context *context, void *stack, size_t stack_bytes,
                       void (*entry)(void *argument), void *argument, bool floating_point)
{
    (void)floating_point;
    fiber_init(context, stack, stack_bytes, run_thread);
    context->entry = entry;
    context->argument = argument;
}

void arch_context_switch(struct arch_context *from, struct arch_context *to)
{
    machine.current = to;
    fiber_switch(from, to);
}

void arch_context_start(struct arch_context *first)
{
    machine.current = first;
    fiber_leave(first);
}

void *arch_stack_allocate(size_t bytes)
{
    return fiber_stack_allocate(bytes);
}

void arch_stack_free(void *stack, size_t bytes)
{
    (void)bytes;
    fiber_stack_free(stack);
}

static void run_boot(struct arch_context *context)
{
    (void)context;
    machine.boot_function();
    machine_exit(0);
}

int host_machine_run(void (*boot)(void))
{
    void *stack = fiber_stack_allocate(BOOT_STACK_BYTES);

    if (stack == NULL) {
        abort();
    }
    machine = (struct machine){.running = true, .masked = true, .boot_function = boot};
    fiber_init(&machine.boot, stack, BOOT_STACK_BYTES, run_boot);
    fiber_switch(&machine.outside, &machine.boot);
    machine.running = false;
    machine.masked = false;
    machine.current = NULL;
    fiber_stack_free_all();
    return machine.status;
}

const char *host_panic_message(void)
{
    return machine.panic_message;
}

void machine_exit(int status)
{
    if (!machine.running) {
        (void)fprintf(stderr, "machine_exit(%d) with no machine running: %s\n", status,
                      machine.panic_message);
        abort();
    }
    machine.status = status;
    fiber_leave(&machine.outside);
}

void panic(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(machine.panic_message, sizeof(machine.panic_message), format, arguments);
    va_end(arguments);
    machine_exit(HOST_STATUS_PANIC);
}

void backtrace_print_thread(const struct thread *thread)
{
    (void)thread;
}
