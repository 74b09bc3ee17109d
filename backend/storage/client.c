/* SPDX-License-Identifier: BSD-2-Clause */
/* The driver of a client's device: when it is served. */
#include "storage_private.h"
#include <string.h>

/* Forgets the driver's requests. Transfers that are with the disk stay there: their memory is the
 * program's. */
static void stop(struct storage_client *client)
{
    client->state = STORAGE_CLIENT_STOPPED;
    client->owes_interrupt = false;
    client->first = 0;
    client->count = 0;
    for (unsigned i = 0; i < STORAGE_TRANSFERS; i++) {
        struct storage_transfer *transfer = &client->transfers[i];

        transfer->request = NULL;
        if (transfer->state == STORAGE_WAITING) {
            transfer->state = STORAGE_IDLE;
        }
    }
}

static bool is_with_disk(const struct storage_client *client)
{
    for (unsigned i = 0; i < STORAGE_TRANSFERS; i++) {
        if (client->transfers[i].state == STORAGE_SUBMITTED) {
            return true;
        }
    }
    return false;
}

static void start(struct storage *storage, unsigned index)
{
    struct storage_client *client = &storage->clients[index];
    struct client_page_setup page;
    struct device_block_setup setup;
    const char *reason;

    /* A write of the driver before, which the disk has not finished, could overtake the new one's.
     */
    if (is_with_disk(client) || !client_page_read(&client->page, &page)) {
        return;
    }
    setup = (struct device_block_setup){
        .queue = page.queues[0],
        .offered = client->setup.features,
        .accepted = page.accepted,
        .sectors = client->setup.sectors,
    };
    memcpy(setup.id, client->setup.id, sizeof(setup.id));
    reason = device_block_check_features(setup.offered, setup.accepted);
    if (reason == NULL) {
        reason = device_block_start(&client->block, &client->setup.memory, &setup, page.resumed);
    }
    client->statistics.starts++;
    client->statistics.resumed += page.resumed;
    if (reason != NULL) {
        storage_fail(storage, index, reason);
        return;
    }
    client->state = STORAGE_CLIENT_RUNNING;
    client->owes_interrupt = page.resumed; /* the earlier life may have ended before its own */
    device_queue_suppress(&client->block.queue);
}

void storage_follow(struct storage *storage, unsigned index)
{
    struct storage_client *client = &storage->clients[index];

    if (client_page_has_stopped(&client->page)) {
        stop(client);
        storage->operations->acknowledge(storage->context, index, client->page.generation);
    }
    if (client->state == STORAGE_CLIENT_RUNNING && client_page_has_changed(&client->page)) {
        stop(client);
    }
    if (client->state == STORAGE_CLIENT_STOPPED) {
        start(storage, index);
    }
}

void storage_fail(struct storage *storage, unsigned index, const char *reason)
{
    struct storage_client *client = &storage->clients[index];

    stop(client);
    client->state = STORAGE_CLIENT_FAILED;
    client->failure = reason;
    client->statistics.failures++;
    storage->operations->fail(storage->context, index, reason);
}
