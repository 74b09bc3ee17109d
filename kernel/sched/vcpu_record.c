/* SPDX-License-Identifier: BSD-2-Clause */
/* See vcpu_record.h. */
#include "sched/vcpu_record.h"

#include "kernel/report.h"
#include <arch/cpu.h>

static void set_sequence(struct vcpu_record *record, uint32_t sequence)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&record->sequence, sequence, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

void vcpu_record_write(struct vcpu_record *record, const struct vcpu_record *parameters,
                       uint64_t now)
{
    uint32_t sequence = record->sequence;
    struct vcpu_record next = *parameters;

    next.sequence = sequence + 1;
    next.since = now;
    set_sequence(record, sequence + 1);
    *record = next;
    set_sequence(record, sequence + 2);
}

void vcpu_record_clear(struct vcpu_record *record)
{
    vcpu_record_write(record, &(struct vcpu_record){.kind = VCPU_RECORD_FREE}, 0);
}

void vcpu_report_publish(struct vcpu_report *report)
{
    report->frequency = arch_clock_frequency();
    report->record_count = VCPU_MAX;
    report->record_bytes = sizeof(struct vcpu_record);
    report_publish(REPORT_VCPUS, VCPU_REPORT_VERSION, report, sizeof(*report));
}
