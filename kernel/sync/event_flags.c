/* SPDX-License-Identifier: BSD-2-Clause */
/* Event flags. */
#include "kernel/interrupt.h"
#include "kernel/sync.h"
#include "sched/core.h"
#include "sched/scheduler.h"
#include "sched/thread_private.h"
#include "sched/wait_queue.h"

void event_flags_init(struct event_flags *events)
{
    events->flags = 0;
    wait_queue_init(&events->waiters, WAIT_EVENT_FLAGS);
}

/* Returns true if a wait for `wanted` ends now. Then *seen gets all flags, and EVENT_WAIT_CLEAR
 * clears those that ended it. Interrupts masked. */
static bool satisfy(struct event_flags *events, uint32_t wanted, unsigned mode, uint32_t *seen)
{
    uint32_t present = events->flags & wanted;

    if ((mode & EVENT_WAIT_ALL) != 0 ? present != wanted : present == 0) {
        return false;
    }
    *seen = events->flags;
    if ((mode & EVENT_WAIT_CLEAR) != 0) {
        events->flags &= ~present;
    }
    return true;
}

void event_flags_set(struct event_flags *events, uint32_t flags)
{
    interrupt_state state = interrupts_save();
    struct thread *waiter = wait_queue_first(&events->waiters);

    events->flags |= flags;
    while (waiter != NULL) {
        struct thread *next = wait_queue_next(&events->waiters, waiter);

        if (satisfy(events, waiter->wait.flags, waiter->wait.mode, &waiter->wait.flags)) {
            scheduler_wake(waiter, RESULT_OK);
        }
        waiter = next;
    }
    interrupts_restore(state);
}

void event_flags_clear(struct event_flags *events, uint32_t flags)
{
    interrupt_state state = interrupts_save();

    events->flags &= ~flags;
    interrupts_restore(state);
}

/* Returns true if EVENT_FLAGS_WAITERS_MAX threads wait. Interrupts masked. */
static bool is_full(const struct event_flags *events)
{
    const struct thread *waiter = wait_queue_first(&events->waiters);
    unsigned count = 0;

    while (waiter != NULL) {
        count++;
        waiter = wait_queue_next(&events->waiters, waiter);
    }
    return count == EVENT_FLAGS_WAITERS_MAX;
}

/* Blocks the calling thread. Interrupts masked. A poll may come from an interrupt handler: then the
 * wait of the interrupted thread must not be changed. */
static enum result block(struct event_flags *events, uint32_t flags, unsigned mode, uint32_t *seen,
                         uint64_t deadline, interrupt_state state)
{
    struct thread *thread = core_this()->current;

    if (deadline == DEADLINE_POLL || thread == NULL) {
        return scheduler_block(&events->waiters, deadline, state);
    }
    if (is_full(events)) {
        return RESULT_OVERFLOW;
    }
    thread->wait.flags = flags;
    thread->wait.mode = mode;
    enum result result = scheduler_block(&events->waiters, deadline, state);

    *seen = thread->wait.flags;
    return result;
}

enum result event_flags_wait(struct event_flags *events, uint32_t flags, unsigned mode,
                             uint32_t *seen, uint64_t deadline)
{
    uint32_t at_end = 0;

    if (flags == 0 || mode > (EVENT_WAIT_ALL | EVENT_WAIT_CLEAR)) {
        return RESULT_INVALID;
    }
    interrupt_state state = interrupts_save();
    enum result result = RESULT_OK;

    if (!satisfy(events, flags, mode, &at_end)) {
        result = block(events, flags, mode, &at_end, deadline, state);
        if (result != RESULT_OK) {
            at_end = events->flags;
        }
    }
    interrupts_restore(state);
    if (seen != NULL) {
        *seen = at_end;
    }
    return result;
}
