/* SPDX-License-Identifier: BSD-2-Clause */
/* A digest of a sequence of words. Two runs with equal sequences have equal digests. */
#ifndef BENCH_PLUGIN_DIGEST_H
#define BENCH_PLUGIN_DIGEST_H

#include <stdint.h>

#define PLUGIN_DIGEST_FACTOR UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / golden ratio, odd */
#define PLUGIN_DIGEST_SHIFT  32u

/* Returns the digest of a sequence and the word after it. The empty sequence has the digest 0. */
static inline uint64_t plugin_digest(uint64_t digest, uint64_t word)
{
    digest = (digest ^ word) * PLUGIN_DIGEST_FACTOR;
    return digest ^ digest >> PLUGIN_DIGEST_SHIFT;
}

#endif
