/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the records of VCPUs (kernel/vcpu_report.h). Interrupts masked in every call. */
#ifndef SCHED_VCPU_RECORD_H
#define SCHED_VCPU_RECORD_H

#include "kernel/vcpu_report.h"

/* Writes parameters in ticks, and starts the counters at `now`. */
void vcpu_record_write(struct vcpu_record *record, const struct vcpu_record *parameters,
                       uint64_t now);

/* Marks the record as free. */
void vcpu_record_clear(struct vcpu_record *record);

/* Lists the report in the directory. */
void vcpu_report_publish(struct vcpu_report *report);

#endif
