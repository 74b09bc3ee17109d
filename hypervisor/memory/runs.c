/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory/runs.h"

bool runs_map(uint64_t *root, struct page_pool *pool, uint64_t input, const struct runs *runs,
              uint64_t attributes)
{
    for (uint64_t offset = 0; offset < runs->bytes; offset += runs->run) {
        uint64_t left = runs->bytes - offset;

        if (!tables_map(root, pool, input + offset, runs_address(runs, offset),
                        left < runs->run ? left : runs->run, attributes)) {
            return false;
        }
    }
    return true;
}
