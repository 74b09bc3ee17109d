/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Message queues. Senders wait only while the queue is full and receivers only while it is empty. A
 * message is copied directly to a waiting receiver, and a free place is filled at once with the
 * message of a waiting sender.
 */
#include "kernel/interrupt.h"
#include "kernel/panic.h"
#include "kernel/sync.h"
#include "kernel/time.h"
#include "sched/core.h"
#include "sched/scheduler.h"
#include "sched/thread_private.h"
#include "sched/wait_queue.h"
#include <string.h>

void message_queue_init(struct message_queue *queue, void *storage, uint32_t message_bytes,
                        uint32_t capacity)
{
    if (message_bytes == 0 || message_bytes > MESSAGE_BYTES_MAX || capacity == 0) {
        panic("message queue: %u messages of %u bytes", capacity, message_bytes);
    }
    *queue = (struct message_queue){
        .storage = storage, .message_bytes = message_bytes, .capacity = capacity};
    wait_queue_init(&queue->senders, WAIT_SEND);
    wait_queue_init(&queue->receivers, WAIT_RECEIVE);
}

/* Returns the address of message number `index`, 0 for the oldest. */
static uint8_t *slot(const struct message_queue *queue, uint32_t index)
{
    uint64_t place = ((uint64_t)queue->head + index) % queue->capacity;

    return queue->storage + place * queue->message_bytes;
}

static void append(struct message_queue *queue, const void *message)
{
    memcpy(slot(queue, queue->count), message, queue->message_bytes);
    queue->count++;
}

static void take_oldest(struct message_queue *queue, void *message)
{
    memcpy(message, slot(queue, 0), queue->message_bytes);
    queue->head = (uint32_t)(((uint64_t)queue->head + 1) % queue->capacity);
    queue->count--;
}

enum result message_queue_send(struct message_queue *queue, const void *message, uint64_t deadline)
{
    interrupt_state state = interrupts_save();
    struct thread *receiver = wait_queue_first(&queue->receivers);
    enum result result = RESULT_OK;

    if (receiver != NULL) {
        memcpy(receiver->wait.receive, message, queue->message_bytes);
        scheduler_wake(receiver, RESULT_OK);
    } else if (queue->count < queue->capacity) {
        append(queue, message);
    } else if (deadline == DEADLINE_POLL) {
        result = RESULT_TIMED_OUT;
    } else {
        if (core_this()->current != NULL) {
            core_this()->current->wait.send = message;
        }
        result = scheduler_block(&queue->senders, deadline, state);
    }
    interrupts_restore(state);
    return result;
}

enum result message_queue_receive(struct message_queue *queue, void *message, uint64_t deadline)
{
    interrupt_state state = interrupts_save();
    enum result result = RESULT_OK;

    if (queue->count > 0) {
        struct thread *sender = wait_queue_first(&queue->senders);

        take_oldest(queue, message);
        if (sender != NULL) {
            append(queue, sender->wait.send);
            scheduler_wake(sender, RESULT_OK);
        }
    } else if (deadline == DEADLINE_POLL) {
        result = RESULT_TIMED_OUT;
    } else {
        if (core_this()->current != NULL) {
            core_this()->current->wait.receive = message;
        }
        result = scheduler_block(&queue->receivers, deadline, state);
    }
    interrupts_restore(state);
    return result;
}
