/* SPDX-License-Identifier: BSD-2-Clause */
/* Faults of a partition: the record in the VCPU's page, and the request that follows from the
 * partition's table of errors (health/health.h): to stop, to restart, or none. */
#ifndef PARTITION_FAULT_H
#define PARTITION_FAULT_H

#include "hypervisor/vcpu.h"
#include "smmu/smmu.h"
#include <stdbool.h>
#include <stdint.h>

/* The address in a report if the architecture provides none. */
#define FAULT_ADDRESS_UNKNOWN UINT64_MAX

/* Records a fault of the guest, and requests a stop or a restart of the partition: the guest can't
 * go on. `pc`: the guest's program counter. `syndrome`: ESR_EL2. `address`: the guest physical
 * address, or FAULT_ADDRESS_UNKNOWN. */
void fault_stop(struct vcpu *vcpu, uint64_t pc, uint64_t syndrome, uint64_t address);

/* Records DMA of the partition that the SMMU refused. Returns false if the table says that the
 * partition goes on; otherwise makes the request, and returns true. `vcpu`: its boot VCPU. */
bool fault_of_dma(struct vcpu *vcpu, const struct smmu_event *event);

/* Records that the guest reported a panic, and makes the request unless the table says that the
 * partition goes on. `pc`: the guest's program counter. `value`: of the report. */
void fault_of_panic(struct vcpu *vcpu, uint64_t pc, uint64_t value);

/* Records that the guest did not refresh its watchdog, or that its heartbeat stands still at
 * `beats`, and makes the request unless the table says that the partition goes on. `pc`: the
 * guest's program counter, or 0 if the VCPU is off. */
void fault_of_watchdog(struct vcpu *vcpu, uint64_t pc);
void fault_of_heartbeat(struct vcpu *vcpu, uint64_t pc, uint64_t beats);

/* If a device has not answered an access of this processor's monitor since the last call, records
 * the fault of the partition of the processor's VCPU, makes the request unless the table says that
 * the partition goes on, and returns true. Otherwise returns false. `pc`: the guest's program
 * counter, or 0 if the guest does not execute. */
bool fault_of_device(uint64_t pc);

#endif
