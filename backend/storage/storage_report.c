/* SPDX-License-Identifier: BSD-2-Clause */
#include "backend/storage_report.h"

#include "backend/report_word.h"
#include <string.h>

static void store_counters(struct storage_counters *to, const struct storage_counters *from)
{
    report_store(&to->reads, from->reads);
    report_store(&to->read_bytes, from->read_bytes);
    report_store(&to->writes, from->writes);
    report_store(&to->written_bytes, from->written_bytes);
    report_store(&to->flushes, from->flushes);
    report_store(&to->errors, from->errors);
}

/* Returns the number of transfers that the disk has, also those of drivers that were stopped. */
static uint64_t transfers_in_flight(const struct storage *storage)
{
    uint64_t count = 0;

    for (unsigned i = 0; i < storage->count; i++) {
        for (unsigned number = 0; number < STORAGE_TRANSFERS; number++) {
            if (storage->clients[i].transfers[number].state == STORAGE_SUBMITTED) {
                count++;
            }
        }
    }
    return count;
}

static void describe_disk(const struct storage *storage, const struct storage_report_disk *disk,
                          struct storage_disk_record *record)
{
    bool is_open = storage->disk.state == STORAGE_OPEN;

    report_store(&record->state, storage->disk.state);
    report_store(&record->sectors, is_open ? storage->disk.sectors : 0);
    store_counters(&record->transfers, &storage->transfers);
    report_store(&record->in_flight, transfers_in_flight(storage));
    report_store(&record->starts, disk->starts);
    report_store(&record->failures, disk->failures);
}

static void describe_client(const struct storage_client *client,
                            const struct storage_report_device *device,
                            struct storage_record *record)
{
    const struct storage_client_statistics *statistics = &client->statistics;

    report_copy_name(record->device, sizeof(record->device), device->device);
    report_copy_name(record->client, sizeof(record->client), device->client);
    report_store(&record->state, client->state);
    store_counters(&record->requests, &statistics->requests);
    report_store(&record->refused, statistics->refused);
    report_store(&record->in_flight, client->count);
    report_store(&record->doorbells, device->doorbells);
    report_store(&record->interrupts, statistics->interrupts);
    report_store(&record->starts, statistics->starts);
    report_store(&record->resumed, statistics->resumed);
    report_store(&record->failures, statistics->failures);
}

void storage_report_begin(struct storage_report *report, uint64_t life, uint64_t now)
{
    memset(report, 0, sizeof(*report));
    report->life = life;
    report->started = now;
    report->updated = now;
    report->record_bytes = sizeof(struct storage_record);
}

void storage_report_update(struct storage_report *report, const struct storage *storage,
                           const struct storage_report_device *devices,
                           const struct storage_report_disk *disk, uint64_t now)
{
    describe_disk(storage, disk, &report->disk);
    for (unsigned i = 0; i < storage->count; i++) {
        describe_client(&storage->clients[i], &devices[i], &report->records[i]);
    }
    report_store(&report->updated, now);
    report_store_count(&report->record_count, storage->count);
}
