/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results of calls that can fail, for all layers. Failure is always one of these, never errno and
 * never a magic pointer.
 */
#ifndef ARCH_RESULT_H
#define ARCH_RESULT_H

enum result {
    RESULT_OK = 0,
    RESULT_TIMED_OUT,   /* the deadline passed before the condition held */
    RESULT_NO_MEMORY,   /* heap, pages or a fixed table exhausted; nothing was changed */
    RESULT_INVALID,     /* an argument is out of its documented range; nothing was changed */
    RESULT_BUSY,        /* the thing is in use (second owner of an interrupt, non-empty queue) */
    RESULT_NOT_FOUND,   /* no such node, device, parameter */
    RESULT_NOT_OWNER,   /* a mutex released by a thread that does not hold it */
    RESULT_OVERFLOW,    /* a counter or a queue would exceed its limit; nothing was changed */
    RESULT_UNSUPPORTED, /* the hardware or the device lacks it */
    RESULT_OVERLOADED,  /* there is not enough processor time; nothing was changed */
    RESULT_TOO_SMALL    /* a budget is not worth its switches; nothing was changed */
};

#endif
