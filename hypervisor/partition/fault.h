/* SPDX-License-Identifier: BSD-2-Clause */
/* Faults for which a partition is stopped: the report on the terminal and in the VCPU's page. */
#ifndef PARTITION_FAULT_H
#define PARTITION_FAULT_H

#include "hypervisor/step.h"
#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

/* The address in a report if the architecture provides none. */
#define FAULT_ADDRESS_UNKNOWN UINT64_MAX

/* Reports a fault of the guest, and requests a stop of the partition. `pc`: the guest's program
 * counter. `syndrome`: ESR_EL2. `address`: the guest physical address, or FAULT_ADDRESS_UNKNOWN. */
void fault_stop(struct vcpu *vcpu, uint64_t pc, uint64_t syndrome, uint64_t address);

/* If a device has not answered an access of this processor's monitor since the last call, reports
 * the fault, requests a stop of the partition of the processor's VCPU, and returns true. Otherwise
 * returns false. `pc`: the guest's program counter, or 0 if the guest does not execute. */
bool fault_of_device(uint64_t pc);

/* Handles the SMMU's interrupt: leaves the oldest event for the monitor of its partition, whose
 * core is recalled. Returns false if there is no event. Any core. */
bool fault_of_dma(const struct vcpu *vcpu);

/* Takes the next step of discarding the events of the VCPU's own partition before it starts:
 * handles one event. `*event`: 0 before the first step. Returns STEP_PENDING, then STEP_DONE. On
 * its boot VCPU. */
enum step_outcome fault_discard_dma(const struct vcpu *vcpu, uint32_t *event);

/* Stops the partition for the first DMA that the SMMU refused. Later events, until the devices are
 * reset, change nothing. On its boot VCPU. */
void fault_take_dma(struct vcpu *vcpu);

#endif
