/* SPDX-License-Identifier: BSD-2-Clause */
#include "reports.h"

#include "backend/network_report.h"
#include "kernel/devicetree.h"
#include "kernel/memory.h"
#include "kernel/print.h"
#include "kernel/report.h"
#include "kernel/time.h"

/* Time between two updates while the back-end works. */
#define PERIOD (10 * NANOSECONDS_PER_MILLISECOND)

/* Default size of the mirror, and the largest. */
#define MIRROR_KIB     2048u
#define MIRROR_KIB_MAX 65536u

static struct {
    struct network_report report;
    struct network_port ports[FRAME_SWITCH_PORTS_MAX];
    struct network *network;
    const struct device *devices;
    const struct card *card;
} reports;

static void begin_mirror(uint64_t life)
{
    uint64_t kib = boot_argument_number("mirror", MIRROR_KIB, 0, MIRROR_KIB_MAX);
    size_t bytes = (size_t)kib * 1024 & ~(size_t)(PAGE_BYTES - 1);
    void *memory = bytes == 0 ? NULL : page_allocate(bytes / PAGE_BYTES, PAGE_BYTES);

    if (bytes != 0 && memory == NULL) {
        print("backend: too little memory for a mirror of %llu KiB: frames can't be captured\n",
              (unsigned long long)kib);
    } else if (memory != NULL && frame_mirror_init(&reports.network->mirror, memory, bytes, life)) {
        report_publish(REPORT_MIRROR, FRAME_MIRROR_VERSION, memory, bytes);
    }
}

void reports_begin(struct network *network, const struct device *devices, const struct card *card,
                   uint64_t life, uint64_t now)
{
    reports.network = network;
    reports.devices = devices;
    reports.card = card;
    for (unsigned i = 0; i < network->count; i++) {
        reports.ports[i + 1].device = devices[i].name;
        reports.ports[i + 1].client = devices[i].client;
    }
    network_report_begin(&reports.report, life, now);
    reports_finish(now);
    report_publish(REPORT_NETWORK, NETWORK_REPORT_VERSION, &reports.report, sizeof(reports.report));
    begin_mirror(life);
}

void reports_finish(uint64_t now)
{
    reports.ports[FRAME_SWITCH_CARD].starts = reports.card->starts;
    reports.ports[FRAME_SWITCH_CARD].failures = reports.card->failures;
    for (unsigned i = 0; i < reports.network->count; i++) {
        reports.ports[i + 1].doorbells = reports.devices[i].doorbells;
    }
    network_report_update(&reports.report, reports.network, reports.ports, now);
}

void reports_tend(uint64_t now)
{
    if (now - reports.report.updated >= PERIOD) {
        reports_finish(now);
    }
}
