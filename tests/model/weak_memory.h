/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Explores all executions of two small threads under a weak memory model: every order of their
 * accesses, and every value a load may return.
 *
 * The model is C11's with fences only, in its repaired form (RC11): a store makes a message; a
 * thread knows from which message of each location on it may read; relaxed loads may return old
 * ones, as long as that is coherent; a release fence ties what the thread knows to its later
 * messages, an acquire fence takes over what came with those it has read, a full fence does both
 * and is in one order with all other full fences. That allows stores to become visible late and in
 * any order, and loads to be early in any order. It allows what the processors we build for do, but
 * one: a load is never later than a store that follows it in its thread (load buffering), as all
 * checkers for C code that follow RC11 have it.
 *
 * Locations are of two kinds. Shared words, made known with model_share(), are read and written at
 * any time: each access is a point where the other thread may go on. All else is data: the fences
 * must have put its accesses in order, and two that are not in order, one of them a store, are an
 * error (a data race: the value could be old, half written, or from later).
 */
#ifndef TESTS_MODEL_WEAK_MEMORY_H
#define TESTS_MODEL_WEAK_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_THREADS 2u

struct model_program {
    const char *name;
    void (*prepare)(void); /* before the threads start: plain memory, no fences needed */
    void (*thread[MODEL_THREADS])(void);
};

struct model_result {
    uint64_t executions;
    const char *error; /* NULL, or what went wrong in one of them */
};

/* Runs the program in all ways, until an error turns up or `limit` executions are done (that is an
 * error as well). */
struct model_result model_explore(const struct model_program *program, uint64_t limit);

/* In prepare(): this location is a shared word of 2, 4 or 8 bytes, aligned. */
void model_share(const void *location, unsigned bytes);

/* In a thread. Accesses inside a shared word of more bytes are part of it. */
uint64_t model_load(const void *location, unsigned bytes);
void model_store(void *location, unsigned bytes, uint64_t value);
void model_release(void);
void model_acquire(void);
void model_full(void);

/* Blocks until there is a newer message than the last this thread has seen of a shared word: what a
 * polling loop waits for. The next load returns a newer one. */
void model_await(const void *location);

/* An event with memory order: everything before the signal is seen after the wait. A wait blocks
 * until there is a signal it has not consumed; more than one signal are consumed together. All
 * threads blocked, or one blocked and the other at its end: an error. */
void model_signal(unsigned event);
void model_wait(unsigned event);

/* What a thread finds wrong. Does not return. */
void model_fail(const char *what) __attribute__((noreturn));

#define MODEL_CHECK(condition)                             \
    do {                                                   \
        if (!(condition)) {                                \
            model_fail("not so in a thread: " #condition); \
        }                                                  \
    } while (0)

#endif
