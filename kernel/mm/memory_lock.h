/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lock of the page allocator and the heap. Memory management declares it, and the system that
 * it is linked into defines it: the kernel's threads in sched/memory_lock.c.
 */
#ifndef MM_MEMORY_LOCK_H
#define MM_MEMORY_LOCK_H

/* Acquires the lock. A holder may acquire it again, because the heap allocates pages while it holds
 * it, and releases it as often. Thread context, or boot before threads exist. */
void memory_lock(void);

/* Releases the lock, which the caller holds. */
void memory_unlock(void);

#endif
