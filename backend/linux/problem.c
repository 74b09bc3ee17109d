/* SPDX-License-Identifier: BSD-2-Clause */
#include "problem.h"

#include <stdarg.h>
#include <stdio.h>

bool problem_set(char *problem, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(problem, PROBLEM_BYTES, format, arguments);
    va_end(arguments);
    return false;
}
