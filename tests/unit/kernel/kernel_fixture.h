/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fresh kernel for a test: the host machine (arch/host_machine.h), memory, and a first thread
 * that runs the test's function. Threads use CHECK instead of cmocka's assertions, which may only
 * fail on the stack of the test.
 */
#ifndef KERNEL_FIXTURE_H
#define KERNEL_FIXTURE_H

/* cmocka.h needs these headers before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/interrupt.h"
#include "kernel/memory.h"
#include "kernel/result.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include <arch/host_machine.h>
#include <stdbool.h>

#define INIT_PRIORITY 32u
#define KERNEL_MEMORY ((size_t)4 << 20)
#define STACK_BYTES   ((size_t)16384)
#define STATUS_CHECK  103 /* a CHECK failed */

/* Runs `init` as the first thread with priority INIT_PRIORITY. Returns the machine's exit status, 0
 * when `init` returns. If a CHECK fails, the test fails. */
int kernel_status(void (*init)(void));

/* Does the same and checks that the status is 0. */
void kernel_run(void (*init)(void));

/* Runs `init`, which must end in a panic whose message contains `text`. */
void kernel_panics(void (*init)(void), const char *text);

/*
 * Runs `init` repeatedly with sweep_interrupt() at point 0, 1, 2 ... until a run ends before its
 * point is reached. The test fails if there are fewer than `least` points.
 */
void kernel_sweep(void (*init)(void), unsigned least);
void sweep_interrupt(void (*handler)(void *argument), void *argument);

/* Creates a thread; the test fails if that fails. */
struct thread *start(const char *name, unsigned priority, void (*entry)(void *), void *argument);
/* Joins a thread that has ended or will end by itself. */
void finish(struct thread *thread);
unsigned effective_priority(const struct thread *thread);

/* A log of events, as words separated by spaces. */
void note(const char *word);
void check_notes(const char *file, int line, const char *expected); /* also empties the log */
#define CHECK_NOTES(expected) check_notes(__FILE__, __LINE__, expected)

/* Each macro is a single statement, so that the linter's statement count of a test stays low. */
void check_equal(uint64_t value, uint64_t expected, const char *what, const char *file, int line);
#define CHECK(condition) check_equal((condition) ? 1 : 0, 1, #condition, __FILE__, __LINE__)
#define CHECK_EQUAL(value, expected)                                                        \
    check_equal((uint64_t)(value), (uint64_t)(expected), #value " == " #expected, __FILE__, \
                __LINE__)

/* Pseudorandom numbers; the sequence is the same in every run. */
uint64_t random_next(uint64_t *state);
uint64_t random_below(uint64_t *state, uint64_t limit);

#endif
