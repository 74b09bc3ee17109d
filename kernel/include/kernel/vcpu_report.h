/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The VCPUs and their counters, for tools outside of the guest (kernel/report.h, REPORT_VCPUS). The
 * kernel counts in this table itself. `./bulkhead stat` and `top` read it while the guest runs;
 * their reader is tools/bulkhead/inspecting/vcpus.py. Programs call vcpu_statistics()
 * (kernel/vcpu.h).
 *
 * A tool reads the table as a whole, twice. A record is valid if its fields up to `since` are the
 * same in both copies, and `sequence` is even. Each counter is one store, and does not decrease
 * before `since` changes. What a thread has executed since the latest event of its VCPU's server is
 * not in `received` yet: less than one budget.
 */
#ifndef KERNEL_VCPU_REPORT_H
#define KERNEL_VCPU_REPORT_H

#include "kernel/vcpu.h"
#include <stdint.h>

#define VCPU_REPORT_VERSION 2u

enum vcpu_record_kind {
    VCPU_RECORD_FREE = 0, /* no VCPU has this id */
    VCPU_RECORD_MAIN = 1,
    VCPU_RECORD_IO = 2,
};

/* All amounts of time are ticks of the counter. */
struct vcpu_record {
    uint32_t sequence; /* odd while the kernel writes the record as a whole */
    uint32_t kind;     /* enum vcpu_record_kind */
    char name[VCPU_NAME_BYTES];
    uint64_t budget;
    uint64_t period;
    uint64_t since;        /* counter value at vcpu_create() or vcpu_setparam() */
    uint64_t received;     /* executed on the budget */
    uint64_t background;   /* executed by its threads without budget */
    uint64_t response_max; /* from when it had work and budget until one of them had ended */
    uint64_t exhaustions;
    uint64_t deadline_misses;
    uint64_t blocking_max; /* longest execution of another thread with a mutex of its threads */
};

struct vcpu_report {
    uint64_t frequency;       /* Hz of the counter */
    uint64_t accounted_until; /* value of the counter up to which all time is in the counters */
    uint32_t record_count;    /* VCPU_MAX */
    uint32_t record_bytes;    /* sizeof(struct vcpu_record) */
    uint64_t unpaid;          /* of the kernel's work, for which no VCPU has paid */
    struct vcpu_record records[VCPU_MAX]; /* by id - 1 */
};

#endif
