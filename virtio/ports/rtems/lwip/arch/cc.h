/* SPDX-License-Identifier: BSD-2-Clause */
/* lwIP's requirements on compiler and platform: newlib's headers, RTEMS's locks. */
#ifndef NETWORK_LWIP_ARCH_CC_H
#define NETWORK_LWIP_ARCH_CC_H

#include "core_lock.h"
#include "random.h"
#include "virtio/platform.h"
#include <rtems/fatal.h>
#include <stdint.h>
#include <sys/time.h>

#define LWIP_TIMEVAL_PRIVATE  0
#define LWIP_ERRNO_STDINCLUDE 1

#define LWIP_PLATFORM_DIAG(arguments) ((void)0)

/* No assertion can fail because of a frame from the network; see kernel/net/lwip/arch/cc.h. */
#define LWIP_PLATFORM_ASSERT(message) rtems_panic("lwIP: %s (line %d)\n", (message), __LINE__)

#define SYS_ARCH_DECL_PROTECT(level) uint64_t level
#define SYS_ARCH_PROTECT(level)      ((level) = virtio_platform_lock())
#define SYS_ARCH_UNPROTECT(level)    virtio_platform_unlock(level)

#define LWIP_RAND() network_random()

#define LOCK_TCPIP_CORE()   network_lock()
#define UNLOCK_TCPIP_CORE() network_unlock()

#endif
