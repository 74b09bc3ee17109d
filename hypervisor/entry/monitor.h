/* SPDX-License-Identifier: BSD-2-Clause */
/* The monitor of a processor's VCPU: its start, exceptions of its guest, and its own. */
#ifndef ENTRY_MONITOR_H
#define ENTRY_MONITOR_H

#include "entry/frame.h"
#include "hypervisor/processor.h"
#include <stdbool.h>
#include <stdint.h>

/* Kinds of exceptions, in the order of their vectors. */
enum vector { VECTOR_SYNCHRONOUS, VECTOR_IRQ, VECTOR_FIQ, VECTOR_SERROR };

/* vectors.S: starts or continues the guest with these registers, which are at the top of the
 * monitor's stack. */
_Noreturn void monitor_resume(struct registers *registers);
/* enter.S: switches this processor to the tables and the stack of its monitor, and calls
 * monitor_main(). */
_Noreturn void monitor_enter(struct processor *processor);
/* enter.S: turns on the MMU and the caches with the tables at `root`, which map the caller one to
 * one. */
void monitor_mmu_on(uint64_t root);
/* enter.S: the first instruction of a processor that PSCI starts. x0 is its struct processor. */
extern const char monitor_processor_entry[];
/* monitor.c: starts the partition if the VCPU is its boot VCPU, otherwise waits until the partition
 * starts the VCPU. Called on the monitor's own stack. */
_Noreturn void monitor_main(struct processor *processor);
/* monitor.c: halts this processor for ever. Its VCPUs never execute again (life_halt()). */
_Noreturn void monitor_halt(void);
/* resident.c: handles an exception of the guest, on the resident tables. `kind`: enum vector.
 * Returns false, and changes nothing, if monitor_trap() has to handle it. */
bool monitor_answer(struct registers *registers, unsigned kind);
/* monitor.c: handles an exception from EL2. `kind`: enum vector. Returns only if a device did not
 * respond to an access: the access is skipped, and a load has read ones. */
void monitor_recover(struct registers *registers, unsigned kind);
/* trap.c: handles an exception of the guest, on the service tables. `kind`: enum vector. Does not
 * return if the guest does not continue. */
void monitor_trap(struct registers *registers, unsigned kind);

#endif
