/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls in lwIP's own thread. It sleeps until its next timer expires, and notices a timer that
 * another thread sets only afterwards, up to 100 ms later. So a timer that matters is set there.
 */
#ifndef NET_STACK_CALL_H
#define NET_STACK_CALL_H

/* Lets lwIP's thread call the function, with the core lock held, as soon as it can. If it has no
 * place for the call, calls the function here. Thread context, core lock held. */
void network_call_in_stack(void (*function)(void *argument), void *argument);

#endif
