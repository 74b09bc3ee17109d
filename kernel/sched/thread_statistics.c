/* SPDX-License-Identifier: BSD-2-Clause */
/* Statistics of threads and of the scheduler. */
#include "kernel/interrupt.h"
#include "kernel/thread.h"
#include "sched/core.h"
#include "sched/scheduler.h"
#include "sched/thread_private.h"
#include "time/clock.h"
#include <string.h>

#define STACK_FILL_WORD (THREAD_STACK_FILL * UINT64_C(0x0101010101010101))

/* Number of stack words that are checked while no other thread can run: about 300 instructions. */
#define PIECE_WORDS 64u

/*
 * Returns the number of consecutive words from `first` on, before `end`, that still contain the
 * fill pattern. The address sanitizer is off, because the stack contains frames of another thread.
 */
__attribute__((no_sanitize("address"))) static size_t count_unused(const struct thread *thread,
                                                                   size_t first, size_t end)
{
    const uint64_t *word = (const uint64_t *)(uintptr_t)thread->stack;
    size_t at = first;

    while (at < end && word[at] == STACK_FILL_WORD) {
        at++;
    }
    return at - first;
}

size_t thread_stack_used(const struct thread *thread)
{
    size_t words = thread->stack_bytes / sizeof(uint64_t);

    return thread->stack_bytes - count_unused(thread, 0, words) * sizeof(uint64_t);
}

/* Returns the first thread with a number >= `number`, NULL if there is none. The list is in order
 * of the numbers. Not preemptible. */
static struct thread *thread_from_number(uint64_t number)
{
    LIST_FOR_EACH(node, &core_this()->threads)
    {
        struct thread *thread = CONTAINER_OF(node, struct thread, all_node);

        if (thread->number >= number) {
            return thread;
        }
    }
    return NULL;
}

static size_t count_threads(void)
{
    size_t count = 0;

    scheduler_preemption_disable();
    LIST_FOR_EACH(node, &core_this()->threads)
    {
        count++;
    }
    scheduler_preemption_enable();
    return count;
}

/* Fills in all statistics except the use of the stack. Not preemptible. */
static void describe(struct thread *thread, struct thread_statistics *statistics)
{
    struct core *core = core_this();
    interrupt_state state = interrupts_save();

    if (thread == core->current) {
        (void)core_charge(core);
    }
    memcpy(statistics->name, thread->name, sizeof(statistics->name));
    statistics->state = thread->state;
    statistics->base_priority = policy_priority(thread);
    statistics->effective_priority = urgency_priority(thread_urgency(thread));
    statistics->run_nanoseconds = clock_nanoseconds(thread->run_ticks);
    statistics->switches = thread->switches;
    statistics->deadline_misses = thread->deadline_misses;
    statistics->stack_bytes = thread->stack_bytes;
    interrupts_restore(state);
}

/* Describes the first thread with a number >= *number, and writes its number to *number. Returns
 * false if there is none. */
static bool describe_next(uint64_t *number, struct thread_statistics *statistics)
{
    struct thread *thread;

    /* No thread is freed while preemption is disabled. */
    scheduler_preemption_disable();
    thread = thread_from_number(*number);
    if (thread != NULL) {
        describe(thread, statistics);
        *number = thread->number;
    }
    scheduler_preemption_enable();
    return thread != NULL;
}

/*
 * Measures the stack of the thread with this number, in pieces, between which other threads run.
 * Returns false if the thread was freed meanwhile.
 */
static bool measure_stack(uint64_t number, struct thread_statistics *statistics)
{
    size_t words = statistics->stack_bytes / sizeof(uint64_t);
    size_t unused = 0;
    bool more = true;

    while (more) {
        size_t end = words - unused < PIECE_WORDS ? words : unused + PIECE_WORDS;
        struct thread *thread;

        scheduler_preemption_disable();
        thread = thread_from_number(number);
        if (thread == NULL || thread->number != number) {
            scheduler_preemption_enable();
            return false;
        }
        unused += count_unused(thread, unused, end);
        scheduler_preemption_enable();
        more = unused == end && end < words;
    }
    statistics->stack_used_bytes = statistics->stack_bytes - unused * sizeof(uint64_t);
    return true;
}

size_t thread_statistics(struct thread_statistics *statistics, size_t capacity)
{
    size_t filled = 0;

    for (uint64_t number = 0; filled < capacity && describe_next(&number, &statistics[filled]);
         number++) {
        if (measure_stack(number, &statistics[filled])) {
            filled++;
        }
    }
    return filled < capacity ? filled : count_threads();
}

void scheduler_statistics(struct scheduler_statistics *statistics)
{
    struct core *core = core_this();
    interrupt_state state = interrupts_save();

    if (core->current == core->idle && core->idle != NULL && core->interrupt_depth == 0) {
        (void)core_charge(core);
    }
    statistics->context_switches = core->context_switches;
    statistics->interrupts = core->interrupts;
    statistics->idle_nanoseconds =
        core->idle == NULL ? 0 : clock_nanoseconds(core->idle->run_ticks);
    interrupts_restore(state);
}
