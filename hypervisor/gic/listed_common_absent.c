/* SPDX-License-Identifier: BSD-2-Clause */
/* For images without listed interrupts: gic/direct.h answers these accesses. */
#include "gic/listed_common.h"

uint64_t listed_common_mask(void)
{
    return 0;
}

void listed_common_set_mask(uint64_t value)
{
    (void)value;
}

uint64_t listed_common_control(void)
{
    return 0;
}

void listed_common_set_control(uint64_t value)
{
    (void)value;
}

uint64_t listed_common_running_priority(void)
{
    return 0;
}
