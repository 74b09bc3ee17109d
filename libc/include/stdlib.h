/* SPDX-License-Identifier: BSD-2-Clause */
/* <stdlib.h> of guest builds: number conversion. Memory comes from kernel/memory.h. */
#ifndef _STDLIB_H
#define _STDLIB_H

#include <stddef.h>

/* C11 7.22.1.4, without errno: a value out of range is clamped to the type's limits. */
long strtol(const char *restrict text, char **restrict end, int base);
unsigned long strtoul(const char *restrict text, char **restrict end, int base);
int atoi(const char *text);

#endif
