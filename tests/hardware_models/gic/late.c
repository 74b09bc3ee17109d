/* SPDX-License-Identifier: BSD-2-Clause */
/* The writes of a GIC to which they arrive late (struct gic, is_late). */
#include "gic_private.h"
#include <devices/gic_registers.h>
#include <string.h>

/* Returns the index of the Distributor or of a Redistributor among the peripherals. */
static unsigned peripheral_of(const struct gic_access *access)
{
    return access->frame == GIC_DISTRIBUTOR ? 0 : 1 + access->core;
}

static struct gic_late_writes *late_writes(struct gic *gic, const struct gic_access *access)
{
    return &gic->late[peripheral_of(access)];
}

static void arrive_oldest(struct gic *gic, struct gic_late_writes *late)
{
    struct gic_access oldest = late->writes[0];

    late->count--;
    memmove(&late->writes[0], &late->writes[1], late->count * sizeof(late->writes[0]));
    gic_carry_out(gic, &oldest);
}

void gic_late_write(struct gic *gic, const struct gic_access *access)
{
    struct gic_late_writes *late = late_writes(gic, access);

    gic_model_pass_time(gic);
    if (late->count == GIC_MODEL_LATE_MAX) {
        arrive_oldest(gic, late);
    }
    late->writes[late->count++] = *access;
}

static void stop_signals(struct gic_bank *bank)
{
    memset(bank->disabling, 0, sizeof(bank->disabling));
}

void gic_late_read(struct gic *gic, const struct gic_access *access)
{
    struct gic_late_writes *late = late_writes(gic, access);

    if (!gic->is_late || access->frame == GIC_ITS) {
        return;
    }
    while (late->count != 0) {
        arrive_oldest(gic, late);
    }
    if (access->frame == GIC_DISTRIBUTOR && access->offset == GICD_CTLR && !gic->never_settles) {
        stop_signals(&gic->distributor);
    }
    if (access->frame == GIC_REDISTRIBUTOR && access->offset == GICR_CTLR &&
        !gic->busy_redistributors) {
        stop_signals(&gic->redistributors[access->core].bank);
    }
    gic_model_pass_time(gic);
}

void gic_late_disable(struct gic *gic, const struct gic_access *access)
{
    struct gic_bank *bank =
        access->frame == GIC_PRIVATE ? &gic->redistributors[access->core].bank : &gic->distributor;
    uint32_t word = access->offset % 0x80 / 4;

    if ((access->frame != GIC_PRIVATE && access->frame != GIC_DISTRIBUTOR) ||
        access->offset < GIC_ICENABLER || access->offset >= GIC_ICENABLER + 0x80) {
        return;
    }
    gic->settling[peripheral_of(access)] = gic->settling_reads;
    if (gic->is_late) {
        bank->disabling[word] |= bank->enabled[word] & (uint32_t)access->value;
    }
}

bool gic_is_settling(struct gic *gic, const struct gic_access *access)
{
    unsigned *left = &gic->settling[peripheral_of(access)];
    bool is_settling = *left != 0;

    gic->control_reads++;
    *left -= is_settling ? 1 : 0;
    return is_settling;
}

/* Returns true once in four times. */
static bool happens(struct gic *gic)
{
    gic->chance = gic->chance * 1664525u + 1013904223u;
    return gic->chance >> 30 == 0;
}

void gic_model_pass_time(struct gic *gic)
{
    for (unsigned i = 0; i < GIC_MODEL_PERIPHERALS; i++) {
        while (gic->late[i].count != 0 && happens(gic)) {
            arrive_oldest(gic, &gic->late[i]);
        }
    }
}

void gic_model_arrive(struct gic *gic)
{
    for (unsigned i = 0; i < GIC_MODEL_PERIPHERALS; i++) {
        while (gic->late[i].count != 0) {
            arrive_oldest(gic, &gic->late[i]);
        }
    }
    stop_signals(&gic->distributor);
    for (unsigned i = 0; i < gic->cores; i++) {
        stop_signals(&gic->redistributors[i].bank);
    }
}
