/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first line of an exception's report.
 */
#ifndef EXCEPTION_DESCRIBE_H
#define EXCEPTION_DESCRIBE_H

#include <arch/exception.h>

/* Prints the cause of the exception in one line. */
void exception_describe(const struct exception_frame *frame);

#endif
