/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A core's monitor: what it knows of itself. One page, mapped in no other monitor; the report in it
 * is read from outside, through the machine's memory, while the guest runs on.
 */
#ifndef MONITOR_CORE_H
#define MONITOR_CORE_H

#include "hypervisor/partition.h"
#include "monitor/core_layout.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a monitor ran. Read from outside by number: append only. */
enum exit_cause {
    EXIT_SGI,           /* ICC_SGI1R_EL1 */
    EXIT_DISTRIBUTOR,   /* GICD registers */
    EXIT_REDISTRIBUTOR, /* GICR registers */
    EXIT_PCI,           /* configuration space */
    EXIT_CONSOLE,       /* the virtual PL011 */
    EXIT_POWER,         /* PSCI, and any other call by HVC or SMC */
    EXIT_CACHE,         /* maintenance by set and way */
    EXIT_REGISTER,      /* any other system register */
    EXIT_INTERRUPT,     /* the hypervisor's own: messages between monitors, the terminal */
    EXIT_FAULT,         /* the partition was stopped for it */
    EXIT_CAUSES
};

enum report_state { REPORT_OFF, REPORT_RUNNING, REPORT_STOPPED };

#define REPORT_MAGIC UINT64_C(0x45524f434b4c5542) /* "BULKCORE" */

struct core_report {
    uint64_t magic;
    uint32_t core;
    uint32_t partition;
    uint32_t state;
    uint32_t starts;  /* how often its partition began on it */
    uint64_t refused; /* accesses answered as if nothing were there */
    uint64_t exits[EXIT_CAUSES];
    /* Of the last fault: ESR_EL2, the guest's physical address, its program counter. Of DMA: the
     * SMMU's type of event, the address, 0. */
    uint64_t syndrome, address, pc;
};

struct core {
    uint64_t services; /* root of its tables with all that a monitor ever needs, */
    uint64_t stack;    /* top */
    struct partition *partition;
    uint32_t index; /* in the description */
    uint32_t reserved;
    uint64_t stage2;   /* root of the partition's */
    uint64_t resident; /* and with what is mapped while the guest runs */
    struct core_report report;
    /* ESR_EL2 and FAR_EL2 of the last access of this monitor that a device did not answer, until
     * the partition is stopped for it. 0: there was none. */
    uint64_t device_syndrome, device_address;
};

enum vector { VECTOR_SYNCHRONOUS, VECTOR_IRQ, VECTOR_FIQ, VECTOR_SERROR };

/* A guest's registers, on the monitor's stack. */
struct registers {
    uint64_t x[31];
    uint64_t pc;    /* ELR_EL2 */
    uint64_t state; /* SPSR_EL2 */
    uint64_t spare;
};

#define NO_REGISTER       31u
#define INSTRUCTION_BYTES 4u

static inline uint64_t register_value(const struct registers *registers, unsigned number)
{
    return number == NO_REGISTER ? 0 : registers->x[number];
}

_Static_assert(offsetof(struct core, services) == CORE_SERVICES, "as assembly has it");
_Static_assert(offsetof(struct core, stack) == CORE_STACK, "as assembly has it");
_Static_assert(offsetof(struct core, resident) == CORE_RESIDENT, "as assembly has it");
_Static_assert(offsetof(struct core, report) == 48, "as tools/bulkhead/system/reports.py has it");
_Static_assert(sizeof(struct registers) == FRAME_BYTES, "as assembly has it");
_Static_assert(offsetof(struct registers, pc) == FRAME_PC, "as assembly has it");
_Static_assert(sizeof(struct core) <= DESCRIPTION_PAGE_BYTES, "one page");
_Static_assert(sizeof(struct partition) <= DESCRIPTION_PAGE_BYTES, "one page");

/* vectors.S: continues the guest, or begins it. The stack is what is above the registers. */
_Noreturn void monitor_resume(struct registers *registers);
/* enter.S: this core goes over to its own tables and stack. */
_Noreturn void monitor_enter(struct core *core);
void monitor_mmu_on(uint64_t root);
extern const char monitor_core_entry[];
/* main.c: on the monitor's own stack. Begins the partition, or waits to be started. */
_Noreturn void monitor_main(struct core *core);
/* There is nothing more that this core could do. */
_Noreturn void monitor_halt(void);
/* resident.c: on the resident tables. False: this is for monitor_trap(), nothing was done. */
bool monitor_answer(struct registers *registers, unsigned kind);
/* main.c: an exception from EL2, whose registers are these. Returns where an access to a device was
 * not answered: the access is over then, and what was read are ones. */
void monitor_recover(struct registers *registers, unsigned kind);
/* trap.c */
void monitor_trap(struct registers *registers, unsigned kind);

#endif
