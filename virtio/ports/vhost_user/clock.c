/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "clock.h"
#include "virtio/platform.h"
#include <limits.h>
#include <time.h>

#define NANOSECONDS_PER_SECOND      UINT64_C(1000000000)
#define NANOSECONDS_PER_MILLISECOND UINT64_C(1000000)
#define PAUSE_NANOSECONDS           100000

uint64_t virtio_platform_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NANOSECONDS_PER_SECOND + (uint64_t)now.tv_nsec;
}

void virtio_platform_pause(void)
{
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NANOSECONDS}, NULL);
}

int vhost_user_wait(struct pollfd *wanted, unsigned count, uint64_t deadline)
{
    uint64_t now = virtio_platform_now();
    uint64_t left = now < deadline ? (deadline - now) / NANOSECONDS_PER_MILLISECOND + 1 : 0;

    return poll(wanted, count, left < INT_MAX ? (int)left : INT_MAX);
}
