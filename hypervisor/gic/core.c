/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/direct.h"
#include "gic/internal.h"
#include "gic/list_register.h"
#include "gic/listed.h"
#include "gic/system_registers.h"
#include "vcpu/same_core.h"
#include <arch/device_access.h>
#include <devices/gic_registers.h>

void gic_reset_core(struct vcpu *vcpu)
{
    const struct partition *partition = vcpu->partition;
    const struct gic_frame frame = gic_private(partition_core(partition, vcpu->number));

    if (!gic_silence_interrupts(&frame, 0, PRIVATE_GUEST, PRIORITY_USUAL)) {
        __atomic_store_n(&vcpu->partition->atomic.is_unsettled, 1, __ATOMIC_RELAXED);
    }
    listed_note_settings_change(vcpu);
    gic_registers_reset();
    if (listed_has(partition)) {
        listed_reset(vcpu);
    } else {
        direct_reset(vcpu);
    }
}

void gic_open_core(const struct vcpu *vcpu)
{
    if (listed_has(vcpu->partition)) {
        gic_registers_mask(PRIORITY_MASK_OPEN);
    }
}

/* Returns the hypervisor's private interrupts that have to be enabled. */
static uint32_t used_interrupts(const struct partition *partition)
{
    return UINT32_C(1) << GIC_OWN_TIMER |
           (listed_has(partition) ? UINT32_C(1) << GIC_OWN_MAINTENANCE : 0) |
           (listed_shares_group1(partition) ? 0 : UINT32_C(1) << GIC_OWN_SGI);
}

/* Sets up the Redistributor of the calling core. Only the core itself does so: firmware disables
 * its private interrupts when it turns it on, and wakes its Redistributor (IHI 0069, "Power
 * management"). */
static const char *start_redistributor(const struct partition *partition,
                                       const struct description_core *core)
{
    uint32_t used = used_interrupts(partition);
    const struct gic_frame frame = gic_private(core);
    uintptr_t base = (uintptr_t)core->redistributor;

    /* No interrupt reaches a core whose Redistributor sleeps (IHI 0069, GICR_WAKER). */
    device_write32(base + GICR_WAKER, 0);
    if (!gic_wait_long(base + GICR_WAKER, GICR_WAKER_CHILDREN_ASLEEP)) {
        return "a Redistributor does not wake";
    }
    if (!gic_silence_interrupts(&frame, 0, PRIVATE_GUEST, PRIORITY_USUAL) ||
        !gic_silence_interrupts(&frame, 0, PRIVATE_OWN, PRIORITY_OWN)) {
        return "a Redistributor does not settle";
    }
    device_write32(frame.interrupts + GIC_IGROUPR, PRIVATE_GUEST);
    device_write32(frame.interrupts + GIC_ISENABLER, used);
    /* An interrupt of the other security state ignores the write (IHI 0069, GICR_ISENABLER0). */
    used &= ~device_read32(frame.interrupts + GIC_ISENABLER);
    if (used == 0) {
        return NULL;
    }
    return (used >> GIC_OWN_TIMER & 1) != 0
               ? "the firmware keeps interrupt 26, the EL2 timer's"
               : "the firmware keeps interrupt 25, the maintenance interrupt";
}

const char *gic_start_core(struct vcpu *vcpu)
{
    const struct partition *partition = vcpu->partition;
    const char *wrong;

    if (!gic_registers_start()) {
        return "a core has no system registers for the GIC";
    }
    wrong = start_redistributor(partition, partition_core(partition, vcpu->number));
    if (wrong != NULL) {
        return wrong;
    }
    if (!listed_shares_group1(partition)) {
        gic_registers_enable_group0();
    }
    if (listed_has(partition)) {
        return listed_start(vcpu);
    }
    gic_registers_control_lists(LIST_CONTROL_TRAP_COMMON);
    return NULL;
}

uint32_t gic_acknowledge(const struct partition *partition)
{
    uint32_t interrupt = listed_shares_group1(partition) ? gic_registers_acknowledge_group1()
                                                         : gic_registers_acknowledge_group0();

    /* IHI 0069, "Special INTIDs". */
    return interrupt > GIC_SPI_LAST ? GIC_NONE : interrupt;
}

void gic_end(const struct partition *partition, uint32_t interrupt)
{
    if (listed_shares_group1(partition)) {
        gic_registers_drop_group1(interrupt);
    } else {
        gic_registers_end_group0(interrupt);
    }
    if (gic_registers_ends_are_split()) {
        gic_end_dropped(interrupt);
    }
}

void gic_end_dropped(uint32_t interrupt)
{
    gic_registers_deactivate(interrupt);
}

uint64_t gic_hide_active(void)
{
    return gic_registers_hide_active();
}

void gic_restore_active(uint64_t active)
{
    gic_registers_restore_active(active);
}
