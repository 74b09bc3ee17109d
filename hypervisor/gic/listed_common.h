/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registers of the virtual CPU interface that Group 0 and Group 1 have in common: ICC_PMR_EL1,
 * ICC_RPR_EL1 and ICC_CTLR_EL1. A guest with listed interrupts accesses them without an exit, but
 * on a processor that cannot trap ICC_DIR_EL1 alone (IHI 0069, ICH_VTR_EL2.TDS is 0): while a
 * deactivation has to trap, all of the common registers do (ICH_HCR_EL2.TC).
 *
 * Called on the VCPU's own core.
 */
#ifndef GIC_LISTED_COMMON_H
#define GIC_LISTED_COMMON_H

#include <stdint.h>

/* ICC_PMR_EL1: the guest's mask of priorities, in as many bits as priorities have. */
uint64_t listed_common_mask(void);
void listed_common_set_mask(uint64_t value);

/* ICC_CTLR_EL1. Of a written value, CBPR and EOImode change. */
uint64_t listed_common_control(void);
void listed_common_set_control(uint64_t value);

/* ICC_RPR_EL1. */
uint64_t listed_common_running_priority(void);

#endif
