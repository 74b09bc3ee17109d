/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Symbols of context.S for C.
 */
#ifndef CONTEXT_H
#define CONTEXT_H

/* The first instruction of a new thread. It is not a function to call. */
void context_thread_begin(void);

#endif
