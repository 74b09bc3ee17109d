/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The network lock: lwIP's core lock (lwip/arch/cc.h: LOCK_TCPIP_CORE). lwIP transmits only while
 * it is held. The interface is called before the lock is released, and notifies the device once of
 * all frames that were queued meanwhile.
 */
#ifndef NET_CORE_LOCK_H
#define NET_CORE_LOCK_H

/* Thread context. Not recursive. */
void network_lock(void);
void network_unlock(void);

/* Sets the function that network_unlock() calls before it releases the lock; NULL: none. Lock held.
 */
void network_set_release(void (*release)(void *context), void *context);

#endif
