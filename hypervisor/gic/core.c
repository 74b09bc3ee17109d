/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/direct.h"
#include "gic/internal.h"
#include "gic/list_register.h"
#include "gic/listed.h"
#include "gic/system_registers.h"
#include "vcpu/same_core.h"
#include <devices/gic_registers.h>

void gic_reset_core(struct vcpu *vcpu)
{
    const struct partition *partition = vcpu->partition;
    const struct gic_frame frame = gic_private(partition_core(partition, vcpu->number));

    (void)gic_silence_interrupts(&frame, 0, PRIVATE_GUEST, PRIORITY_USUAL);
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

const char *gic_start_core(struct vcpu *vcpu)
{
    const struct partition *partition = vcpu->partition;

    if (!gic_registers_start()) {
        return "a core has no system registers for the GIC";
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
