/* SPDX-License-Identifier: BSD-2-Clause */
/* The content of a partition's memory at each start. */
#ifndef PARTITION_LOAD_H
#define PARTITION_LOAD_H

#include "hypervisor/step.h"
#include "hypervisor/vcpu.h"
#include <stdint.h>

/* Takes the next step of loading the partition: zeroes its memory where no image is copied, except
 * kept memory that it has used (struct partition_boot_vcpu), copies its images, fills in the seeds
 * of its devicetree, and cleans all to the point of coherency. Returns STEP_PENDING, and STEP_DONE
 * once all is done. `progress`: all zero before the first step. None of the partition's VCPUs
 * executes. */
enum step_outcome load_continue(struct vcpu *boot_vcpu, struct load_progress *progress);

/* Cleans and invalidates the data cache lines of which a byte is in [at, end), to the point of
 * coherency. */
void load_clean(uint64_t at, uint64_t end);

#endif
