/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scrubber: a thread that reads memory which must not change, over and over, and compares it
 * with digests that it made when it started. It notices a changed bit before the program uses it
 * (IEC 61508-7, A.4: signatures of invariable memory), and panics: the hypervisor then acts on the
 * error `panic` (docs/recovery.md).
 *
 * It reads the image's code and constants, and ranges of the program. A change within one word of
 * 64 bits is noticed with certainty, any other with a probability of 1 - 2^-64, at the next visit
 * of the page: within a period, if the thread gets the processor. What changed before the start is
 * not noticed.
 */
#ifndef KERNEL_SCRUB_H
#define KERNEL_SCRUB_H

#include "kernel/result.h"
#include <stddef.h>
#include <stdint.h>

#define SCRUB_RANGES_MAX 4u

/* Memory that does not change while the scrubber works. */
struct scrub_range {
    const void *start; /* a multiple of 8 */
    size_t bytes;      /* a multiple of 8 */
};

struct scrub_attributes {
    uint64_t period;   /* nanoseconds for a pass over all pages, > 0 */
    unsigned priority; /* of the thread. It sleeps between pages, and reads one without a pause */
    /* Further ranges, SCRUB_RANGES_MAX at most; copied. */
    const struct scrub_range *ranges;
    size_t range_count;
};

/*
 * Makes the digests, 8 bytes for each page of 4096 bytes, and starts the thread. Once. Thread
 * context. Returns RESULT_OK, RESULT_INVALID (attributes), RESULT_BUSY (it has started),
 * RESULT_NO_MEMORY, or the error of thread_create().
 */
enum result scrub_start(const struct scrub_attributes *attributes);

#endif
