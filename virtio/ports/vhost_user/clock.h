/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time: virtio_platform_now(), virtio_platform_pause(), and the only function of this port that
 * waits. Tests link a clock of their own instead.
 */
#ifndef VHOST_USER_CLOCK_H
#define VHOST_USER_CLOCK_H

#include <poll.h>
#include <stdint.h>

/* Waits until one of `count` descriptors is ready, virtio_platform_now() has reached the deadline,
 * or a signal has arrived. Returns the number of ready descriptors; <= 0: none. `count` may be 0.
 */
int vhost_user_wait(struct pollfd *wanted, unsigned count, uint64_t deadline);

#endif
