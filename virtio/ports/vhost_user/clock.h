/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time: virtio_platform_now(), virtio_platform_pause(), and the one place where this port waits.
 * Tests put a clock of their own in its place.
 */
#ifndef VHOST_USER_CLOCK_H
#define VHOST_USER_CLOCK_H

#include <poll.h>
#include <stdint.h>

/* Waits until one of the descriptors is ready, or virtio_platform_now() has reached the deadline,
 * or a signal came. Returns how many are ready; <= 0: none. `count` may be 0. */
int vhost_user_wait(struct pollfd *wanted, unsigned count, uint64_t deadline);

#endif
