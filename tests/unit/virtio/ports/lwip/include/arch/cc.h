/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiler and platform definitions for lwIP's headers: the host's C library. */
#ifndef NETWORK_LWIP_ARCH_CC_H
#define NETWORK_LWIP_ARCH_CC_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#define LWIP_TIMEVAL_PRIVATE 0
#define LWIP_NO_UNISTD_H     1

#define LWIP_RAND() ((u32_t)rand())

#define LWIP_PLATFORM_DIAG(arguments) ((void)0)
#define LWIP_PLATFORM_ASSERT(message)                                        \
    do {                                                                     \
        (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, (message)); \
        abort();                                                             \
    } while (0)

#endif
