/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of a core's monitor: one page, mapped in no other monitor. The tools read the report in
 * it through the machine's memory, while the guest runs.
 */
#ifndef MONITOR_CORE_H
#define MONITOR_CORE_H

#include "hypervisor/partition.h"
#include "monitor/core_layout.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Causes of exits from a guest. The tools know them by number: append only. */
enum exit_cause {
    EXIT_SGI,           /* ICC_SGI1R_EL1 */
    EXIT_DISTRIBUTOR,   /* GICD registers */
    EXIT_REDISTRIBUTOR, /* GICR registers */
    EXIT_PCI,           /* configuration space */
    EXIT_CONSOLE,       /* the virtual PL011 */
    EXIT_POWER,         /* PSCI, and any other call by HVC or SMC */
    EXIT_CACHE,         /* maintenance by set and way */
    EXIT_REGISTER,      /* any other system register */
    EXIT_INTERRUPT,     /* an interrupt of the hypervisor: message from a monitor, terminal, SMMU */
    EXIT_FAULT,         /* a fault, for which the partition was stopped or the guest got an abort */
    EXIT_CAUSES
};

enum report_state { REPORT_OFF, REPORT_RUNNING, REPORT_STOPPED };

#define REPORT_MAGIC UINT64_C(0x45524f434b4c5542) /* "BULKCORE" */

struct core_report {
    uint64_t magic;
    uint32_t core;
    uint32_t partition;
    uint32_t state;
    uint32_t starts;  /* starts of the partition on this core */
    uint64_t refused; /* accesses refused, and exceptions given to the guest for an access */
    uint64_t exits[EXIT_CAUSES];
    /* The last fault: ESR_EL2, the guest physical address, the program counter. For refused DMA:
     * the type of the SMMU's event, the address, 0. */
    uint64_t syndrome, address, pc;
};

struct core {
    uint64_t services; /* root of the service tables, which map all that the monitor uses */
    uint64_t stack;    /* top */
    struct partition *partition;
    uint32_t index; /* in the description */
    uint32_t reserved;
    uint64_t stage2;   /* root of the partition's stage 2 */
    uint64_t resident; /* root of the resident tables, which are used while the guest runs */
    struct core_report report;
    /* ESR_EL2 and FAR_EL2 of this monitor's last access that a device did not answer. 0: none since
     * the partition was last stopped for one. */
    uint64_t device_syndrome, device_address;
};

enum vector { VECTOR_SYNCHRONOUS, VECTOR_IRQ, VECTOR_FIQ, VECTOR_SERROR };

/* The registers that an exception interrupted, on the monitor's stack. */
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

_Static_assert(offsetof(struct core, services) == CORE_SERVICES, "must match core_layout.h");
_Static_assert(offsetof(struct core, stack) == CORE_STACK, "must match core_layout.h");
_Static_assert(offsetof(struct core, resident) == CORE_RESIDENT, "must match core_layout.h");
_Static_assert(offsetof(struct core, report) == 48, "must match tools/bulkhead/system/reports.py");
_Static_assert(sizeof(struct registers) == FRAME_BYTES, "must match core_layout.h");
_Static_assert(offsetof(struct registers, pc) == FRAME_PC, "must match core_layout.h");
_Static_assert(sizeof(struct core) <= DESCRIPTION_PAGE_BYTES, "must fit one page");
_Static_assert(sizeof(struct partition) <= DESCRIPTION_PAGE_BYTES, "must fit one page");

/* vectors.S: starts or continues the guest with these registers, which lie at the top of the
 * monitor's stack. */
_Noreturn void monitor_resume(struct registers *registers);
/* enter.S: switches this core to the tables and the stack of its monitor. */
_Noreturn void monitor_enter(struct core *core);
/* enter.S: turns on the MMU with the tables at `root`, which map the caller one to one. */
void monitor_mmu_on(uint64_t root);
/* enter.S: the first instruction of a core that PSCI starts; x0 is its struct core. */
extern const char monitor_core_entry[];
/* main.c: starts the partition, or waits until the partition starts this core. Called on the
 * monitor's own stack. */
_Noreturn void monitor_main(struct core *core);
/* main.c: stops this core for ever. */
_Noreturn void monitor_halt(void);
/* resident.c: handles an exception of the guest, on the resident tables. Returns false, and changes
 * nothing, if monitor_trap() has to handle it. */
bool monitor_answer(struct registers *registers, unsigned kind);
/* main.c: handles an exception from EL2. Returns only if a device did not answer an access: the
 * access is skipped, and a load has read ones. */
void monitor_recover(struct registers *registers, unsigned kind);
/* trap.c: handles an exception of the guest, on the service tables. */
void monitor_trap(struct registers *registers, unsigned kind);

#endif
