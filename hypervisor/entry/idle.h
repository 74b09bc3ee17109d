/* SPDX-License-Identifier: BSD-2-Clause */
/* A processor whose VCPU does not execute: it is off, or its partition starts or stops. */
#ifndef ENTRY_IDLE_H
#define ENTRY_IDLE_H

#include "hypervisor/processor.h"

/* Starts the partition if the processor's VCPU is its boot VCPU; otherwise waits until the
 * partition starts the VCPU. Called at boot, once on each processor. */
_Noreturn void idle_start(struct processor *processor);

/* Ends the execution of the guest, and waits until the VCPU starts again. */
_Noreturn void idle(struct processor *processor);

#endif
