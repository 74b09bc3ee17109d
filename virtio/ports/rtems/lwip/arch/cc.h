/* SPDX-License-Identifier: BSD-2-Clause */
/* What lwIP's sources ask of compiler and platform: newlib's headers, RTEMS's locks. */
#ifndef NETWORK_LWIP_ARCH_CC_H
#define NETWORK_LWIP_ARCH_CC_H

#include "net/core_lock.h"
#include "net/random.h"
#include "virtio/ports/rtems/lock.h"
#include <limits.h> /* SSIZE_MAX: lwIP takes it for a sign of ssize_t */
#include <stdint.h>
#include <sys/time.h>
#include <sys/types.h>

#define LWIP_TIMEVAL_PRIVATE  0
#define LWIP_ERRNO_STDINCLUDE 1

/* Formats, for lwIP's debug output (switched off). */
#define X8_F  PRIx8
#define U16_F PRIu16
#define S16_F PRId16
#define X16_F PRIx16
#define U32_F PRIu32
#define S32_F PRId32
#define X32_F PRIx32
#define SZT_F "zu"

#define LWIP_PLATFORM_DIAG(arguments) ((void)0)

/* See kernel/net/lwip/arch/cc.h: none can be reached from the network. */
_Noreturn void network_assertion_failed(const char *message, int line);
#define LWIP_PLATFORM_ASSERT(message) network_assertion_failed((message), __LINE__)

#define SYS_ARCH_DECL_PROTECT(level) uint64_t level
#define SYS_ARCH_PROTECT(level)      ((level) = virtio_rtems_lock())
#define SYS_ARCH_UNPROTECT(level)    virtio_rtems_unlock(level)

#define LWIP_RAND() network_random()

#define LOCK_TCPIP_CORE()   network_lock()
#define UNLOCK_TCPIP_CORE() network_unlock()

#endif
