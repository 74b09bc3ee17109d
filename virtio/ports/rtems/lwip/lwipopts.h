/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options of lwIP on RTEMS: those of our own kernel, except for functions that RTEMS's C library
 * provides and names that RTEMS's applications expect of a network stack.
 */
#ifndef NETWORK_RTEMS_LWIPOPTS_H
#define NETWORK_RTEMS_LWIPOPTS_H

#include "virtio/ports/lwip/lwipopts.h"

/* RTEMS's priorities: a smaller number is more urgent. The bottom half has 100 (start.c). */
#undef TCPIP_THREAD_PRIO
#define TCPIP_THREAD_PRIO 108
#undef DEFAULT_THREAD_PRIO
#define DEFAULT_THREAD_PRIO 128

/* POSIX names (socket(), bind(), select() ...) for programs that include lwip/sockets.h. */
#undef LWIP_COMPAT_SOCKETS
#define LWIP_COMPAT_SOCKETS 1
#undef LWIP_SOCKET_SELECT
#define LWIP_SOCKET_SELECT 1

#undef LWIP_DNS
#define LWIP_DNS 1
#undef LWIP_HAVE_LOOPIF
#define LWIP_HAVE_LOOPIF 1
#undef LWIP_NETIF_LOOPBACK
#define LWIP_NETIF_LOOPBACK     1
#define LWIP_LOOPBACK_MAX_PBUFS 16

#endif
