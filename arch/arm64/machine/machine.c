/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls to the firmware or hypervisor (SMC Calling Convention, Arm DEN 0028), and to the host of a
 * debugger or simulator (Arm semihosting specification, "A64").
 */
#include <arch/machine.h>

#define SEMIHOSTING_EXIT                     0x18u
#define SEMIHOSTING_STOPPED_APPLICATION_EXIT UINT64_C(0x20026)

uint64_t arch_firmware_call(bool hypervisor, uint32_t function)
{
    /* A call may change x0 to x17 (SMCCC, "Register use in AArch64 SMC and HVC calls"). */
    register uint64_t x0 __asm__("x0") = function;
    register uint64_t x1 __asm__("x1") = 0;
    register uint64_t x2 __asm__("x2") = 0;
    register uint64_t x3 __asm__("x3") = 0;

    if (hypervisor) {
        __asm__ volatile("hvc #0"
                         : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)
                         :
                         : "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",
                           "x15", "x16", "x17", "memory");
    } else {
        __asm__ volatile("smc #0"
                         : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)
                         :
                         : "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",
                           "x15", "x16", "x17", "memory");
    }
    return x0;
}

void arch_semihosting_exit(int status)
{
    uint64_t block[2] = {SEMIHOSTING_STOPPED_APPLICATION_EXIT, (uint64_t)(int64_t)status};
    register uint64_t operation __asm__("x0") = SEMIHOSTING_EXIT;
    register uint64_t argument __asm__("x1") = (uintptr_t)block;

    __asm__ volatile("hlt #0xf000" : "+r"(operation) : "r"(argument) : "memory");
}

void arch_halt(void)
{
    for (;;) {
        __asm__ volatile("msr daifset, #0xf\n\twfi" : : : "memory");
    }
}
