/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of the hypervisor by HVC (SMC Calling Convention, Arm DEN 0028), for guests at EL1. */
#ifndef ARCH_HYPERVISOR_CALL_H
#define ARCH_HYPERVISOR_CALL_H

#include <stdint.h>

struct hypervisor_answer {
    int64_t result;         /* X0 */
    uint64_t value;         /* X1 */
    uint64_t second, third; /* X2, X3 */
};

/* Calls a function of the hypervisor, with three arguments in X1 to X3. Orders no accesses to
 * memory, unless the function says so. Any context. */
static inline struct hypervisor_answer hypervisor_call(uint32_t function, uint64_t first,
                                                       uint64_t second, uint64_t third)
{
    register uint64_t x0 __asm__("x0") = function;
    register uint64_t x1 __asm__("x1") = first;
    register uint64_t x2 __asm__("x2") = second;
    register uint64_t x3 __asm__("x3") = third;

    /* X4 to X17 may come back changed (DEN0028, "Register use in AArch64 SMC and HVC calls"). */
    __asm__ volatile("hvc #0"
                     : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)
                     :
                     : "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
                       "x16", "x17", "memory");
    return (struct hypervisor_answer){(int64_t)x0, x1, x2, x3};
}

#endif
