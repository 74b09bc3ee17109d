/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A VCPU: a guest's processor. One page, mapped only in the monitors of its processor: its own, and
 * those of the VCPUs with which it shares the processor. One of them executes at a time, so no
 * access needs an atomic operation or a lock. The part that the partition's other VCPUs access (is
 * it on?) is in the partition's page (struct vcpu_power).
 */
#ifndef HYPERVISOR_VCPU_H
#define HYPERVISOR_VCPU_H

#include "bandwidth/state.h"
#include "distributor/profile.h"
#include "entropy/state.h"
#include "gic/state.h"
#include "hypervisor/partition.h"
#include "partition/state.h"
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
    EXIT_FAULT,         /* a fault: an error of the partition, or the guest got an abort */
    EXIT_LISTED,        /* an interrupt of the guest, for a list register */
    EXIT_WAIT,          /* WFI on a shared core */
    EXIT_HYPERCALL,     /* any other call by HVC or SMC */
    EXIT_CLOCK,         /* the virtual PL031, a real-time clock */
    EXIT_WATCHDOG,      /* the virtual generic watchdog */
    EXIT_SHARED_DEVICE, /* the registers of a virtio device that another partition serves */
    EXIT_CAUSES
};

enum report_state { REPORT_OFF, REPORT_RUNNING, REPORT_STOPPED };

#define REPORT_MAGIC UINT64_C(0x555043564b4c5542) /* "BULKVCPU" */

struct vcpu_report {
    uint64_t magic;
    uint32_t processor; /* indices in the description */
    uint32_t partition;
    uint32_t state;   /* enum report_state */
    uint32_t starts;  /* how often the guest has started on this VCPU */
    uint64_t refused; /* accesses refused, and exceptions given to the guest for an access */
    uint64_t exits[EXIT_CAUSES];
    /* The last fault: ESR_EL2, the guest physical address, the program counter. For refused DMA:
     * the type of the SMMU's event, the address, 0. For a panic: 0, the reported value, the program
     * counter. For a watchdog or a heartbeat: 0, the count of the heartbeat or 0, the program
     * counter. */
    uint64_t syndrome, address, pc;
    /* On a shared core: ticks of CNTPCT_EL0 that were charged to the VCPU, and how often the
     * processor changed to it. */
    uint64_t used, switches;
};

/* Faults: an access or exception of the guest, a device that did not answer the monitor, DMA that
 * the SMMU refused, a panic that the guest reported, a watchdog that it did not refresh, and a
 * heartbeat that stands still. */
enum fault_kind {
    FAULT_NONE,
    FAULT_OF_GUEST,
    FAULT_OF_DEVICE,
    FAULT_OF_DMA,
    FAULT_OF_PANIC,
    FAULT_OF_WATCHDOG,
    FAULT_OF_HEARTBEAT
};

/* Reports of a VCPU that the terminal still has to print. Its guest does not execute any more
 * (partition/notice.h). */
struct notice {
    enum fault_kind fault; /* recorded in the report page; FAULT_NONE: there is none */
    /* Of its partition, the older one first; "restarts" for example. NULL: there is none. */
    const char *events[2];
    bool has_flushed; /* the guest's last line was printed */
    bool has_to_send; /* the report of a fault was added to the terminal's output */
};

struct vcpu {
    struct vcpu_report report; /* the tools read it through the machine's memory */
    /* Written by the boot core before the monitors run, and constant from then on. */
    struct partition *partition;
    uint64_t stage2;             /* root of the partition's stage 2 */
    uint32_t number;             /* index in its partition */
    uint32_t processor;          /* index of its processor in the description */
    uint64_t services, resident; /* roots of its monitor's tables (hypervisor/processor.h) */
    uint64_t stack;              /* top of its monitor's stack */
    struct vcpu *next;           /* next VCPU of the processor; NULL: this is the last one */
    struct shared_vcpu *shared;  /* scheduler/core.h; NULL if it has its processor alone */
    /* Written by the monitors of the processor. */
    struct request_watch watch;
    struct notice notice;
    uint32_t branch_workaround; /* that of its processor (hypervisor/processor.h) */
    uint32_t mask; /* with direct interrupts: ICC_PMR_EL1 as the guest reads it (gic/direct.h) */
    struct interrupt_list list;
    struct profile profile; /* on a shared core: how often its SPIs come */
    /* For the seeds of each life (boot VCPU), and for the numbers that the guest asks for
     * (entropy/trng.h). */
    struct generator generator;
    /* watchdog/: CNTPCT_EL0 at which its monitor looks whether its guest hangs. UINT64_MAX: never.
     */
    uint64_t watchdog_due;
    struct vcpu_bandwidth bandwidth;
};

_Static_assert(sizeof(struct vcpu) <= DESCRIPTION_PAGE_BYTES, "must fit one page");

#endif
