/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/listed_common.h"

#include "gic/system_registers.h"

/* Fields of ICH_VMCR_EL2, ICH_VTR_EL2 and ICC_CTLR_EL1 (IHI 0069). */
#define MACHINE_COMMON_POINT  (UINT64_C(1) << 4) /* VCBPR */
#define MACHINE_MASK_SHIFT    24                 /* VPMR */
#define MACHINE_MASK          (UINT64_C(0xff) << MACHINE_MASK_SHIFT)
#define TYPE_PRIORITIES(type) ((type) >> 29 & 7)  /* PRIbits - 1 */
#define TYPE_INTIDS(type)     ((type) >> 23 & 7)  /* IDbits */
#define TYPE_ERRORS(type)     ((type) >> 22 & 1)  /* SEIS */
#define TYPE_AFFINITY3(type)  ((type) >> 21 & 1)  /* A3V */
#define CONTROL_COMMON_POINT  (UINT64_C(1) << 0)  /* CBPR */
#define CONTROL_RANGE         (UINT64_C(1) << 18) /* RSS: the same for ICC and ICV registers */
#define PRIORITY_NONE         UINT64_C(0xff)      /* no interrupt is active */

/* Returns the bits that a priority of the guest has. */
static uint64_t priority_bits(void)
{
    return UINT64_C(0xff) & ~(UINT64_C(0x7f) >> TYPE_PRIORITIES(gic_registers_virtual_type()));
}

uint64_t listed_common_mask(void)
{
    return gic_registers_guest_control() >> MACHINE_MASK_SHIFT & priority_bits();
}

void listed_common_set_mask(uint64_t value)
{
    gic_registers_set_guest_control((gic_registers_guest_control() & ~MACHINE_MASK) |
                                    (value & priority_bits()) << MACHINE_MASK_SHIFT);
}

uint64_t listed_common_control(void)
{
    uint64_t type = gic_registers_virtual_type(), machine = gic_registers_guest_control();

    return ((machine & MACHINE_COMMON_POINT) != 0 ? CONTROL_COMMON_POINT : 0) |
           ((machine & ICH_VMCR_SPLIT) != 0 ? ICC_CTLR_EOI_MODE : 0) | TYPE_PRIORITIES(type) << 8 |
           TYPE_INTIDS(type) << 11 | TYPE_ERRORS(type) << 14 | TYPE_AFFINITY3(type) << 15 |
           (gic_registers_control() & CONTROL_RANGE);
}

void listed_common_set_control(uint64_t value)
{
    uint64_t machine = gic_registers_guest_control() & ~(MACHINE_COMMON_POINT | ICH_VMCR_SPLIT);

    machine |= (value & CONTROL_COMMON_POINT) != 0 ? MACHINE_COMMON_POINT : 0;
    machine |= (value & ICC_CTLR_EOI_MODE) != 0 ? ICH_VMCR_SPLIT : 0;
    gic_registers_set_guest_control(machine);
}

uint64_t listed_common_running_priority(void)
{
    uint32_t priority = gic_registers_guest_running_priority();

    return priority > PRIORITY_NONE ? PRIORITY_NONE : priority;
}
