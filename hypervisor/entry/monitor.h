/* SPDX-License-Identifier: BSD-2-Clause */
/* The monitor of a processor's VCPU: its start, exceptions of its guest, and its own. */
#ifndef ENTRY_MONITOR_H
#define ENTRY_MONITOR_H

#include "entry/frame.h"
#include "hypervisor/processor.h"
#include <stdbool.h>
#include <stdint.h>

enum vector { VECTOR_SYNCHRONOUS, VECTOR_IRQ, VECTOR_FIQ, VECTOR_SERROR };

/* vectors.S: starts or continues the guest with these registers, which lie at the top of the
 * monitor's stack. */
_Noreturn void monitor_resume(struct registers *registers);
/* enter.S: switches this processor to the tables and the stack of its monitor. */
_Noreturn void monitor_enter(struct processor *processor);
/* enter.S: turns on the MMU with the tables at `root`, which map the caller one to one. */
void monitor_mmu_on(uint64_t root);
/* enter.S: the first instruction of a processor that PSCI starts; x0 is its struct processor. */
extern const char monitor_processor_entry[];
/* monitor.c: starts the partition, or waits until the partition starts this VCPU. Called on the
 * monitor's own stack. */
_Noreturn void monitor_main(struct processor *processor);
/* monitor.c: stops this processor for ever. */
_Noreturn void monitor_halt(void);
/* resident.c: handles an exception of the guest, on the resident tables. `kind`: enum vector.
 * Returns false, and changes nothing, if monitor_trap() has to handle it. */
bool monitor_answer(struct registers *registers, unsigned kind);
/* monitor.c: handles an exception from EL2. Returns only if a device did not answer an access: the
 * access is skipped, and a load has read ones. */
void monitor_recover(struct registers *registers, unsigned kind);
/* trap.c: handles an exception of the guest, on the service tables. */
void monitor_trap(struct registers *registers, unsigned kind);

#endif
