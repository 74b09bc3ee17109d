/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel/error.h"

const char *channel_error_text(enum channel_error_kind kind)
{
    switch (kind) {
    case CHANNEL_ERROR_NONE:
        return "no error";
    case CHANNEL_ERROR_FORMAT:
        return "the peer has another format, version or kind of channel";
    case CHANNEL_ERROR_RING_BYTES:
        return "the peer has a ring of another size";
    case CHANNEL_ERROR_PRODUCED:
        return "the peer's produced index is invalid";
    case CHANNEL_ERROR_CONSUMED:
        return "the peer's consumed index is invalid";
    case CHANNEL_ERROR_LENGTH:
        return "the length of a message of the peer is invalid";
    case CHANNEL_ERROR_START:
        return "the start of the peer's messages is invalid";
    }
    return "unknown error";
}
