/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Synchronisation between threads, and from interrupts to threads. Waiters are served by effective
 * priority, first-in first-out among equals. Deadlines are absolute (kernel/time.h); DEADLINE_POLL
 * never blocks. Every object is embedded by its owner, initialised before use and destroyed only
 * when nobody waits on it.
 *
 * A call that has to wait gives up the processor, which a critical section (interrupts_save() to
 * interrupts_restore()) forbids: mutex_lock(), condition_wait(), semaphore_wait(),
 * event_flags_wait(), message_queue_send() and message_queue_receive() panic if they would block
 * inside one. With DEADLINE_POLL they never block and may be called there.
 *
 * Each call masks interrupts for a bounded time. Blocking takes one step for each priority among
 * the waiting threads, at most THREAD_PRIORITY_COUNT, however many threads wait. Waking a thread
 * with a deadline takes logarithmic time in the number of armed timers. message_queue_send() and
 * message_queue_receive() copy two messages at most, of MESSAGE_BYTES_MAX bytes each.
 * event_flags_set() wakes EVENT_FLAGS_WAITERS_MAX threads at most. Priority inheritance takes one
 * step for each mutex in a chain of owners that wait, and each step visits the mutexes that this
 * owner holds.
 *
 * A release hands the object to a waiter: an unlocked mutex belongs to its first waiter at once, a
 * post wakes a waiter instead of raising the count, and a message goes to a blocked receiver
 * instead of the queue. No thread that calls later can take it, however urgent that thread is. A
 * waiter whose deadline passes at the same instant either gets the object or times out.
 */
#ifndef KERNEL_SYNC_H
#define KERNEL_SYNC_H

#include "kernel/list.h"
#include "kernel/result.h"
#include <stdbool.h>
#include <stdint.h>

struct thread;

/* The reason of a wait: the kind of the object, or none. */
enum wait_kind {
    WAIT_SLEEP, /* the thread waits for its deadline only */
    WAIT_MUTEX,
    WAIT_SEMAPHORE,
    WAIT_EVENT_FLAGS,
    WAIT_SEND,    /* message queue: it is full */
    WAIT_RECEIVE, /* message queue: it is empty */
    WAIT_JOIN,
    WAIT_CONDITION,
};

/* Private (sched/wait_queue.h): threads blocked on an object. */
struct wait_queue {
    struct list waiters; /* all, most urgent first */
    struct list levels;  /* the first of each priority */
    enum wait_kind kind;
};

/*
 * Mutex with priority inheritance: the holder runs at least at the priority of its most urgent
 * waiter, transitively along chains of mutexes. Recursive locking is refused (RESULT_BUSY).
 * Thread context only.
 */
struct mutex {
    struct thread *owner;
    struct wait_queue waiters;
    struct list_node owned; /* on its owner's list of held mutexes */
    /* Ticks that the owner had executed when it got the mutex. Valid if the mutex has users. */
    uint64_t locked_at;
    uint32_t users; /* bit n: a thread of the VCPU with id n + 1 has locked the mutex */
    /* Longest execution with the mutex, in ticks, since the latest user came. The statistics of all
     * users contain it, except those of the VCPU that executed, whose bit is the second. */
    uint64_t longest;
    uint32_t longest_user;
};

void mutex_init(struct mutex *mutex);
/* Locks. Returns RESULT_OK, RESULT_TIMED_OUT, or RESULT_BUSY if the caller holds the mutex already.
 * Thread context. */
enum result mutex_lock(struct mutex *mutex, uint64_t deadline);
/* Unlocks. Returns RESULT_OK, or RESULT_NOT_OWNER if the caller does not hold the mutex. Thread
 * context. */
enum result mutex_unlock(struct mutex *mutex);

/*
 * Condition variable: threads wait, without the mutex, until another thread signals that what the
 * mutex protects has changed. A thread that returns from condition_wait() holds the mutex again.
 * Another thread may have held it since the signal, so the thread tests its condition in a loop:
 *
 *   mutex_lock(&mutex, DEADLINE_NONE);
 *   while (queue_is_empty() && condition_wait(&filled, &mutex, deadline) == RESULT_OK) {
 *   }
 *
 * Waiters may use different mutexes. There are no wake-ups without a signal.
 */
struct condition {
    struct wait_queue waiters;
};

