/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/gic_registers.h"
#include "gic/internal.h"
#include "gic/listed.h"
#include "gic/system_registers.h"

void gic_reset_core(struct vcpu *vcpu)
{
    const struct partition *partition = vcpu->partition;
    const struct gic_frame frame = gic_private(partition_core(partition, vcpu->number));

    (void)gic_silence_interrupts(&frame, 0, PRIVATE_GUEST, PRIORITY_USUAL);
    gic_registers_reset();
    if (listed_is_used(partition)) {
        listed_reset(vcpu);
    }
}

void gic_open_core(void)
{
    gic_registers_mask(PRIORITY_MASK_OPEN);
}

const char *gic_start_core(const struct partition *partition)
{
    if (!gic_registers_start()) {
        return "a core has no system registers for the GIC";
    }
    if (listed_is_used(partition) && gic_registers_list_count() < LIST_REGISTERS_MIN) {
        return "listed interrupts need two list registers, not in core";
    }
    return NULL;
}

uint32_t gic_acknowledge(void)
{
    uint32_t interrupt = gic_registers_acknowledge_group0();

    /* IHI 0069, "Special INTIDs". */
    return interrupt > GIC_SPI_LAST ? GIC_NONE : interrupt;
}

void gic_end(uint32_t interrupt)
{
    gic_registers_end_group0(interrupt);
}

uint64_t gic_hide_active(void)
{
    return gic_registers_hide_active();
}

void gic_restore_active(uint64_t active)
{
    gic_registers_restore_active(active);
}
