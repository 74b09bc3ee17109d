/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handlers of the vectors: interrupts, and the report of a fatal exception.
 */
#include "exception/describe.h"
#include "interrupt/scheduler_hooks.h"
#include "kernel/interrupt.h"
#include "kernel/print.h"
#include "panic/backtrace.h"
#include "panic/panic_private.h"

#define FRAME_POINTER 29u
#define LINK_REGISTER 30u

/* Written by vectors.S. A second fatal exception overwrites it; its report does not use it. */
struct exception_frame exception_frame;

struct arch_context *exception_interrupt(struct arch_context *interrupted)
{
    scheduler_interrupt_enter();
    interrupt_dispatch();
    return scheduler_interrupt_exit(interrupted);
}

static void print_registers(const struct exception_frame *frame)
{
    for (unsigned i = 0; i <= LINK_REGISTER; i++) {
        print("  x%-2u %016llx%s", i, (unsigned long long)frame->x[i], i % 4 == 3 ? "\n" : "");
    }
    print("  sp  %016llx\n", (unsigned long long)frame->stack_pointer);
    print("  pc  %016llx  pstate %08llx  esr %08llx  far %016llx\n",
          (unsigned long long)frame->program_counter, (unsigned long long)frame->processor_state,
          (unsigned long long)frame->syndrome, (unsigned long long)frame->address);
}

void exception_fatal(const struct exception_frame *frame)
{
    struct stack_position position = {.program_counter = (uintptr_t)frame->program_counter,
                                      .frame_pointer = (uintptr_t)frame->x[FRAME_POINTER],
                                      .link = (uintptr_t)frame->x[LINK_REGISTER]};

    panic_begin();
    exception_describe(frame);
    panic_print_thread();
    print_registers(frame);
    backtrace_print(&position);
    panic_end();
}
