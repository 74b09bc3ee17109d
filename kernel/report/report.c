/* SPDX-License-Identifier: BSD-2-Clause */
/* The report directory. */
#include "kernel/report.h"

#include "kernel/interrupt.h"
#include "kernel/panic.h"

/* In .data, so that the magic is there before the first report. */
struct report_directory report_directory = {.magic = REPORT_MAGIC,
                                            .report_bytes = sizeof(struct report)};

/* Returns the entry of the kind, or the first free one. */
static uint32_t entry_for(enum report_kind kind)
{
    uint32_t entry = 0;

    while (entry < report_directory.count && report_directory.reports[entry].kind != kind) {
        entry++;
    }
    return entry;
}

void report_publish(enum report_kind kind, uint32_t version, const void *memory, size_t bytes)
{
    interrupt_state state = interrupts_save();
    uint32_t entry = entry_for(kind);

    if (entry == REPORTS_MAX) {
        panic("more than %u reports", REPORTS_MAX);
    }
    report_directory.reports[entry] = (struct report){
        .kind = kind, .version = version, .address = (uintptr_t)memory, .bytes = bytes};
    if (entry == report_directory.count) {
        /* A tool that reads the count reads the complete entry. */
        __atomic_store_n(&report_directory.count, entry + 1, __ATOMIC_RELEASE);
    }
    interrupts_restore(state);
}
