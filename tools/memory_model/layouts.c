/* SPDX-License-Identifier: BSD-2-Clause */
/* Limits of the model that the tools check (tools/layouts/layout.h). */
#include "layout.h"

#include "model_limits.h"

void layouts_limits(void);

void layouts_limits(void)
{
    LAYOUT_CONSTANT(PROCESSORS_MAX);
    LAYOUT_CONSTANT(CACHE_WAYS_MAX);
    LAYOUT_CONSTANT(CACHE_BYTES_MAX);
    LAYOUT_CONSTANT(CACHE_LINE_BYTES_MIN);
    LAYOUT_CONSTANT(CACHE_LINE_BYTES_MAX);
    LAYOUT_CONSTANT(TLB_WAYS_MAX);
    LAYOUT_CONSTANT(TLB_ENTRIES_MAX);
    LAYOUT_CONSTANT(OWNERS_MAX);
    LAYOUT_CONSTANT(OWNER_NAME_BYTES);
    LAYOUT_CONSTANT(OWNER_RANGES_MAX);
}
