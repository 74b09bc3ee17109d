/* SPDX-License-Identifier: BSD-2-Clause */
#include "random_number.h"

#include "kernel/time.h"
#include <arch/random.h>

uint64_t random_number(void)
{
    uint64_t number;

    return arch_random(&number) ? number : time_now() * UINT64_C(0x9e3779b97f4a7c15);
}
