/* SPDX-License-Identifier: BSD-2-Clause */
#include "reports.h"

#include "backend/frame_mirror.h"
#include "kernel/report.h"
#include <stddef.h>
#include <string.h>

/* Nanoseconds between two updates while there is work. */
#define PERIOD UINT64_C(10000000)

/* The mirror follows. */
struct reports_memory {
    uint8_t none[REPORT_LOCATOR_OFFSET];
    struct report_locator locator;
    struct report_directory directory;
    struct network_report network;
};

static struct report_directory directory_of(uint64_t address, uint64_t mirror_bytes)
{
    struct report_directory directory = {
        .magic = REPORT_MAGIC,
        .count = 1,
        .report_bytes = sizeof(struct report),
        .reports[0] =
            {
                .kind = REPORT_NETWORK,
                .version = NETWORK_REPORT_VERSION,
                .address = address + offsetof(struct reports_memory, network),
                .bytes = sizeof(struct network_report),
            },
    };

    if (mirror_bytes != 0) {
        directory.reports[directory.count++] = (struct report){
            .kind = REPORT_MIRROR,
            .version = FRAME_MIRROR_VERSION,
            .address = address + sizeof(struct reports_memory),
            .bytes = mirror_bytes,
        };
    }
    return directory;
}

/* A tool that finds no locator reads nothing else, so it is removed first and written last. */
static void publish(struct reports *reports, const struct device *device, uint64_t life,
                    uint64_t now)
{
    const struct properties_memory *place = &device->properties.reports;
    struct reports_memory *memory = device->reports;
    uint64_t mirror_bytes = place->bytes - sizeof(*memory);

    reports->memory = memory;
    __atomic_store_n(&memory->locator.magic, 0, __ATOMIC_SEQ_CST);
    network_report_begin(&memory->network, life, now);
    reports_finish(reports, now);
    if (!frame_mirror_init(&reports->network->mirror, memory + 1, mirror_bytes, life)) {
        mirror_bytes = 0;
    }
    memory->directory = directory_of(place->here, mirror_bytes);
    memory->locator.distance = (int64_t)(offsetof(struct reports_memory, directory) -
                                         offsetof(struct reports_memory, locator));
    __atomic_store_n(&memory->locator.magic, REPORT_MAGIC, __ATOMIC_RELEASE);
}

void reports_begin(struct reports *reports, struct network *network, const struct device *devices,
                   uint64_t life, uint64_t now)
{
    const struct device *owner = NULL;

    memset(reports, 0, sizeof(*reports));
    reports->network = network;
    reports->devices = devices;
    reports->ports[FRAME_SWITCH_CARD].starts = 1;
    for (unsigned i = 0; i < network->count; i++) {
        reports->ports[i + 1].device = devices[i].properties.label;
        reports->ports[i + 1].client = devices[i].properties.client;
        if (devices[i].properties.reports.bytes > sizeof(struct reports_memory)) {
            owner = &devices[i];
        }
    }
    if (owner != NULL) {
        publish(reports, owner, life, now);
    }
}

void reports_finish(struct reports *reports, uint64_t now)
{
    if (reports->memory == NULL) {
        return;
    }
    for (unsigned i = 0; i < reports->network->count; i++) {
        reports->ports[i + 1].doorbells = reports->devices[i].doorbells;
    }
    network_report_update(&reports->memory->network, reports->network, reports->ports, now);
}

void reports_tend(struct reports *reports, uint64_t now)
{
    if (reports->memory != NULL && now - reports->memory->network.updated >= PERIOD) {
        reports_finish(reports, now);
    }
}
