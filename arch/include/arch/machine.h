/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls to firmware, and to the host of a simulator. Any context.
 */
#ifndef ARCH_MACHINE_H
#define ARCH_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/* Calls a function without arguments, by HVC if `hypervisor` is true, otherwise by SMC to the
 * secure monitor. Returns the first result. */
uint64_t arch_firmware_call(bool hypervisor, uint32_t function);

/* Requests the simulator to end with `status`. Without a simulator that handles semihosting, the
 * request is an undefined instruction. Returns if the simulator refuses. */
void arch_semihosting_exit(int status);

/* Stops the core for good. */
_Noreturn void arch_halt(void);

#endif
