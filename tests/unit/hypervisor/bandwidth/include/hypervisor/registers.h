/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces hypervisor/registers.h with registers of the test. */
#ifndef HYPERVISOR_REGISTERS_H
#define HYPERVISOR_REGISTERS_H

#include <stdint.h>

uint64_t fake_register(const char *name);
void fake_register_write(const char *name, uint64_t value);

#define register_read(name)         fake_register(#name)
#define register_write(name, value) fake_register_write(#name, value)
#define instruction_barrier()       ((void)0)

#endif
