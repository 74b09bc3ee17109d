/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The locks of the ends of a channel. The kernel frees a lock when its process ends in any way, so
 * the peer of a process that crashed notices it.
 */
#ifndef LINUX_LOCK_H
#define LINUX_LOCK_H

#include "channel/linux.h"

#define LOCK_LOOK_NS (LINUX_DEATH_NS / 2) /* between two looks at a lock */

/* Locks this end. Returns false with errno: EAGAIN or EACCES if another endpoint has locked it. */
bool lock_take(const struct linux_endpoint *endpoint);

void lock_free(const struct linux_endpoint *endpoint);

/* `observe` of the endpoint's port, for a file: the lock of a peer is watched while it is
 * connected. */
void lock_observe(void *endpoint, const struct channel *channel);

#endif
