/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces hypervisor/gic/system_registers.h with system registers in machine.c and interface.c. */
#ifndef HYPERVISOR_GIC_SYSTEM_REGISTERS_H
#define HYPERVISOR_GIC_SYSTEM_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#define ICC_CTLR_EOI_MODE   (UINT64_C(1) << 1)
#define ICC_CTLR_PRIORITIES (UINT64_C(7) << 8)
#define ICH_VTR_TRAP_DIR    (UINT64_C(1) << 19)
#define ICH_VMCR_SPLIT      (UINT64_C(1) << 9)
#define ICH_VTR_PREEMPTION  (UINT64_C(7) << 26)

/* Registers that have no function of their own. */
#define ICC_SRE_EL1   "ICC_SRE_EL1"
#define ICH_AP0R0_EL2 "ICH_AP0R0_EL2"
#define ICH_AP0R1_EL2 "ICH_AP0R1_EL2"
#define ICH_AP0R2_EL2 "ICH_AP0R2_EL2"
#define ICH_AP0R3_EL2 "ICH_AP0R3_EL2"
#define ICH_AP1R0_EL2 "ICH_AP1R0_EL2"
#define ICH_AP1R1_EL2 "ICH_AP1R1_EL2"
#define ICH_AP1R2_EL2 "ICH_AP1R2_EL2"
#define ICH_AP1R3_EL2 "ICH_AP1R3_EL2"
#define ICH_HCR_EL2   "ICH_HCR_EL2"
#define ICH_VMCR_EL2  "ICH_VMCR_EL2"
#define ICH_VTR_EL2   "ICH_VTR_EL2"
#define ICC_SRE_OWN   UINT64_C(7)

#define GIC_REGISTER_READ(name)         interface_read(name)
#define GIC_REGISTER_WRITE(name, value) interface_write(name, value)

void gic_registers_reset(void);
uint64_t gic_registers_hide_active(void);
void gic_registers_restore_active(uint64_t active);
bool gic_registers_start(void);
uint32_t gic_registers_acknowledge_group0(void);
void gic_registers_end_group0(uint32_t number);
void gic_registers_send_group0(uint64_t value);
void gic_registers_send_group1(uint64_t value);

/* interface.c */
uint64_t interface_read(const char *name);
void interface_write(const char *name, uint64_t value);
unsigned gic_registers_priority_bits(void);
uint64_t gic_registers_control(void);
void gic_registers_set_control(uint64_t value);
bool gic_registers_ends_are_split(void);
void gic_registers_reset_virtual(void);
void gic_registers_split_ends(void);
void gic_registers_enable_group0(void);
void gic_registers_enable_group1(void);
bool gic_registers_mask_has_lowest_priority(void);
uint32_t gic_registers_acknowledge_group1(void);
uint32_t gic_registers_running_priority(void);
void gic_registers_drop_group1(uint32_t number);
void gic_registers_deactivate(uint32_t number);
void gic_registers_mask(uint32_t priority);
void gic_registers_control_lists(uint64_t value);
uint64_t gic_registers_list_control(void);
uint64_t gic_registers_virtual_type(void);
uint64_t gic_registers_guest_control(void);
void gic_registers_set_guest_control(uint64_t value);
bool gic_registers_guest_splits_end(void);
uint32_t gic_registers_guest_running_priority(void);
unsigned gic_registers_list_count(void);
uint32_t gic_registers_free_lists(void);
void gic_registers_settle_lists(void);
void gic_registers_list(unsigned index, uint64_t value);
uint64_t gic_registers_listed(unsigned index);

#endif
