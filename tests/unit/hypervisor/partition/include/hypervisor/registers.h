/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces hypervisor/registers.h with registers of the test. */
#ifndef HYPERVISOR_REGISTERS_H
#define HYPERVISOR_REGISTERS_H

#include <stdint.h>

uint64_t fake_register(const char *name);

#define register_read(name) fake_register(#name)

#define take_pending_errors() (void)0

#endif
