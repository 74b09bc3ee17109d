/* SPDX-License-Identifier: BSD-2-Clause */
/* Software-generated interrupts: those of guests, and messages between monitors. */
#ifndef HYPERVISOR_GIC_SGI_H
#define HYPERVISOR_GIC_SGI_H

#include "hypervisor/access.h"
#include "hypervisor/partition.h"

/* Carries out a guest's write to ICC_SGI1R_EL1 on a VCPU: sends the SGI to the targets that are
 * VCPUs of its partition. Returns ACCESS_REFUSED if the write names others, or the hypervisor's
 * SGI. ICC_SGI0R_EL1 and ICC_ASGI1R_EL1, for Group 0 and the other security state, are refused in
 * entry/trap.c. */
enum access_result sgi_send(const struct partition *partition, uint32_t vcpu, uint64_t value);

/* Sends GIC_OWN_SGI to the core of a VCPU, and notes for whom if VCPUs share it. Its monitor then
 * sees all memory that this core wrote before. */
void gic_send(struct partition *partition, uint32_t vcpu);

/* Sends GIC_OWN_SGI to any core. `partition`: one whose monitor executes here. The core's monitor
 * then sees all memory that this core wrote before. */
void gic_call_core(const struct partition *partition, const struct description_core *core);

/* The VCPUs of the partition that a write to ICC_SGI1R_EL1 names, bit n for VCPU n. */
struct sgi_targets {
    uint32_t vcpus;
    bool others; /* it names others, too, or the hypervisor's SGI */
};

/* Sends the SGI to the core of a VCPU of the partition. */
void sgi_send_one(const struct partition *partition, uint32_t vcpu, uint32_t number);

struct sgi_targets sgi_targets(const struct partition *partition, uint32_t vcpu, uint64_t value);

/* Returns the SGI that a write to ICC_SGI1R_EL1 sends. */
static inline uint32_t sgi_number(uint64_t value)
{
    return (uint32_t)(value >> 24) & 0xf;
}

#endif
