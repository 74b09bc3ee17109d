/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces hypervisor/cache.h with a cache of the test. */
#ifndef HYPERVISOR_CACHE_H
#define HYPERVISOR_CACHE_H

#include <stdint.h>

uint64_t cache_line_bytes(void);
uint64_t cache_block_bytes(void);
void cache_zero_block(uint64_t at);
void cache_clean_line(uint64_t at);
void cache_complete(void);
void cache_forget_instructions(void);

#endif
