/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A GICv3 with an ITS (hardware_models/gic), where virt.dts of tests/unit/kernel/devicetree has it,
 * and what the kernel's driver of it needs of the kernel. The driver runs on one core: if it
 * touches another core's Redistributor, the program ends.
 */
#ifndef FAKE_GIC_H
#define FAKE_GIC_H

#include "hardware_models/gic/gic.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_CORES 4u

struct fake_gic {
    struct gic gic;
    /* Chosen by the test: the machine. */
    uint64_t affinity; /* this core's */
    unsigned position; /* of its Redistributor */
    bool virtual_lpis; /* four frames a Redistributor */
    bool no_lpis;
    bool legacy;       /* no system registers */
    size_t pages_left; /* that page_allocate() gives */

    /* Set by the calls of the driver. */
    unsigned started;       /* the CPU interface, with which mask */
    unsigned priority_mask; /* the last one */
    uint32_t to_acknowledge, ended;
    bool masked;              /* between interrupts_save() and interrupts_restore() */
    unsigned masked_accesses; /* accesses while masked, the most of all sections */
    unsigned masked_before;   /* accesses when the section began */
    unsigned cleaned;         /* calls of device_publish_uncached() */
    unsigned messages;
};

extern struct fake_gic fake;

/* Resets to a machine that follows the architecture, with this core first. */
void fake_reset(void);

/* This core's Redistributor. */
struct gic_redistributor *fake_own(void);

/* Number of accesses to the GIC. */
unsigned fake_accesses(void);

#endif
