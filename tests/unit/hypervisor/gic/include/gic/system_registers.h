/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces hypervisor/gic/system_registers.h with system registers in machine.c. */
#ifndef HYPERVISOR_GIC_SYSTEM_REGISTERS_H
#define HYPERVISOR_GIC_SYSTEM_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

void gic_registers_reset(void);
uint64_t gic_registers_hide_active(void);
void gic_registers_restore_active(uint64_t active);
bool gic_registers_start(void);
uint32_t gic_registers_acknowledge_group0(void);
void gic_registers_end_group0(uint32_t number);
void gic_registers_send_group0(uint64_t value);
void gic_registers_send_group1(uint64_t value);

#endif
