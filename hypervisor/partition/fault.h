/* SPDX-License-Identifier: BSD-2-Clause */
/* Faults for which a partition is stopped: the record in the VCPU's page. */
#ifndef PARTITION_FAULT_H
#define PARTITION_FAULT_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

/* The address in a report if the architecture provides none. */
#define FAULT_ADDRESS_UNKNOWN UINT64_MAX

/* Records a fault of the guest, and requests a stop of the partition. `pc`: the guest's program
 * counter. `syndrome`: ESR_EL2. `address`: the guest physical address, or FAULT_ADDRESS_UNKNOWN. */
void fault_stop(struct vcpu *vcpu, uint64_t pc, uint64_t syndrome, uint64_t address);

/* Does the same for DMA of the partition that the SMMU refused. `vcpu`: its boot VCPU. `type`:
 * number of the SMMU's event. */
void fault_stop_for_dma(struct vcpu *vcpu, uint32_t type, uint64_t address);

/* If a device has not answered an access of this processor's monitor since the last call, records
 * the fault, requests a stop of the partition of the processor's VCPU, and returns true. Otherwise
 * returns false. `pc`: the guest's program counter, or 0 if the guest does not execute. */
bool fault_of_device(uint64_t pc);

#endif
