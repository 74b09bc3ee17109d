/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_HARDWARE_MODELS_GIC_GIC_PRIVATE_H
#define TESTS_HARDWARE_MODELS_GIC_GIC_PRIVATE_H

#include "gic.h"

/* Registers of the frame that holds access->offset. */
uint64_t gic_its_read(struct gic *gic, const struct gic_access *access);
void gic_its_write(struct gic *gic, const struct gic_access *access);

/* Returns the value that a 64-bit table register reads back after `value` was written. */
uint64_t gic_table(const struct gic *gic, uint64_t value);

/* Carries out a write that has arrived. */
void gic_carry_out(struct gic *gic, const struct gic_access *access);

/* late.c: keep a write for later; let all writes arrive that precede a read; note which interrupts
 * a write disables, and that RWP is set. */
void gic_late_write(struct gic *gic, const struct gic_access *access);
void gic_late_read(struct gic *gic, const struct gic_access *access);
void gic_late_disable(struct gic *gic, const struct gic_access *access);

/* late.c: returns true if RWP is set for this read of GICD_CTLR or GICR_CTLR. */
bool gic_is_settling(struct gic *gic, const struct gic_access *access);

#endif
