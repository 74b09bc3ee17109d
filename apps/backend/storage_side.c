/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared block devices: clients, and a disk. */
#include "storage_side.h"

#include "backend/storage.h"
#include "devices.h"
#include "disk.h"
#include "kernel/memory.h"
#include "kernel/print.h"
#include "kernel/time.h"
#include "partitions.h"
#include "random_number.h"
#include "reports.h"
#include <string.h>

/* Requests and transfers in a round. */
#define ROUND_STEPS 64u

static struct {
    struct storage storage;
    struct storage_client *clients;
    struct storage_client_setup setups[STORAGE_CLIENTS_MAX];
    struct device devices[DEVICES_MAX];
    unsigned count;
    struct disk disk;
    const char *names[DEVICES_MAX]; /* of the partitions that clients have, or NULL */
    struct partitions partitions;
    bool has_places;    /* the range of each client is known, or can't be */
    bool was_described; /* the clients' ranges were compared with the disk */
} side;

_Static_assert(DEVICES_MAX <= STORAGE_CLIENTS_MAX, "a client for each device");

static const char *read_client(int node, unsigned number, const struct device *device)
{
    struct storage_client_setup *setup = &side.setups[number];
    uint64_t sectors[2];

    if (!devices_numbers(node, "bulkhead,sectors", sectors, 2)) {
        return "its part of the disk is missing";
    }
    memset(setup, 0, sizeof(*setup));
    setup->page = device->page;
    setup->memory = device->memory;
    setup->features = device->features;
    side.names[number] = devices_text(node, "bulkhead,partition");
    setup->start = side.names[number] == NULL ? sectors[0] : STORAGE_NOWHERE;
    setup->sectors = sectors[1];
    for (unsigned i = 0; i < sizeof(setup->id) && device->name[i] != '\0'; i++) {
        setup->id[i] = device->name[i];
    }
    return NULL;
}

static void acknowledge(void *context, unsigned client, uint32_t generation)
{
    (void)context;
    device_acknowledge(&side.devices[client], generation);
}

static void interrupt(void *context, unsigned client)
{
    (void)context;
    device_interrupt(&side.devices[client]);
}

static void fail_client(void *context, unsigned client, const char *reason)
{
    (void)context;
    device_fail(&side.devices[client], reason);
}

static bool submit(void *context, struct storage_transfer *transfer)
{
    (void)context;
    return disk_submit(&side.disk, transfer);
}

static const struct storage_operations operations = {
    .acknowledge = acknowledge,
    .interrupt = interrupt,
    .fail = fail_client,
    .submit = submit,
};

/* Says which part of the disk a client has, and whether it is beyond the disk's end. */
static void report_client(unsigned client, const struct storage_disk *disk)
{
    const struct storage_client_setup *setup = &side.clients[client].setup;
    bool is_inside = setup->start + setup->sectors <= disk->sectors;

    if (setup->start == STORAGE_NOWHERE) {
        return; /* place_client() has said why */
    }
    print("backend: %s: %s, %llu KiB from %llu KiB on%s\n", side.devices[client].name,
          side.devices[client].client, (unsigned long long)(setup->sectors / 2),
          (unsigned long long)(setup->start / 2),
          is_inside ? "" : ", which is beyond the disk's end: requests there fail");
}

/* Reports the clients once, when the disk is opened first. */
static void report(const struct storage_disk *disk)
{
    if (side.was_described || disk->state != STORAGE_OPEN) {
        return;
    }
    side.was_described = true;
    for (unsigned i = 0; i < side.count; i++) {
        report_client(i, disk);
    }
}

/* Opens or closes the disk. It is not open before each client has its place. */
static void describe_disk(uint64_t now)
{
    struct storage_disk disk = disk_describe(&side.disk, now);

    if (disk.state == STORAGE_OPEN && !side.has_places) {
        disk.state = STORAGE_CLOSED;
    }
    storage_set_disk(&side.storage, &disk);
    report(&disk);
}

static void tend_disk(uint64_t now)
{
    if (disk_tend(&side.disk, now)) {
        describe_disk(now);
    }
}

static void place_client(unsigned client)
{
    uint64_t start;
    const char *reason =
        partitions_find(&side.partitions, side.names[client], side.setups[client].sectors, &start);

    if (reason == NULL) {
        reason = storage_place(&side.storage, client, start);
    }
    if (reason != NULL) {
        print("backend: %s: its requests fail: partition '%s': %s\n", side.devices[client].name,
              side.names[client], reason);
    }
}

/* Gives partitions to the clients, when the table was read. */
static void place_clients(uint64_t now)
{
    if (side.has_places || !partitions_tend(&side.partitions, &side.disk)) {
        return;
    }
    for (unsigned i = 0; i < side.count; i++) {
        if (side.names[i] != NULL) {
            place_client(i);
        }
    }
    side.has_places = true;
    describe_disk(now);
}

bool storage_side_round(uint64_t now, uint64_t *until)
{
    struct storage *storage = &side.storage;
    uint64_t before = storage->moved;

    tend_disk(now);
    storage_begin(storage);
    disk_collect(&side.disk, storage);
    place_clients(now);
    (void)storage_service(storage, ROUND_STEPS);
    disk_kick(&side.disk);
    storage_end(storage);
    reports_tend_storage(now);
    *until = disk_due(&side.disk);
    return storage->moved != before;
}

bool storage_side_sleep(void)
{
    bool has_missed = devices_arm(side.devices, side.count);
    bool can_sleep = storage_sleep(&side.storage) && disk_sleep(&side.disk) && !has_missed;

    if (can_sleep) {
        reports_finish_storage(time_now());
    }
    return can_sleep;
}

bool storage_side_nap(void)
{
    return disk_sleep(&side.disk);
}

void storage_side_wake(void)
{
    storage_wake(&side.storage);
}

/* Allocates and initialises the storage. Returns NULL, or why it can't be served. */
static const char *start_storage(void)
{
    size_t buffers = side.count * STORAGE_MEMORY_BYTES / PAGE_BYTES;
    size_t clients = (side.count * sizeof(*side.clients) + PAGE_BYTES - 1) / PAGE_BYTES;
    uint8_t *memory = page_allocate(buffers, PAGE_BYTES);

    side.clients = page_allocate(clients, PAGE_BYTES);
    if (memory == NULL || side.clients == NULL) {
        return "too little memory";
    }
    side.has_places = true;
    for (unsigned i = 0; i < side.count; i++) {
        side.setups[i].buffers = memory + i * STORAGE_MEMORY_BYTES;
        side.has_places = side.has_places && side.names[i] == NULL;
    }
    side.partitions.memory = memory; /* no client has a transfer before the table was read */
    return storage_init(&side.storage, side.clients, side.setups, side.count, &operations, NULL);
}

bool storage_side_start(struct semaphore *wake)
{
    const char *reason;

    side.count = devices_find("block", side.devices, read_client, wake);
    if (side.count == 0) {
        return false;
    }
    reason = start_storage();
    if (reason != NULL) {
        print("backend: no block device is served: %s\n", reason);
        return false;
    }
    (void)disk_find(&side.disk, wake);
    reports_begin_storage(&side.storage, side.devices, &side.disk, random_number(), time_now());
    return true;
}
