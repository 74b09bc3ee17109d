/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls to the firmware at EL3 (SMC Calling Convention, Arm DEN 0028). */
#ifndef HYPERVISOR_FIRMWARE_H
#define HYPERVISOR_FIRMWARE_H

#include <stdint.h>

/* Calls a function of the firmware. `registers`: X0 to X3, the function and its arguments before
 * the call and the results after it. Any core. */
static inline void firmware_call_for_results(uint64_t registers[4])
{
    /* A call may change X0 to X17 (DEN0028, "Register use in AArch64 SMC and HVC calls"). */
    register uint64_t x0 __asm__("x0") = registers[0];
    register uint64_t x1 __asm__("x1") = registers[1];
    register uint64_t x2 __asm__("x2") = registers[2];
    register uint64_t x3 __asm__("x3") = registers[3];

    __asm__ volatile("smc #0"
                     : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)
                     :
                     : "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
                       "x16", "x17", "memory");
    registers[0] = x0;
    registers[1] = x1;
    registers[2] = x2;
    registers[3] = x3;
}

/* Calls a function of the firmware. Returns its first result. Any core. */
static inline int64_t firmware_call(uint64_t function, uint64_t first, uint64_t second,
                                    uint64_t third)
{
    uint64_t registers[4] = {function, first, second, third};

    firmware_call_for_results(registers);
    return (int64_t)registers[0];
}

#endif
