/* SPDX-License-Identifier: BSD-2-Clause */
#include "reports.h"

#include "backend/network_report.h"
#include "backend/storage_report.h"
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
} network_reports;

static struct {
    struct storage_report report;
    struct storage_report_device facts[STORAGE_CLIENTS_MAX];
    const struct storage *storage;
    const struct device *devices;
    const struct disk *disk;
} storage_reports;

static void begin_mirror(uint64_t life)
{
    uint64_t kib = boot_argument_number("mirror", MIRROR_KIB, 0, MIRROR_KIB_MAX);
    size_t bytes = (size_t)kib * 1024 & ~(size_t)(PAGE_BYTES - 1);
    void *memory = bytes == 0 ? NULL : page_allocate(bytes / PAGE_BYTES, PAGE_BYTES);

    if (bytes != 0 && memory == NULL) {
        print("backend: too little memory for a mirror of %llu KiB: frames can't be captured\n",
              (unsigned long long)kib);
    } else if (memory != NULL &&
               frame_mirror_init(&network_reports.network->mirror, memory, bytes, life)) {
        report_publish(REPORT_MIRROR, FRAME_MIRROR_VERSION, memory, bytes);
    }
}

void reports_begin_network(struct network *network, const struct device *devices,
                           const struct card *card, uint64_t life, uint64_t now)
{
    network_reports.network = network;
    network_reports.devices = devices;
    network_reports.card = card;
    for (unsigned i = 0; i < network->count; i++) {
        network_reports.ports[i + 1].device = devices[i].name;
        network_reports.ports[i + 1].client = devices[i].client;
    }
    network_report_begin(&network_reports.report, life, now);
    reports_finish_network(now);
    report_publish(REPORT_NETWORK, NETWORK_REPORT_VERSION, &network_reports.report,
                   sizeof(network_reports.report));
    begin_mirror(life);
}

void reports_finish_network(uint64_t now)
{
    network_reports.ports[FRAME_SWITCH_CARD].starts = network_reports.card->starts;
    network_reports.ports[FRAME_SWITCH_CARD].failures = network_reports.card->failures;
    for (unsigned i = 0; i < network_reports.network->count; i++) {
        network_reports.ports[i + 1].doorbells = network_reports.devices[i].doorbells;
    }
    network_report_update(&network_reports.report, network_reports.network, network_reports.ports,
                          now);
}

void reports_tend_network(uint64_t now)
{
    if (now - network_reports.report.updated >= PERIOD) {
        reports_finish_network(now);
    }
}

void reports_begin_storage(const struct storage *storage, const struct device *devices,
                           const struct disk *disk, uint64_t life, uint64_t now)
{
    storage_reports.storage = storage;
    storage_reports.devices = devices;
    storage_reports.disk = disk;
    for (unsigned i = 0; i < storage->count; i++) {
        storage_reports.facts[i].device = devices[i].name;
        storage_reports.facts[i].client = devices[i].client;
    }
    storage_report_begin(&storage_reports.report, life, now);
    reports_finish_storage(now);
    report_publish(REPORT_STORAGE, STORAGE_REPORT_VERSION, &storage_reports.report,
                   sizeof(storage_reports.report));
}

void reports_finish_storage(uint64_t now)
{
    const struct storage_report_disk disk = {
        .starts = storage_reports.disk->starts,
        .failures = storage_reports.disk->failures,
    };

    for (unsigned i = 0; i < storage_reports.storage->count; i++) {
        storage_reports.facts[i].doorbells = storage_reports.devices[i].doorbells;
    }
    storage_report_update(&storage_reports.report, storage_reports.storage, storage_reports.facts,
                          &disk, now);
}

void reports_tend_storage(uint64_t now)
{
    if (now - storage_reports.report.updated >= PERIOD) {
        reports_finish_storage(now);
    }
}
