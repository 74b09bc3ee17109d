/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that the checks of a test program (run_checks.h) start and join. */
#ifndef APPS_TESTS_CHECK_THREADS_H
#define APPS_TESTS_CHECK_THREADS_H

#include "kernel/thread.h"
#include <stdbool.h>
#include <stdint.h>

#define OWN 32u /* priority of "init", which runs the checks */

/* Returns NULL if the thread can't be created. */
struct thread *start_thread(const char *name, unsigned priority, bool floating_point,
                            void (*entry)(void *), void *argument);

/* Returns false if the thread does not end within two minutes. */
bool join_thread(struct thread *thread);

/* A thread's function: computes with integers until the bool that `argument` points to is true. */
void spin_until_set(void *argument);

/* Fills the floating-point registers and the caller-saved general registers, and the rounding mode
 * in FPCR, from the pattern, checks them `rounds` times, and returns how many checks found a
 * register changed. */
uint64_t hold_registers(uint64_t pattern, uint64_t rounds);

/* Fills the floating-point registers, calls the function, and returns how many registers had
 * changed. */
uint64_t hold_vectors(uint64_t pattern, void (*function)(void));

#endif
