/* SPDX-License-Identifier: BSD-2-Clause */
/* The types of a system that exists only in tests (guest_adapter.h). */
#ifndef CHANNEL_GUEST_TYPES_H
#define CHANNEL_GUEST_TYPES_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    GUEST_OK,
    GUEST_NO_DEVICETREE,
    GUEST_NOT_FOUND,
    GUEST_MALFORMED,
    GUEST_OTHER_KIND,
    GUEST_INVALID_SIZE,
    GUEST_NO_INTERRUPT,
    GUEST_NOT_MAPPED,   /* the system's own */
    GUEST_NOT_ATTACHED, /* the system's own */
} guest_status;

struct guest_interrupt {
    unsigned line; /* of fake_system */
};

struct guest_signal {
    bool is_posted;
};

#endif
