/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts of results. */
#include "kernel/result.h"

const char *result_text(enum result result)
{
    switch (result) {
    case RESULT_OK:
        return "ok";
    case RESULT_TIMED_OUT:
        return "timed out";
    case RESULT_NO_MEMORY:
        return "out of memory";
    case RESULT_INVALID:
        return "invalid argument";
    case RESULT_BUSY:
        return "in use";
    case RESULT_NOT_FOUND:
        return "not found";
    case RESULT_NOT_OWNER:
        return "not the owner";
    case RESULT_OVERFLOW:
        return "limit exceeded";
    case RESULT_UNSUPPORTED:
        return "not supported";
    case RESULT_OVERLOADED:
        return "not enough processor time";
    case RESULT_TOO_SMALL:
        return "too small";
    }
    return "unknown result";
}
