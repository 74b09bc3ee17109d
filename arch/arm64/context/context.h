/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What context.S gives to C.
 */
#ifndef CONTEXT_H
#define CONTEXT_H

/* A new thread's first instruction; not a function to call. */
void context_thread_begin(void);

#endif
