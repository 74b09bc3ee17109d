/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/direct.h"

#include "gic/internal.h"
#include "gic/list_register.h"
#include "gic/system_registers.h"

/* Fields of ICC_CTLR_EL1 that the guest reads: EOImode, and the read-only fields PRIbits, IDbits,
 * SEIS, A3V and RSS. The Distributor's extended ranges are hidden, so ExtRange is, too. */
#define CONTROL_SHOWN                                                                  \
    (ICC_CTLR_EOI_MODE | ICC_CTLR_PRIORITIES | UINT64_C(7) << 11 | UINT64_C(1) << 14 | \
     UINT64_C(1) << 15 | UINT64_C(1) << 18)
#define INTID UINT64_C(0xffffff)

void direct_reset(struct vcpu *vcpu)
{
    direct_set_mask(vcpu, 0);
    direct_set_control(0);
}

/* ICC_PMR_EL1 has as many bits as priorities have (IHI 0069, ICC_PMR_EL1). Priorities of direct
 * interrupts are at least PRIORITY_DIRECT_MIN, so for them PRIORITY_MASK_OWN masks as much as
 * 0. */
void direct_set_mask(struct vcpu *vcpu, uint64_t value)
{
    unsigned bits = gic_registers_priority_bits();

    vcpu->mask = (uint32_t)value & 0xff & ~(UINT32_C(0xff) >> bits);
    gic_registers_mask(vcpu->mask < PRIORITY_MASK_OWN ? PRIORITY_MASK_OWN : vcpu->mask);
}

uint64_t direct_mask(const struct vcpu *vcpu)
{
    return vcpu->mask;
}

void direct_set_control(uint64_t value)
{
    gic_registers_set_control(value & ICC_CTLR_EOI_MODE);
}

uint64_t direct_control(void)
{
    return gic_registers_control() & CONTROL_SHOWN;
}

/* No interrupt of the hypervisor is active while the guest executes, so the priority is that of the
 * guest's interrupt. */
uint64_t direct_running_priority(void)
{
    return gic_registers_running_priority();
}

/* With EOImode 0 a write to ICC_DIR_EL1 has no effect that a guest may rely on: it may be reported
 * as an SError (IHI 0069, ICC_DIR_EL1). So it is ignored then. */
enum access_result direct_deactivate(const struct vcpu *vcpu, uint64_t value)
{
    uint32_t number = (uint32_t)(value & INTID);
    bool is_of_guest = number < GIC_PRIVATE_COUNT
                           ? (PRIVATE_GUEST >> number & 1) != 0
                           : partition_owns_interrupt(vcpu->partition, number);

    if (!is_of_guest) {
        return ACCESS_REFUSED;
    }
    if (gic_registers_ends_are_split()) {
        gic_registers_deactivate(number);
    }
    return ACCESS_DONE;
}
