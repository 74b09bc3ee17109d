/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Symbols of context.S for C.
 */
#ifndef ARCH_CONTEXT_H
#define ARCH_CONTEXT_H

/* The first instruction of a new thread. It is not a function to call. */
void context_thread_begin(void);

#endif
