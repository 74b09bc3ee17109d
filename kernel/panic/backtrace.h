/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Backtraces, by frame pointers.
 */
#ifndef BACKTRACE_H
#define BACKTRACE_H

#include <stdint.h>

struct thread;

struct stack_position {
    uintptr_t program_counter; /* the instruction that is printed first */
    uintptr_t frame_pointer;   /* points to the frame record of that function, or of its caller; not
                                * trusted */
    uintptr_t link;            /* the link register; 0: the function certainly has a frame record */
};

/* Gets the position of the call to the function that uses this macro. */
#define backtrace_here(position)                                                                \
    (*(position) =                                                                              \
         (struct stack_position){.program_counter = (uintptr_t)__builtin_return_address(0) - 4, \
                                 .frame_pointer = *(const uintptr_t *)__builtin_frame_address(0)})

/* Prints the functions from the position up to the start of its thread; from an interrupt handler
 * it continues with the interrupted thread. Reads only memory in known stacks, and ends on any
 * chain. */
void backtrace_print(const struct stack_position *position);

/* Prints the name of a thread that does not run now, and its functions in the same way. Interrupts
 * masked. */
void backtrace_print_thread(const struct thread *thread);

#endif
