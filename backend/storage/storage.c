/* SPDX-License-Identifier: BSD-2-Clause */
/* The rounds of the back-end of block devices. */
#include "storage_private.h"
#include <string.h>

/* Positions in bytes fit into 64 bits. */
#define SECTORS_MAX STORAGE_NOWHERE

static bool is_read_only(const struct storage_client_setup *setup)
{
    return (setup->features & VIRTIO_BLK_F_RO) != 0;
}

static bool is_known(const struct storage_client_setup *setup)
{
    return setup->start != STORAGE_NOWHERE;
}

static bool overlap(const struct storage_client_setup *one,
                    const struct storage_client_setup *other)
{
    return is_known(one) && is_known(other) && one->start < other->start + other->sectors &&
           other->start < one->start + one->sectors;
}

static bool may_both_be(const struct storage_client_setup *one,
                        const struct storage_client_setup *other)
{
    return !overlap(one, other) || (is_read_only(one) && is_read_only(other));
}

static const char *check_range(const struct storage_client_setup *setup)
{
    if (setup->sectors == 0 || setup->sectors > SECTORS_MAX ||
        (is_known(setup) && setup->start > SECTORS_MAX - setup->sectors)) {
        return "a client's range has no sectors, or is beyond any disk";
    }
    return NULL;
}

static const char *check(const struct storage_client_setup *setups, unsigned count)
{
    if (count > STORAGE_CLIENTS_MAX) {
        return "too many clients";
    }
    for (unsigned i = 0; i < count; i++) {
        const char *reason = check_range(&setups[i]);

        if (reason != NULL) {
            return reason;
        }
        for (unsigned other = 0; other < i; other++) {
            if (!may_both_be(&setups[i], &setups[other])) {
                return "the ranges of two clients overlap";
            }
        }
    }
    return NULL;
}

const char *storage_init(struct storage *storage, struct storage_client *clients,
                         const struct storage_client_setup *setups, unsigned count,
                         const struct storage_operations *operations, void *context)
{
    const char *reason = check(setups, count);

    if (reason != NULL) {
        return reason;
    }
    *storage = (struct storage){
        .operations = operations, .context = context, .clients = clients, .count = count};
    for (unsigned i = 0; i < count; i++) {
        memset(&clients[i], 0, sizeof(clients[i]));
        clients[i].setup = setups[i];
        client_page_init(&clients[i].page, setups[i].page, 1);
        for (unsigned number = 0; number < STORAGE_TRANSFERS; number++) {
            clients[i].transfers[number].client = i;
            clients[i].transfers[number].number = number;
            clients[i].transfers[number].memory =
                setups[i].buffers + (size_t)number * STORAGE_TRANSFER_BYTES;
        }
    }
    return NULL;
}

const char *storage_place(struct storage *storage, unsigned client, uint64_t start)
{
    struct storage_client_setup setup = storage->clients[client].setup;
    const char *reason;

    setup.start = start;
    reason = check_range(&setup);
    if (reason != NULL) {
        return reason;
    }
    for (unsigned i = 0; i < storage->count; i++) {
        if (i != client && !may_both_be(&setup, &storage->clients[i].setup)) {
            return "the ranges of two clients overlap";
        }
    }
    storage->clients[client].setup.start = start;
    return NULL;
}

void storage_set_disk(struct storage *storage, const struct storage_disk *disk)
{
    storage->disk = *disk;
}

void storage_begin(struct storage *storage)
{
    for (unsigned i = 0; i < storage->count; i++) {
        storage_follow(storage, i);
    }
}

enum storage_answer storage_service(struct storage *storage, unsigned budget)
{
    unsigned idle = 0; /* clients in a row without work */

    if (storage->disk.state == STORAGE_CLOSED) {
        return STORAGE_NONE;
    }
    while (idle < storage->count) {
        struct storage_client *client = &storage->clients[storage->turn];
        enum storage_step step = STORAGE_STEP_NONE;

        if (budget == 0) {
            return STORAGE_MORE;
        }
        if (client->state == STORAGE_CLIENT_RUNNING) {
            step = storage_step(storage, client);
        }
        if (step == STORAGE_STEP_NO_ROOM) {
            return STORAGE_NO_ROOM; /* it is still this client's turn */
        }
        idle = step == STORAGE_STEP_NONE ? idle + 1 : 0;
        budget -= step == STORAGE_STEP_DONE;
        storage->turn = (storage->turn + 1) % storage->count;
    }
    return STORAGE_NONE;
}

static void interrupt(struct storage *storage, unsigned index)
{
    struct storage_client *client = &storage->clients[index];

    if (client->owes_interrupt) {
        client->owes_interrupt = false;
        client->statistics.interrupts++;
        storage->operations->interrupt(storage->context, index);
    }
}

void storage_end(struct storage *storage)
{
    for (unsigned i = 0; i < storage->count; i++) {
        struct storage_client *client = &storage->clients[i];

        if (client->state != STORAGE_CLIENT_RUNNING) {
            continue;
        }
        storage_collect(client);
        client->owes_interrupt =
            device_queue_publish(&client->block.queue) || client->owes_interrupt;
        interrupt(storage, i);
        if (client->block.queue.broken != NULL) {
            storage_fail(storage, i, client->block.queue.broken);
        }
    }
}

bool storage_sleep(struct storage *storage)
{
    bool has_work = false;

    for (unsigned i = 0; i < storage->count; i++) {
        struct storage_client *client = &storage->clients[i];

        /* One with so many requests is served again when the disk has finished one. */
        if (client->state == STORAGE_CLIENT_RUNNING && client->count < STORAGE_REQUESTS &&
            storage->disk.state != STORAGE_CLOSED) {
            has_work = !device_queue_enable(&client->block.queue) || has_work;
        }
    }
    return !has_work;
}

void storage_wake(struct storage *storage)
{
    for (unsigned i = 0; i < storage->count; i++) {
        if (storage->clients[i].state == STORAGE_CLIENT_RUNNING) {
            device_queue_suppress(&storage->clients[i].block.queue);
        }
    }
}
