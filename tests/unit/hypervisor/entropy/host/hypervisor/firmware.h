/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls to the firmware in unit tests, which define the first function with a model of it. */
#ifndef HYPERVISOR_FIRMWARE_H
#define HYPERVISOR_FIRMWARE_H

#include <stdint.h>

void firmware_call_for_results(uint64_t registers[4]);

static inline int64_t firmware_call(uint64_t function, uint64_t first, uint64_t second,
                                    uint64_t third)
{
    uint64_t registers[4] = {function, first, second, third};

    firmware_call_for_results(registers);
    return (int64_t)registers[0];
}

#endif
