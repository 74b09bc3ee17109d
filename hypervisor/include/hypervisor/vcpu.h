/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A VCPU: a guest's processor. One page, mapped only in the monitors of its processor: its own, and
 * those of the VCPUs with which it shares the processor. The tools read the report in it through
 * the machine's memory, while the guest runs. The part that the partition's other VCPUs ask for (is
 * it on?) is in the partition's page (struct vcpu_power).
 */
#ifndef HYPERVISOR_VCPU_H
#define HYPERVISOR_VCPU_H

#include "distributor/profile.h"
#include "hypervisor/partition.h"
#include <stdbool.h>
#include <stdint.h>

/* Causes of exits from a guest. hypervisor/layouts.c lists them for the tools. */
enum exit_cause {
    EXIT_SGI,           /* ICC_SGI1R_EL1 */
    EXIT_DISTRIBUTOR,   /* GICD registers */
    EXIT_REDISTRIBUTOR, /* GICR registers */
    EXIT_PCI,           /* configuration space */
    EXIT_CONSOLE,       /* the virtual PL011 */
    EXIT_POWER,         /* a call of PSCI, by HVC or SMC */
    EXIT_CACHE,         /* maintenance by set and way */
    EXIT_REGISTER,      /* any other system register */
    EXIT_INTERRUPT,     /* an interrupt of the hypervisor: message from a monitor, terminal, SMMU */
    EXIT_FAULT,         /* a fault, for which the partition was stopped or the guest got an abort */
    EXIT_LISTED,        /* an interrupt of the guest, for a list register */
    EXIT_WAIT,          /* WFI on a shared core */
    EXIT_HYPERCALL,     /* any other call by HVC or SMC */
    EXIT_CAUSES
};

enum report_state { REPORT_OFF, REPORT_RUNNING, REPORT_STOPPED };

#define REPORT_MAGIC UINT64_C(0x555043564b4c5542) /* "BULKVCPU" */

struct vcpu_report {
    uint64_t magic;
    uint32_t processor; /* indices in the description */
    uint32_t partition;
    uint32_t state;   /* enum report_state */
    uint32_t starts;  /* starts of the partition on this VCPU */
    uint64_t refused; /* accesses refused, and exceptions given to the guest for an access */
    uint64_t exits[EXIT_CAUSES];
    /* The last fault: ESR_EL2, the guest physical address, the program counter. For refused DMA:
     * the type of the SMMU's event, the address, 0. */
    uint64_t syndrome, address, pc;
    /* On a shared core: ticks of CNTPCT_EL0 that were charged to the VCPU, and how often the
     * processor changed to it. */
    uint64_t used, switches;
};

/* The request that a VCPU watches while it does not execute. */
struct request_watch {
    uint32_t request;   /* enum partition_request, as last read */
    bool is_timed;      /* a request came, and its time limit is not over */
    uint64_t requested; /* CNTPCT_EL0 when it came */
};

#define LIST_REGISTERS_MAX 16u
#define LIST_EVICTED_MAX   1020u /* each SGI, PPI and SPI once */
#define EVICTED_NUMBER     0x3ffu
#define EVICTED_PENDING    0x8000u

/* gic/: the interrupts of a VCPU whose partition has listed interrupts. */
struct interrupt_list {
    /* The CPU interface shows priorities as the other security state has them: 0x80 | P >> 1. */
    bool is_raw;
    uint32_t registers;                   /* the list registers that the processor has: bits */
    uint32_t number;                      /* acknowledged last: its priority is dropped */
    uint32_t priority;                    /* of it */
    uint16_t numbers[LIST_REGISTERS_MAX]; /* written to each list register last */
    /* Active interrupts for which no list register was left, the least urgent first. An SGI may be
     * pending again. */
    uint32_t evicted_count;
    uint16_t evicted[LIST_EVICTED_MAX];
    /* On a shared core, one bit each: interrupts that are pending for the guest, and that no list
     * register has, because all are used or because the VCPU does not execute. PPIs and SPIs are
     * active in the GIC, so that they come once. */
    uint32_t aside[DESCRIPTION_SPI_WORDS];
    bool has_aside;
    bool has_changed; /* on a shared core: priorities or triggers of SGIs and PPIs may be others */
};

struct vcpu {
    struct vcpu_report report; /* the tools read it: hypervisor/layouts.c */
    struct partition *partition;
    uint64_t stage2;             /* root of the partition's stage 2 */
    uint32_t number;             /* in its partition */
    uint32_t processor;          /* on which it executes: index in the description */
    uint64_t services, resident; /* roots of its monitor's tables (entry/processor.h) */
    uint64_t stack;              /* of its monitor: top */
    struct vcpu *next;           /* on the same processor; NULL: the last one */
    struct shared_vcpu *shared;  /* shared/: NULL: it has its processor alone */
    struct request_watch watch;  /* partition/ */
    struct interrupt_list list;
    struct profile profile; /* shared/ */
};

_Static_assert(sizeof(struct vcpu) <= DESCRIPTION_PAGE_BYTES, "must fit one page");

#endif
