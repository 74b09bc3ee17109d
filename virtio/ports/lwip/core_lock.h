/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lock around lwIP (lwip/arch/cc.h: LOCK_TCPIP_CORE). lwIP transmits under it and nowhere else,
 * so the interface is told when it is about to be released: that is when the device gets to know of
 * all frames queued meanwhile, by one notification.
 */
#ifndef NET_CORE_LOCK_H
#define NET_CORE_LOCK_H

/* Thread context. Not recursive. */
void network_lock(void);
void network_unlock(void);

/* `release` is called with the lock held, each time before it is released. Set under the lock. */
void network_set_release(void (*release)(void *context), void *context);

#endif
