/* SPDX-License-Identifier: BSD-2-Clause */
#include "backend/token_bucket.h"

#define UNITS_PER_BYTE UINT64_C(1000000000)
#define TIME_HALF      (UINT64_C(1) << 63)

bool token_bucket_init(struct token_bucket *bucket, uint64_t rate, uint32_t burst, uint64_t now)
{
    if (rate > TOKEN_BUCKET_RATE_MAX || (rate != 0 && burst == 0)) {
        return false;
    }
    *bucket = (struct token_bucket){
        .rate = rate,
        .capacity = burst * UNITS_PER_BYTE, /* less than 2^62 */
        .credit = burst * UNITS_PER_BYTE,
        .updated = now,
    };
    return true;
}

/* Returns the nanoseconds in which the bucket receives `units`, rounded up. */
static uint64_t time_for(const struct token_bucket *bucket, uint64_t units)
{
    return units / bucket->rate + (units % bucket->rate != 0);
}

void token_bucket_refill(struct token_bucket *bucket, uint64_t now)
{
    uint64_t elapsed = now - bucket->updated; /* correct also if the clock has wrapped */

    bucket->updated = now;
    if (bucket->rate == 0 || elapsed >= TIME_HALF) {
        return; /* no limit, or the time has jumped back */
    }
    if (elapsed >= time_for(bucket, bucket->capacity - bucket->credit)) {
        bucket->credit = bucket->capacity;
        return;
    }
    bucket->credit += elapsed * bucket->rate; /* less than the capacity, so nothing overflows */
}

uint32_t token_bucket_bytes(const struct token_bucket *bucket)
{
    return bucket->rate == 0 ? UINT32_MAX : (uint32_t)(bucket->credit / UNITS_PER_BYTE);
}

void token_bucket_charge(struct token_bucket *bucket, uint32_t bytes)
{
    if (bucket->rate != 0) {
        bucket->credit -= bytes * UNITS_PER_BYTE;
    }
}

uint64_t token_bucket_wait(const struct token_bucket *bucket, uint32_t bytes)
{
    uint64_t cost = bytes * UNITS_PER_BYTE;

    if (bucket->rate == 0 || cost <= bucket->credit) {
        return 0;
    }
    return time_for(bucket, cost - bucket->credit);
}
