/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reports: records that the kernel keeps in memory for tools outside of the guest, which read them
 * while the guest runs, without its help and without symbols of its image.
 *
 * The image begins with the header of an arm64 Image. Behind it is the locator, which leads to the
 * report directory. The directory lists kind, version, address and size of each report. All numbers
 * are little-endian; an address is a guest-physical one. tools/bulkhead/inspecting/reports.py reads
 * them.
 *
 * To add a report: add a kind below and to kernel/layouts.c, publish the memory when it has its
 * content, and describe the content in a header. A change of a report's layout needs another
 * version. A tool may read at any time, so that it can see a record that is being written.
 */
#ifndef KERNEL_REPORT_H
#define KERNEL_REPORT_H

#include <stddef.h>
#include <stdint.h>

/* "BULKRPT1" */
#define REPORT_MAGIC UINT64_C(0x315450524b4c5542)

/* Offset of the locator in the image. */
#define REPORT_LOCATOR_OFFSET 64u

/* report/locator.S defines it. */
struct report_locator {
    uint64_t magic;   /* REPORT_MAGIC */
    int64_t distance; /* bytes from the locator to the report directory */
};

#define REPORTS_MAX 8u

enum report_kind {
    REPORT_TRACE = 1,   /* kernel/trace.h */
    REPORT_VCPUS = 2,   /* kernel/vcpu_report.h */
    REPORT_NETWORK = 3, /* backend/network_report.h */
    REPORT_MIRROR = 4,  /* backend/frame_mirror.h */
    REPORT_STORAGE = 5, /* backend/storage_report.h */
};

struct report {
    uint32_t kind; /* enum report_kind */
    uint32_t version;
    uint64_t address;
    uint64_t bytes;
};

struct report_directory {
    uint64_t magic;
    uint32_t count;
    uint32_t report_bytes; /* sizeof(struct report) */
    struct report reports[REPORTS_MAX];
};

extern struct report_directory report_directory;

/* Lists a report of `bytes` at `memory`, which must stay there. It replaces an earlier report of
 * the same kind. Panics if there are REPORTS_MAX others. Boot or thread context. */
void report_publish(enum report_kind kind, uint32_t version, const void *memory, size_t bytes);

#endif
