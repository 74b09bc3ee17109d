/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of the hypervisor, which the test answers. */
#ifndef ARCH_HYPERVISOR_CALL_H
#define ARCH_HYPERVISOR_CALL_H

#include <stdint.h>

struct hypervisor_answer {
    int64_t result;
    uint64_t value;
};

struct hypervisor_answer hypervisor_call(uint32_t function, uint64_t first, uint64_t second,
                                         uint64_t third);

#endif
