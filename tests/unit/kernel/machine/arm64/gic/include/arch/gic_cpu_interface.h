/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces arch/arm64/include/arch/gic_cpu_interface.h with system registers in fake_gic.c. */
#ifndef ARCH_GIC_CPU_INTERFACE_H
#define ARCH_GIC_CPU_INTERFACE_H

#include <stdbool.h>
#include <stdint.h>

bool gic_cpu_use_system_registers(void);
void gic_cpu_start(uint8_t priority_mask);
void gic_cpu_set_priority_mask(uint8_t priority_mask);
uint32_t gic_cpu_acknowledge(void);
void gic_cpu_end(uint32_t number);
uint64_t gic_cpu_affinity(void);

#endif
