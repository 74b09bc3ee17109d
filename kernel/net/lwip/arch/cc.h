/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The compiler and platform definitions that lwIP's sources need. Included by lwIP's headers.
 */
#ifndef NETWORK_LWIP_ARCH_CC_H
#define NETWORK_LWIP_ARCH_CC_H

#include "core_lock.h"
#include "random.h"
#include <arch/cpu_inline.h>
#include <stdint.h>

/* A freestanding C library has none of these. */
#define LWIP_NO_INTTYPES_H   1
#define LWIP_NO_LIMITS_H     1
#define LWIP_NO_UNISTD_H     1
#define LWIP_NO_CTYPE_H      1
#define LWIP_TIMEVAL_PRIVATE 1

#ifndef INT_MAX
#define INT_MAX __INT_MAX__
#endif

/* Two instructions instead of a call; a packet needs fifteen of them. */
#define lwip_htons(value) ((uint16_t)__builtin_bswap16((uint16_t)(value)))
#define lwip_htonl(value) ((uint32_t)__builtin_bswap32((uint32_t)(value)))

/* Formats, for lwIP's debug output (switched off). */
#define X8_F  "02x"
#define U16_F "u"
#define S16_F "d"
#define X16_F "x"
#define U32_F "u"
#define S32_F "d"
#define X32_F "x"
#define SZT_F "zu"

#define LWIP_PROVIDE_ERRNO 1
/* There is no errno, because one for all threads could hold the error of another thread. Socket
 * calls report errors by their return value, and SO_ERROR reads why a connection failed. */
#define set_errno(error) ((void)(error))

#define LWIP_PLATFORM_DIAG(arguments) ((void)0)

/*
 * A failed assertion of lwIP means that memory or a state machine is corrupt, so the kernel panics.
 * No frame from the network can make one fail: virtio/ports/lwip/tcp_guard.c and
 * external/lwip_corrections/ prevent those that could.
 */
_Noreturn void network_assertion_failed(const char *message, int line);
#define LWIP_PLATFORM_ASSERT(message) network_assertion_failed((message), __LINE__)

/* Critical sections of a few instructions: the kernel's own lock, inline. */
#define SYS_ARCH_DECL_PROTECT(level) uint64_t level
#define SYS_ARCH_PROTECT(level)      ((level) = arch_interrupts_save())
#define SYS_ARCH_UNPROTECT(level)    arch_interrupts_restore(level)

#define LWIP_RAND() network_random()

/* These also notify the device before the lock is released (core_lock.h). */
#define LOCK_TCPIP_CORE()   network_lock()
#define UNLOCK_TCPIP_CORE() network_unlock()

#endif
