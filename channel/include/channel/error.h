/* SPDX-License-Identifier: BSD-2-Clause */
/* The description of an error: a violation of the format by the peer. After it, the direction is
 * unusable until a new connection. */
#ifndef CHANNEL_ERROR_H
#define CHANNEL_ERROR_H

#include "channel/linkage.h"
#include <stdint.h>

CHANNEL_C_BEGIN

enum channel_error_kind {
    CHANNEL_ERROR_NONE,
    CHANNEL_ERROR_FORMAT,     /* the peer has another format, version or kind: `value` */
    CHANNEL_ERROR_RING_BYTES, /* the peer has a ring of `value` bytes */
    CHANNEL_ERROR_PRODUCED, /* produced is `value`: unaligned, or not within a ring of `position` */
    CHANNEL_ERROR_CONSUMED, /* consumed is `value`: unaligned, went back, or is after `position` */
    CHANNEL_ERROR_LENGTH,   /* the header `value` at `position` has a length that does not fit */
    CHANNEL_ERROR_START,    /* start is `value`, not where the peer's messages can begin */
};

struct channel_error {
    enum channel_error_kind kind;
    uint64_t value;    /* value that was read */
    uint64_t position; /* position of the side that has read it */
};

/* Returns a text for the error, such as "the peer's produced index is invalid", in static
 * storage. */
const char *channel_error_text(enum channel_error_kind kind);

CHANNEL_C_END

#endif
