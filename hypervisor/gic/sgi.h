/* SPDX-License-Identifier: BSD-2-Clause */
/* Software-generated interrupts: those of guests, and messages between monitors. */
#ifndef HYPERVISOR_GIC_SGI_H
#define HYPERVISOR_GIC_SGI_H

#include "hypervisor/access.h"
#include "hypervisor/partition.h"

/* Carries out a guest's write of `value` to ICC_SGI1R_EL1 on VCPU `vcpu`: sends the SGI to those
 * targets that are VCPUs of its partition. Returns ACCESS_REFUSED if the write names other targets,
 * too, or the hypervisor's SGI, otherwise ACCESS_DONE. entry/trap.c refuses writes to ICC_SGI0R_EL1
 * and ICC_ASGI1R_EL1, which are for Group 0 and the other security state. Resident. */
enum access_result sgi_send(const struct partition *partition, uint32_t vcpu, uint64_t value);

/* Sends a message to the core of the partition's VCPU `vcpu`. If the partition has
 * shared cores, records the message in the VCPU's mail. The core's monitor sees everything that
 * this core wrote before. Any core. */
void gic_send(struct partition *partition, uint32_t vcpu);

/* Sends a message to several VCPUs, bit n for VCPU n, and calls each of their cores once. */
void gic_send_many(struct partition *partition, uint32_t vcpus);

/* Calls the core of each of these VCPUs once, for mail that they have got. The core's monitor sees
 * everything that this core wrote before. */
void gic_call_vcpus(const struct partition *partition, uint32_t vcpus);

/* Sends a message to any core: GIC_OWN_SGI, or the core's SPI for messages. `partition`: one whose
 * monitor executes on this core. The core's monitor sees everything that this core wrote before. */
void gic_call_core(const struct partition *partition, const struct description_core *core);

/* The targets of a write to ICC_SGI1R_EL1. */
struct sgi_targets {
    uint32_t vcpus; /* bit n: VCPU n of the partition is a target */
    bool others;    /* the write names other targets, too, or the hypervisor's SGI */
};

/* Sends SGI `number` to the core of the partition's VCPU `vcpu`. */
void sgi_send_one(const struct partition *partition, uint32_t vcpu, uint32_t number);

/* Returns the targets of a write of `value` to ICC_SGI1R_EL1 on VCPU `vcpu`. */
struct sgi_targets sgi_targets(const struct partition *partition, uint32_t vcpu, uint64_t value);

/* Returns the INTID of the SGI that a write of `value` to ICC_SGI1R_EL1 sends. */
static inline uint32_t sgi_number(uint64_t value)
{
    return (uint32_t)(value >> 24) & 0xf;
}

#endif
