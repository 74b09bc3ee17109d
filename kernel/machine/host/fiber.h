/* SPDX-License-Identifier: BSD-2-Clause */
/* Switches between stacks of one host thread, which the address sanitizer can follow. */
#ifndef HOST_FIBER_H
#define HOST_FIBER_H

#include <arch/cpu_inline.h>

/* Saves the running context in `from` and continues `to`. Returns when `from` is continued. */
void fiber_switch(struct arch_context *from, struct arch_context *to);

/* Continues `to`; the running context is never continued. */
_Noreturn void fiber_leave(struct arch_context *to);

/* Prepares a context that calls run(context), which must not return. The caller sets its `entry`
 * and `argument`. */
void fiber_init(struct arch_context *context, void *stack, size_t stack_bytes,
                void (*run)(struct arch_context *context));

/* Allocates a stack of `bytes` usable bytes. Below them lie spare room for the host's C library,
 * and a guard page. Returns NULL if the host refuses. */
void *fiber_stack_allocate(size_t bytes);
void fiber_stack_free(void *stack);
/* Frees every stack that is still allocated. */
void fiber_stack_free_all(void);

#endif
