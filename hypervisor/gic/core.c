/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/gic_registers.h"
#include "gic/internal.h"
#include "gic/system_registers.h"

void gic_reset_core(const struct description_core *core)
{
    const struct gic_frame frame = gic_private(core);

    (void)gic_silence_interrupts(&frame, 0, PRIVATE_GUEST, PRIORITY_USUAL);
    gic_registers_reset();
}

const char *gic_start_core(void)
{
    return gic_registers_start() ? NULL : "a core has no system registers for the GIC";
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
