/* SPDX-License-Identifier: BSD-2-Clause */
/* The types of our kernel in channel/guest.h. */
#ifndef CHANNEL_GUEST_TYPES_H
#define CHANNEL_GUEST_TYPES_H

#include "kernel/result.h"
#include "kernel/sync.h"
#include <stdint.h>

typedef enum result guest_status;

#define GUEST_OK           RESULT_OK
#define GUEST_NOT_FOUND    RESULT_NOT_FOUND
#define GUEST_MALFORMED    RESULT_INVALID
#define GUEST_OTHER_KIND   RESULT_UNSUPPORTED
#define GUEST_INVALID_SIZE RESULT_INVALID
#define GUEST_NO_INTERRUPT RESULT_UNSUPPORTED

struct guest_interrupt {
    uint32_t number; /* for kernel/interrupt.h */
};

struct guest_signal {
    struct semaphore semaphore; /* binary */
};

#endif
