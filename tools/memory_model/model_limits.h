/* SPDX-License-Identifier: BSD-2-Clause */
/* Limits of the model. The tools check what users choose against them (layouts.c). */
#ifndef MEMORY_MODEL_MODEL_LIMITS_H
#define MEMORY_MODEL_MODEL_LIMITS_H

#include <stdint.h>

#define PROCESSORS_MAX 16u

#define CACHE_WAYS_MAX       64u
#define CACHE_BYTES_MAX      (UINT64_C(1) << 30)
#define CACHE_LINE_BYTES_MIN 16u
#define CACHE_LINE_BYTES_MAX 4096u

#define TLB_WAYS_MAX    64u
#define TLB_ENTRIES_MAX (UINT32_C(1) << 16)

#define OWNERS_MAX       64u     /* with OWNER_OTHER */
#define OWNER_NAME_BYTES 64u     /* with the final 0 */
#define OWNER_RANGES_MAX 524288u /* with cache colours: runs of one page each in 2 GiB */

#endif
