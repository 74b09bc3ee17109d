/* SPDX-License-Identifier: BSD-2-Clause */
/* See check_threads.h. */
#include "check_threads.h"

#include "kernel/time.h"

#define STACK_BYTES ((size_t)8192)

struct thread *start_thread(const char *name, unsigned priority, bool floating_point,
                            void (*entry)(void *), void *argument)
{
    const struct thread_attributes attributes = {.name = name,
                                                 .priority = priority,
                                                 .stack_bytes = STACK_BYTES,
                                                 .floating_point = floating_point};
    struct thread *thread = NULL;

    return thread_create(&thread, &attributes, entry, argument) == RESULT_OK ? thread : NULL;
}

bool join_thread(struct thread *thread)
{
    return thread_join(thread, time_after(120 * NANOSECONDS_PER_SECOND)) == RESULT_OK;
}

void spin_until_set(void *argument)
{
    const volatile bool *stop = argument;

    while (!*stop) {
    }
}
