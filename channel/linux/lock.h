/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The locks of the ends of a channel: bytes of a file that both ends open. The kernel frees a lock
 * when its process ends in any way, so the peer of a process that crashed notices it.
 */
#ifndef LINUX_LOCK_H
#define LINUX_LOCK_H

#include <stdbool.h>

/* Locks an end, 0 or 1. Returns false with errno: EAGAIN or EACCES if another open file has locked
 * it. */
bool lock_take(int file, unsigned end);

void lock_free(int file, unsigned end);

/* The same among the processes that have one open file, to which lock_take() grants the lock
 * together. Take it first. The kernel frees it, too, when its process closes any file of this
 * device. */
bool lock_take_in_process(int file, unsigned end);

void lock_free_in_process(int file, unsigned end);

/* Returns true if another open file has locked the end, or if the file system can't tell. */
bool lock_is_taken(int file, unsigned end);

#endif
