/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * panic(), and the common parts of all fatal reports.
 */
#include "kernel/panic.h"

#include "console/console.h"
#include "kernel/interrupt.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "panic/backtrace.h"
#include "panic/panic_private.h"
#include <arch/cpu.h>
#include <arch/machine.h>
#include <arch/vector_arguments.h>

static unsigned reports;

void panic_begin(void)
{
    (void)arch_interrupts_save();
    reports++;
    if (reports == 1) {
        console_poll();
        return;
    }
    if (reports == 2) {
        print("\npanic: another failure while this one was reported\n");
        machine_exit(PANIC_STATUS);
    }
    if (reports == 3) {
        machine_stop(PANIC_STATUS); /* without the console */
    }
    arch_halt();
}

void panic_print_thread(void)
{
    print("thread: %s%s\n", thread_name(thread_current()),
          interrupt_context() ? ", interrupted; in an interrupt handler" : "");
}

void panic_end(void)
{
    machine_exit(PANIC_STATUS);
}

void panic(const char *format, ...)
{
    struct arch_vector_arguments vectors;
    struct stack_position position;
    va_list arguments;

    va_start(arguments, format);
    arch_vector_arguments_add(&arguments, &vectors);
    backtrace_here(&position);
    panic_begin();
    print("\npanic: ");
    print_arguments(format, arguments);
    va_end(arguments);
    print("\n");
    panic_print_thread();
    backtrace_print(&position);
    panic_end();
}
