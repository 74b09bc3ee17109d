/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The boot argument `vcpus`: the VCPUs of the kernel, and the threads that each of them is for.
 *
 *   vcpus=NAME:POLICY:BUDGET/PERIOD[/BLOCKING][:THREAD[+THREAD]...][,NAME:...]
 *
 * NAME, THREAD     1 to THREAD_NAME_BYTES - 1 letters, digits, - _ and .
 * POLICY           main or io
 * BUDGET, PERIOD   a whole number above 0, and its unit: ns, us, ms or s; the budget is at most the
 *                  period
 * BLOCKING         such a time, at most the period; without it, 0
 * THREAD           * stands for every thread that no VCPU names. Without threads the VCPU is for
 *                  the thread of its own name
 *
 * There are at most VCPU_MAX VCPUs. Each has a name of its own, and each thread belongs to one
 * VCPU. No allocation, no output. Any context.
 */
#ifndef VCPU_ARGUMENTS_H
#define VCPU_ARGUMENTS_H

#include "kernel/vcpu.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VCPU_ARGUMENTS_THREADS_MAX 64u
/* Room for the text with its terminating 0. A text that fills it may have been cut, so it is
 * refused. */
#define VCPU_ARGUMENTS_TEXT_BYTES 2048u

struct vcpu_argument {
    char name[VCPU_NAME_BYTES];
    enum vcpu_policy policy;
    bool has_all_others; /* is for every thread that no VCPU names */
    uint64_t budget;     /* nanoseconds in each period */
    uint64_t period;     /* nanoseconds */
    uint64_t blocking;   /* nanoseconds: vcpu_param.blocking */
};

struct vcpu_argument_thread {
    char name[THREAD_NAME_BYTES];
    size_t vcpu; /* index */
};

struct vcpu_arguments {
    size_t vcpu_count;
    struct vcpu_argument vcpus[VCPU_MAX]; /* in the order of the text */
    size_t thread_count;
    struct vcpu_argument_thread threads[VCPU_ARGUMENTS_THREADS_MAX];
};

struct vcpu_argument_error {
    const char *what; /* the rule that the text breaks, for a message of one line */
    size_t position;  /* of the character that breaks it; the first is 1 */
};

/* Reads a value of `vcpus`. Returns true, or false with the first error, and then `arguments` has
 * no VCPU and no thread. */
bool vcpu_arguments_parse(struct vcpu_arguments *arguments, const char *text,
                          struct vcpu_argument_error *error);

/* Returns how many names of threads a VCPU has, `*` among them. */
uint32_t vcpu_arguments_threads(const struct vcpu_arguments *arguments, size_t vcpu);

/* Returns the VCPU for a thread with this thread_name(); NULL if there is none. The idle thread has
 * none, whatever the argument says: don't ask for it. */
const struct vcpu_argument *vcpu_arguments_find(const struct vcpu_arguments *arguments,
                                                const char *thread);

#endif
