/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A GICv3 with an ITS in the test process, where virt.dts of tests/unit/devicetree has it.
 * Registers follow the architecture's rules as far as the kernel relies on them; breaking one of
 * its own rules (touching another core's Redistributor, changing the trigger of an enabled
 * interrupt, changing table registers of a running ITS) ends the program.
 */
#ifndef FAKE_GIC_H
#define FAKE_GIC_H

#include "kernel/result.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_CORES        4u
#define FAKE_COMMANDS_MAX 1024u

struct fake_gic {
    /* How the machine is. */
    uint64_t affinity;      /* this core's */
    unsigned position;      /* of its Redistributor */
    bool virtual_lpis;      /* four frames a Redistributor */
    bool legacy;            /* no system registers */
    bool ignores_writes;    /* as a hypervisor might */
    bool never_settles;     /* RWP stays set */
    bool never_wakes;       /* ChildrenAsleep stays set */
    bool lpis_stay_enabled; /* GICR_CTLR.EnableLPIs cannot be cleared */
    bool no_lpis;
    bool not_coherent;         /* table registers read back as Non-shareable */
    unsigned page_size;        /* that GITS_BASER is fixed to; 3: any */
    unsigned held_collections; /* GITS_TYPER.HCC */
    bool target_is_address;    /* GITS_TYPER.PTA */
    bool its_deaf;             /* takes no commands */
    unsigned its_delay;        /* reads of GITS_CREADR before it carries out its next command */
    uint8_t stalls_on;         /* a command's number, 0: none */
    size_t pages_left;         /* that page_allocate() gives */

    /* What became of it. */
    uint32_t distributor_control;
    uint32_t distributor_control_before; /* the value before the last write */
    uint32_t groups[32], enabled[32], pending[32], active[32];
    uint32_t triggers[64];
    uint8_t priorities[1024];
    uint64_t routes[1024];
    uint32_t sleeping; /* GICR_WAKER */
    uint32_t redistributor_control;
    uint64_t configuration_table, pending_table;
    uint32_t its_control;
    uint64_t its_tables[8];
    uint64_t its_queue, its_writer, its_reader;
    uint64_t commands[FAKE_COMMANDS_MAX][4]; /* in the order they were carried out */
    unsigned command_count;
    unsigned started; /* the CPU interface, with which mask */
    uint32_t to_acknowledge, ended;
    unsigned accesses;
    bool masked;              /* between interrupts_save() and interrupts_restore() */
    unsigned masked_accesses; /* accesses while masked, the most of all sections */
    unsigned masked_before;   /* `accesses` when the section began */
    unsigned its_waited;      /* reads of GITS_CREADR since the last command */
    unsigned cleaned;         /* calls of device_publish_uncached() */
    unsigned messages;
};

extern struct fake_gic fake;

/* A machine without surprises. */
void fake_reset(void);

#endif
