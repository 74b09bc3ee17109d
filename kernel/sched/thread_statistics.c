/* SPDX-License-Identifier: BSD-2-Clause */
/* What threads and the scheduler have done so far. */
#include "kernel/interrupt.h"
#include "kernel/thread.h"
#include "sched/core.h"
#include "sched/scheduler.h"
#include "sched/thread_private.h"
#include "time/clock.h"
#include <string.h>

#define STACK_FILL_WORD (THREAD_STACK_FILL * UINT64_C(0x0101010101010101))

/* The stack belongs to a running program: its frames are no business of the address sanitizer
 * here. */
__attribute__((no_sanitize("address"))) size_t thread_stack_used(const struct thread *thread)
{
    const uint64_t *word = (const uint64_t *)(uintptr_t)thread->stack;
    size_t count = thread->stack_bytes / sizeof(*word);
    size_t unused = 0;

    while (unused < count && word[unused] == STACK_FILL_WORD) {
        unused++;
    }
    return thread->stack_bytes - unused * sizeof(*word);
}

/* The first thread with a number >= `number`, and how many there are in all. Not preemptible. */
static struct thread *thread_from_number(uint64_t number, size_t *count)
{
    struct thread *found = NULL;

    *count = 0;
    LIST_FOR_EACH(node, &core_this()->threads)
    {
        struct thread *thread = CONTAINER_OF(node, struct thread, all_node);

        if (found == NULL && thread->number >= number) {
            found = thread;
        }
        (*count)++;
    }
    return found;
}

static void describe(struct thread *thread, struct thread_statistics *statistics)
{
    struct core *core = core_this();
    interrupt_state state = interrupts_save();

    if (thread == core->current) {
        core_charge(core, &thread->run_ticks);
    }
    memcpy(statistics->name, thread->name, sizeof(statistics->name));
    statistics->state = thread->state;
    statistics->base_priority = thread->base_priority;
    statistics->effective_priority = thread->effective_priority;
    statistics->run_nanoseconds = clock_nanoseconds(thread->run_ticks);
    statistics->switches = thread->switches;
    statistics->stack_bytes = thread->stack_bytes;
    interrupts_restore(state);
    statistics->stack_used_bytes = thread_stack_used(thread);
}

size_t thread_statistics(struct thread_statistics *statistics, size_t capacity)
{
    size_t filled = 0;
    size_t count = 0;
    uint64_t number = 0;

    for (;;) {
        /* A thread cannot be freed while its description is written, and is the only one so
         * guarded: others may run between two. */
        scheduler_preemption_disable();
        struct thread *thread = thread_from_number(number, &count);

        if (thread == NULL || filled == capacity) {
            scheduler_preemption_enable();
            return count;
        }
        describe(thread, &statistics[filled]);
        number = thread->number + 1;
        filled++;
        scheduler_preemption_enable();
    }
}

void scheduler_statistics(struct scheduler_statistics *statistics)
{
    struct core *core = core_this();
    interrupt_state state = interrupts_save();

    if (core->current == core->idle && core->idle != NULL && core->interrupt_depth == 0) {
        core_charge(core, &core->idle->run_ticks);
    }
    statistics->context_switches = core->context_switches;
    statistics->interrupts = core->interrupts;
    statistics->idle_nanoseconds =
        core->idle == NULL ? 0 : clock_nanoseconds(core->idle->run_ticks);
    interrupts_restore(state);
}
