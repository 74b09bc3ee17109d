/* SPDX-License-Identifier: BSD-2-Clause */
/* Problems that end the program: one line, without its newline. */
#ifndef BACKEND_LINUX_PROBLEM_H
#define BACKEND_LINUX_PROBLEM_H

#include <stdbool.h>

#define PROBLEM_BYTES 256u

/* Writes the line, as printf(), into `problem`, which has PROBLEM_BYTES. Returns false. */
bool problem_set(char *problem, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
