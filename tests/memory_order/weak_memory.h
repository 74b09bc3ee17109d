/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Explores all executions of two or three small threads under a weak memory model: every order of
 * their accesses, and every value that a load may return.
 *
 * The model is C11 in its repaired form (RC11), with relaxed read-modify-writes. A store creates a
 * message. For each location a thread knows the oldest message that it may still read; relaxed
 * loads may return old messages as long as that is coherent. A release store attaches the thread's
 * knowledge to its message, a release fence to all later messages. An acquire load adds the
 * knowledge attached to the message that it reads, an acquire fence the knowledge attached to all
 * messages that the thread has read. A relaxed store after a release store carries nothing, as
 * in C++20, which dropped C11's release sequences within a thread. A full fence is a
 * release and an acquire fence, and all full fences have one total order. Thus stores may become
 * visible late and in any order, and loads may happen early in any order. The model allows
 * everything that our processors do, with one exception: a load is never later than a store that
 * follows it in its thread (load buffering), as in all checkers for C that follow RC11.
 *
 * There are two kinds of locations. Shared words, registered with model_share(), may be accessed at
 * any time: another thread may continue before each access. All other locations are data, whose
 * accesses the fences must order. Two accesses without an order, one of them a store, are an error:
 * a data race, in which the value could be old, incomplete or too new.
 */
#ifndef TESTS_MEMORY_ORDER_WEAK_MEMORY_H
#define TESTS_MEMORY_ORDER_WEAK_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_THREADS 3u

struct model_program {
    const char *name;
    void (*prepare)(void); /* runs before the threads start: plain memory, no fences needed */
    void (*thread[MODEL_THREADS])(void); /* the last may be NULL */
};

struct model_result {
    uint64_t executions;
    const char *error; /* NULL, or the error of an execution */
};

/* Runs the program in all ways until an error occurs or `limit` executions are done, which is also
 * an error. */
struct model_result model_explore(const struct model_program *program, uint64_t limit);

/* Call in prepare(): registers an aligned shared word of 1, 2, 4 or 8 bytes. */
void model_share(const void *location, unsigned bytes);

/* Returns true if the location is a shared word. */
bool model_is_shared(const void *location);

/* Call in a thread. An access inside a larger shared word is an access to a part of it. */
uint64_t model_load(const void *location, unsigned bytes);
void model_store(void *location, unsigned bytes, uint64_t value);
uint64_t model_load_acquire(const void *location, unsigned bytes);
void model_store_release(void *location, unsigned bytes, uint64_t value);
void model_release(void);
void model_acquire(void);
void model_full(void);

/* Replaces the value of a whole shared word by ((value & keep) | set) + add, without a memory order
 * of its own. Returns the value before. Reads the newest message, and passes on the knowledge
 * attached to it, as a read-modify-write in a release sequence does. */
uint64_t model_update(void *location, unsigned bytes, uint64_t keep, uint64_t set, uint64_t add);

/* Does the same with a memory order: the load acquires, the store releases, or both. */
uint64_t model_update_ordered(void *location, unsigned bytes, uint64_t keep, uint64_t set,
                              uint64_t add, bool acquires, bool releases);

/* Take and give a lock, which is known by its address. A thread is blocked while another one has
 * it. Everything before the lock was given is visible after it is taken. */
void model_lock(const void *lock);
void model_unlock(const void *lock);

/* Blocks until a shared word has a newer message than the last one that this thread knows of, like
 * a polling loop. The next load returns a newer message. */
void model_await(const void *location);

/* The same for a newer message than the last one that this thread has read: it may know of the
 * newest one without having read it. */
void model_await_unread(const void *location);

/* An event with memory order: everything before the signal is visible after the wait. A wait blocks
 * until there is a signal that it has not consumed, and consumes all signals at once. It is an
 * error if all threads are blocked or have ended, and one is blocked. A signal in
 * prepare() has no effect. */
void model_signal(unsigned event);
void model_wait(unsigned event);

/* Consumes the signals so far, if any, without blocking. The same memory order. */
void model_clear(unsigned event);

/* Reports an error found by a thread. Does not return. */
void model_fail(const char *what) __attribute__((noreturn));

#define MODEL_CHECK(condition)                                  \
    do {                                                        \
        if (!(condition)) {                                     \
            model_fail("a thread's check failed: " #condition); \
        }                                                       \
    } while (0)

#endif
