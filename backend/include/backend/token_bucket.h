/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A token bucket: a limit of a rate with a burst. In any interval of t seconds it lets pass at most
 * burst + rate * t bytes.
 *
 * Times are nanoseconds of a clock that the caller reads; they may wrap at 2^64. The bucket is
 * counted in bytes / 10^9, so that one nanosecond at a rate of n bytes/s is exactly n units, and
 * nothing is ever rounded. If the time jumps back, the bucket goes on from the new time with what
 * it has. If it jumps forward, the bucket is full at most.
 *
 * The caller serialises all calls for one bucket. Any context.
 */
#ifndef BACKEND_TOKEN_BUCKET_H
#define BACKEND_TOKEN_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

#define TOKEN_BUCKET_RATE_MAX (UINT64_C(1) << 40) /* bytes/s */

struct token_bucket {
    uint64_t rate;     /* bytes/s; 0: no limit */
    uint64_t capacity; /* the burst, in bytes / 10^9 */
    uint64_t credit;   /* in bytes / 10^9, up to the capacity */
    uint64_t updated;  /* time of the last refill */
};

/* Initialises a full bucket. `rate`: bytes/s, up to TOKEN_BUCKET_RATE_MAX; 0 is no limit. `burst`:
 * bytes, 1 or more if there is a limit. Returns false if one of them is out of range. */
bool token_bucket_init(struct token_bucket *bucket, uint64_t rate, uint32_t burst, uint64_t now);

/* Adds the credit of the time since the last refill. */
void token_bucket_refill(struct token_bucket *bucket, uint64_t now);

/* Returns the bytes that may pass now, as of the last refill; UINT32_MAX if there is no limit. */
uint32_t token_bucket_bytes(const struct token_bucket *bucket);

/* Takes the credit of bytes that pass. `bytes`: at most token_bucket_bytes(). */
void token_bucket_charge(struct token_bucket *bucket, uint32_t bytes);

/* Returns the nanoseconds from the last refill until `bytes` may pass, 0 if they may already.
 * `bytes`: at most the burst. The result is less than 2^63. */
uint64_t token_bucket_wait(const struct token_bucket *bucket, uint32_t bytes);

#endif
