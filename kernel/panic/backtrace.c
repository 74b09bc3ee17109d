/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks frame records (AAPCS64, "The Frame Pointer"): x29 points to the caller's x29, and above it
 * is the return address. The chain may be corrupt, because memory may be corrupt when a
 * backtrace is printed.
 */
#include "panic/backtrace.h"

#include "kernel/print.h"
#include "panic/symbols.h"
#include "sched/thread_private.h"
#include <arch/image.h>
#include <stdbool.h>
#include <stddef.h>

#define FRAMES_MAX         48u
#define FRAME_ALIGNMENT    16u
#define FRAME_RECORD_WORDS 2u
#define FRAME_POINTER      29u
#define LINK_REGISTER      30u
#define INSTRUCTION_BYTES  4u

struct stack_range {
    uintptr_t bottom;
    uintptr_t top;
};

/* Stacks in the order in which a chain can lead from one to the next: the stack of a report, the
 * stack of interrupt handlers, the stack of a thread. */
enum stack_kind { STACK_EMERGENCY, STACK_INTERRUPT, STACK_THREAD, STACK_KINDS };

struct walk {
    struct stack_range stacks[STACK_KINDS];
    unsigned stack;          /* kind of the stack of the last frame record */
    uintptr_t frame_pointer; /* address of the last frame record */
};

/* Starts a walk that ends on the thread's stack (NULL: on none). */
static void walk_init(struct walk *walk, const struct thread *thread)
{
    *walk = (struct walk){.stacks = {[STACK_EMERGENCY] = {(uintptr_t)emergency_stack_bottom,
                                                          (uintptr_t)emergency_stack_top},
                                     [STACK_INTERRUPT] = {(uintptr_t)interrupt_stack_bottom,
                                                          (uintptr_t)interrupt_stack_top}}};
    if (thread != NULL) {
        walk->stacks[STACK_THREAD].bottom = (uintptr_t)thread->stack;
        walk->stacks[STACK_THREAD].top = (uintptr_t)thread->stack + thread->stack_bytes;
    }
}

static bool holds(const struct stack_range *stack, uintptr_t address)
{
    return address >= stack->bottom && address < stack->top &&
           stack->top - address >= FRAME_RECORD_WORDS * sizeof(uintptr_t);
}

/* Accepts a frame record higher up in the same stack, or in a later stack, so that the walk ends.
 * Returns false for any other. */
static bool step_to(struct walk *walk, uintptr_t frame_pointer)
{
    if (frame_pointer % FRAME_ALIGNMENT != 0) {
        return false;
    }
    for (unsigned stack = walk->stack; stack < STACK_KINDS; stack++) {
        if (holds(&walk->stacks[stack], frame_pointer) &&
            (stack > walk->stack || frame_pointer > walk->frame_pointer)) {
            walk->stack = stack;
            walk->frame_pointer = frame_pointer;
            return true;
        }
    }
    return false;
}

static bool is_code(uintptr_t address)
{
    return address >= (uintptr_t)image_start && address < (uintptr_t)image_text_end;
}

static void print_place(uintptr_t address, const char *name, uintptr_t offset)
{
    if (name == NULL) {
        print("  %016llx\n", (unsigned long long)address);
    } else {
        print("  %016llx %s+0x%llx (image+0x%llx)\n", (unsigned long long)address, name,
              (unsigned long long)offset, (unsigned long long)(address - (uintptr_t)image_start));
    }
}

/* Prints a return address. It follows its call, which may be the last instruction of the function,
 * so that the function is looked up by the call's address. Returns false if the address is no code.
 */
static bool print_return_address(uintptr_t address)
{
    uintptr_t offset = 0;
    const char *name;

    if (!is_code(address)) {
        return false;
    }
    name = symbol_find(address - 1, &offset);
    print_place(address, name, offset + 1);
    return true;
}

/*
 * Prints the link register, unless it is stale. Only the link register contains the return address
 * if the function was just entered or is about to return, or has no frame. Otherwise the register
 * is stale: it points into the function itself, behind its last call, or equals the address in the
 * frame record.
 */
static void print_link(const struct stack_position *position, const char *function,
                       const uintptr_t *record)
{
    uintptr_t offset;

    if (is_code(position->link) && (record == NULL || record[1] != position->link) &&
        symbol_find(position->link - 1, &offset) != function) {
        (void)print_return_address(position->link);
    }
}

/* Prints the first line. Returns the name of its function, NULL if it has none. */
static const char *print_first(uintptr_t program_counter)
{
    uintptr_t offset = 0;
    const char *name = is_code(program_counter) ? symbol_find(program_counter, &offset) : NULL;

    print_place(program_counter, name, offset);
    return name;
}

static void print_from(const struct stack_position *position, const struct thread *thread)
{
    struct walk walk;
    const uintptr_t *record = (const uintptr_t *)position->frame_pointer;
    const char *function;
    bool valid;

    walk_init(&walk, thread);
    valid = step_to(&walk, position->frame_pointer);
    print("backtrace:\n");
    function = print_first(position->program_counter);
    print_link(position, function, valid ? record : NULL);
    for (unsigned i = 0; i < FRAMES_MAX && valid && print_return_address(record[1]); i++) {
        record = (const uintptr_t *)record[0];
        valid = step_to(&walk, (uintptr_t)record);
    }
    if (record != NULL) {
        print("  (the chain of frames ends at %p)\n", (const void *)record);
    }
}

void backtrace_print(const struct stack_position *position)
{
    print_from(position, thread_current());
}

/* A thread that called arch_context_switch() continues at the return address of that call. */
void backtrace_print_thread(const struct thread *thread)
{
    const struct arch_context *context = &thread->context;
    struct stack_position position = {.program_counter = context->program_counter,
                                      .frame_pointer = context->x[FRAME_POINTER],
                                      .link = context->x[LINK_REGISTER]};

    if (context->complete == 0) {
        position.program_counter -= INSTRUCTION_BYTES;
        position.link = 0;
    }
    print("\nthread %s, which does not run; its ", thread->name);
    print_from(&position, thread);
}
