/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handles the exits of a guest's steady state: an SGI to another core of its partition, a listed
 * interrupt, and broadcast maintenance that is made local. The resident tables map this code,
 * without the services.
 */
#include "entry/monitor.h"
#include "entry/syndrome.h"
#include "gic/listed.h"
#include "gic/sgi.h"
#include "hypervisor/registers.h"
#include "vcpu/same_core.h"

/* Carries out trapped maintenance on this core. A TLBI instruction invalidates more than the guest
 * requested: all stage 1 entries of its VMID. */
static void invalidate_locally(unsigned name)
{
    if (name == REGISTER_IC_IALLUIS) {
        __asm__ volatile("ic iallu" : : : "memory");
    } else {
        __asm__ volatile("tlbi vmalle1" : : : "memory");
    }
    __asm__ volatile("dsb nsh\n\tisb" : : : "memory");
}

bool monitor_answer(struct registers *registers, unsigned kind)
{
    struct vcpu *vcpu = processor_this()->vcpu;
    uint64_t syndrome, value;
    unsigned name;

    if (kind == VECTOR_IRQ) {
        return listed_take(vcpu);
    }
    syndrome = register_read(esr_el2);
    if (kind != VECTOR_SYNCHRONOUS || SYNDROME_CLASS(syndrome) != CLASS_REGISTER) {
        return false;
    }
    name = (unsigned)syndrome & REGISTER_NAME_MASK;
    value = register_value(registers, (unsigned)REGISTER_TARGET(syndrome));
    if (name == REGISTER_SGI1R && !partition_shares_cores(vcpu->partition)) {
        vcpu->report.exits[EXIT_SGI]++;
        vcpu->report.refused += sgi_send(vcpu->partition, vcpu->number, value) == ACCESS_REFUSED;
    } else if (name == REGISTER_IC_IALLUIS || REGISTER_IS_TLBI(name)) {
        vcpu->report.exits[EXIT_CACHE]++;
        invalidate_locally(name);
    } else {
        return false;
    }
    registers->pc += INSTRUCTION_BYTES;
    return true;
}
