/* SPDX-License-Identifier: BSD-2-Clause */
/* Counting semaphores. The count is above zero only while no thread waits. */
#include "kernel/interrupt.h"
#include "kernel/sync.h"
#include "sched/scheduler.h"
#include "sched/wait_queue.h"

void semaphore_init(struct semaphore *semaphore, uint32_t count, uint32_t limit)
{
    semaphore->count = count;
    semaphore->limit = limit;
    wait_queue_init(&semaphore->waiters, WAIT_SEMAPHORE);
}

enum result semaphore_post(struct semaphore *semaphore)
{
    interrupt_state state = interrupts_save();
    struct thread *waiter = wait_queue_first(&semaphore->waiters);
    enum result result = RESULT_OK;

    if (waiter != NULL) {
        scheduler_wake(waiter, RESULT_OK);
    } else if (semaphore->count < semaphore->limit) {
        semaphore->count++;
    } else {
        result = RESULT_OVERFLOW;
    }
    interrupts_restore(state);
    return result;
}

enum result semaphore_wait(struct semaphore *semaphore, uint64_t deadline)
{
    interrupt_state state = interrupts_save();
    enum result result = RESULT_OK;

    if (semaphore->count > 0) {
        semaphore->count--;
    } else {
        result = scheduler_block(&semaphore->waiters, deadline, state);
    }
    interrupts_restore(state);
    return result;
}
