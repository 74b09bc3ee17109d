/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handles the exits of a guest's steady state: an SGI to another core of its partition, a listed
 * interrupt, a register of the CPU interface that both groups of interrupts have in common, and
 * broadcast maintenance that is made local. The resident tables map this code, without the
 * services.
 */
#include "entry/monitor.h"
#include "entry/syndrome.h"
#include "gic/direct.h"
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

/* Handles a trapped read of a register that both groups of interrupts have in common. Returns false
 * if it is none of these. */
static bool read_common(const struct vcpu *vcpu, unsigned name, uint64_t *value)
{
    switch (name) {
    case REGISTER_PMR:
        *value = direct_mask(vcpu);
        return true;
    case REGISTER_CTLR:
        *value = direct_control();
        return true;
    case REGISTER_RPR:
        *value = direct_running_priority();
        return true;
    default:
        return false;
    }
}

/* The same for a write. */
static bool write_common(struct vcpu *vcpu, unsigned name, uint64_t value)
{
    switch (name) {
    case REGISTER_PMR:
        direct_set_mask(vcpu, value);
        return true;
    case REGISTER_CTLR:
        direct_set_control(value);
        return true;
    case REGISTER_DIR:
        vcpu->report.refused += direct_deactivate(vcpu, value) == ACCESS_REFUSED;
        return true;
    default:
        return false;
    }
}

/* Handles a trapped access of a guest with direct interrupts to such a register. Returns false if
 * it is none of these. */
static bool access_common(struct vcpu *vcpu, struct registers *registers, uint64_t syndrome)
{
    unsigned name = (unsigned)syndrome & REGISTER_NAME_MASK;
    unsigned target = (unsigned)REGISTER_TARGET(syndrome);
    uint64_t value;

    if (!REGISTER_READ(syndrome)) {
        return write_common(vcpu, name, register_value(registers, target));
    }
    if (!read_common(vcpu, name, &value)) {
        return false;
    }
    if (target != NO_REGISTER) {
        registers->x[target] = value;
    }
    return true;
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
    } else if (!listed_has(vcpu->partition) && access_common(vcpu, registers, syndrome)) {
        vcpu->report.exits[EXIT_REGISTER]++;
    } else {
        return false;
    }
    registers->pc += INSTRUCTION_BYTES;
    return true;
}