void condition_init(struct condition *condition);
/*
 * Unlocks the mutex and waits, in one step: no signal of a later holder of the mutex is lost.
 * Returns with the mutex locked by the caller: RESULT_OK after a signal, or RESULT_TIMED_OUT if the
 * deadline passed before one. As in POSIX (pthread_cond_timedwait()), the deadline limits the wait
 * for the signal only, not that for the mutex afterwards, and a deadline in the past unlocks the
 * mutex as well. DEADLINE_POLL returns RESULT_TIMED_OUT at once and does not unlock. Returns
 * RESULT_NOT_OWNER if the caller does not hold the mutex. Thread context.
 */
enum result condition_wait(struct condition *condition, struct mutex *mutex, uint64_t deadline);
/*
 * Ends the wait of the most urgent waiter, which gets its mutex or, while another thread holds
 * that, waits for the mutex without running (and the holder inherits its priority). Returns true if
 * a thread waited. The caller need not hold the mutex. Any context. An interrupt handler cannot
 * lock the mutex, so its signal is lost if it comes between a thread's test and its wait: post to a
 * semaphore instead, or give the wait a deadline.
 */
bool condition_signal(struct condition *condition);
/* Does the same for all threads that wait now. Any context. In a thread, interrupts are masked for
 * the time of one waiter at a time; in an interrupt, for that of all waiters. */
void condition_broadcast(struct condition *condition);

/* Counting semaphore. Posting is allowed in interrupts. */
struct semaphore {
    uint32_t count;
    uint32_t limit;
    struct wait_queue waiters;
};

/* `limit` > 0 and >= `count`. A limit of 1 makes the semaphore binary. */
void semaphore_init(struct semaphore *semaphore, uint32_t count, uint32_t limit);
/* Wakes the first waiter, or raises the count. Returns RESULT_OK, or RESULT_OVERFLOW if no thread
 * waits and the count is at its limit. Any context. */
enum result semaphore_post(struct semaphore *semaphore);
/* Lowers the count, or waits for a post. Returns RESULT_OK or RESULT_TIMED_OUT. Thread context;
 * with DEADLINE_POLL any context. */
enum result semaphore_wait(struct semaphore *semaphore, uint64_t deadline);

/* Threads that can wait for the flags of one object at the same time. */
#define EVENT_FLAGS_WAITERS_MAX 16u

/*
 * 32 event flags. Setting is allowed in interrupts. Waiters are checked in order of urgency; flags
 * that one of them clears are not seen by the next.
 */
struct event_flags {
    uint32_t flags;
    struct wait_queue waiters;
};

enum event_wait_mode {
    EVENT_WAIT_ANY = 0,  /* until at least one of the flags is set */
    EVENT_WAIT_ALL = 1,  /* until all of the flags are set */
    EVENT_WAIT_CLEAR = 2 /* or-ed in: the flags that ended the wait are cleared */
};

void event_flags_init(struct event_flags *events);
void event_flags_set(struct event_flags *events, uint32_t flags);   /* any context */
void event_flags_clear(struct event_flags *events, uint32_t flags); /* any context */
/* Waits for `flags` (not 0). `*seen` (may be NULL) gets all flags at the end of the wait. Returns
 * RESULT_OK, RESULT_TIMED_OUT, RESULT_INVALID, or RESULT_OVERFLOW if the call would block and
 * EVENT_FLAGS_WAITERS_MAX threads already wait. Thread context; with DEADLINE_POLL any context. */
enum result event_flags_wait(struct event_flags *events, uint32_t flags, unsigned mode,
                             uint32_t *seen, uint64_t deadline);

/* Maximum size of a message in bytes. For longer data, send a pointer to a block of a pool. */
#define MESSAGE_BYTES_MAX 256u

/* First-in first-out queue of messages of one size, copied in and out with interrupts masked. */
struct message_queue {
    uint8_t *storage;
    uint32_t message_bytes;
    uint32_t capacity; /* messages */
    uint32_t head;     /* index of the oldest */
    uint32_t count;
    struct wait_queue senders;
    struct wait_queue receivers;
};

/* `storage` holds message_bytes * capacity bytes, owned by the caller. Panics unless 0 <
 * `message_bytes` <= MESSAGE_BYTES_MAX and 0 < `capacity`. */
void message_queue_init(struct message_queue *queue, void *storage, uint32_t message_bytes,
                        uint32_t capacity);
/* Return RESULT_OK, or RESULT_TIMED_OUT (with DEADLINE_POLL: the queue is full or empty). Thread
 * context; with DEADLINE_POLL any context. */
enum result message_queue_send(struct message_queue *queue, const void *message, uint64_t deadline);
enum result message_queue_receive(struct message_queue *queue, void *message, uint64_t deadline);

#endif
