/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Channels that another program has lent to this one: their files are open here, and the
 * environment variable BULKHEAD_CHANNELS has the numbers of the files.
 *
 * It consists of entries with a space between them: NAME=KIND,RING_BYTES,CONFIG,INTERRUPT,
 * REGISTERS,MEMORY,MEMORY_OFFSET,COMMON_BYTES, in decimal numbers. The program believes it, because
 * whoever starts a program can choose its files as well; a program with set-user-ID ignores it.
 */
#ifndef LINUX_LENT_H
#define LINUX_LENT_H

#include "channel/linux.h"

/* Returns a lent channel, NULL if it is none. All threads of the process get the same object. */
struct linux_function *lent_find(const char *name);

#endif
