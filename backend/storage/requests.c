/* SPDX-License-Identifier: BSD-2-Clause */
/* The requests of a client: their way to the disk in transfers, and their end. */
#include "storage_private.h"

static struct storage_request *request_at(struct storage_client *client, unsigned place)
{
    return &client->requests[(client->first + place) % STORAGE_REQUESTS];
}

/* Returns true if the disk has moved all data of the request, or given up. */
static bool has_data(const struct storage_request *request)
{
    return request->sent == request->block.bytes && request->outstanding == 0;
}

static struct storage_transfer *find_transfer(struct storage_client *client,
                                              enum storage_transfer_state state)
{
    for (unsigned i = 0; i < STORAGE_TRANSFERS; i++) {
        if (client->transfers[i].state == state) {
            return &client->transfers[i];
        }
    }
    return NULL;
}

/* The rest of a request that has failed is of no use. */
static void fail_request(struct storage_request *request)
{
    request->block.status = VIRTIO_BLOCK_STATUS_ERROR;
    request->sent = request->block.bytes;
    request->needs_flush = false;
}

/* Returns true if the disk can execute a transfer. */
static bool is_possible(const struct storage_disk *disk, const struct storage_transfer *transfer)
{
    uint64_t sectors = transfer->bytes / VIRTIO_BLOCK_SECTOR_BYTES;

    return disk->state == STORAGE_OPEN && transfer->sector < STORAGE_NOWHERE &&
           transfer->sector <= disk->sectors && sectors <= disk->sectors - transfer->sector &&
           (transfer->kind != STORAGE_WRITE || !disk->is_read_only);
}

/* Ends a transfer that the disk does not have. */
static void end_transfer(struct storage_transfer *transfer, bool is_done)
{
    struct storage_request *request = transfer->request;

    transfer->state = STORAGE_IDLE;
    transfer->request = NULL;
    if (request == NULL) {
        return;
    }
    request->outstanding--;
    if (!is_done) {
        fail_request(request);
    } else if (transfer->kind == STORAGE_READ) {
        device_block_put(&request->block, transfer->offset, transfer->memory, transfer->bytes);
    }
}

/* Gives a transfer to the disk. Returns false if it has no room. */
static bool submit(struct storage *storage, struct storage_transfer *transfer)
{
    if (!is_possible(&storage->disk, transfer)) {
        end_transfer(transfer, false);
        return true;
    }
    if (transfer->kind == STORAGE_FLUSH && !storage->disk.is_write_back) {
        end_transfer(transfer, true); /* the disk has changed since it was made */
        return true;
    }
    /* Before the call, because a program that ends in it may have submitted the transfer. */
    transfer->state = STORAGE_SUBMITTED;
    if (!storage->operations->submit(storage->context, transfer)) {
        transfer->state = STORAGE_WAITING;
        return false;
    }
    storage->moved++;
    return true;
}

/* Makes a transfer of the next bytes of a request. */
static void make_data(const struct storage_client *client, struct storage_request *request,
                      struct storage_transfer *transfer)
{
    uint32_t rest = request->block.bytes - request->sent;

    transfer->kind = request->block.kind == DEVICE_BLOCK_READ ? STORAGE_READ : STORAGE_WRITE;
    transfer->offset = request->sent;
    transfer->bytes = rest < STORAGE_TRANSFER_BYTES ? rest : STORAGE_TRANSFER_BYTES;
    transfer->sector =
        client->setup.start + request->block.sector + request->sent / VIRTIO_BLOCK_SECTOR_BYTES;
    request->sent += transfer->bytes;
    if (transfer->kind == STORAGE_WRITE) {
        device_block_get(&request->block, transfer->offset, transfer->memory, transfer->bytes);
    }
}

static void make_flush(struct storage_request *request, struct storage_transfer *transfer)
{
    transfer->kind = STORAGE_FLUSH;
    transfer->offset = 0;
    transfer->bytes = 0;
    transfer->sector = 0;
    request->needs_flush = false;
}

/* Returns the oldest request with something to send, or NULL. A flush has to wait until the data of
 * all requests up to its own has been moved (5.2.6.2). A disk that is not write-back needs none. */
static struct storage_request *find_sendable(const struct storage *storage,
                                             struct storage_client *client)
{
    bool is_behind_data = true;

    for (unsigned i = 0; i < client->count; i++) {
        struct storage_request *request = request_at(client, i);

        if (request->sent != request->block.bytes) {
            return request;
        }
        is_behind_data = is_behind_data && (has_data(request) || request->block.bytes == 0);
        if (request->needs_flush && is_behind_data) {
            if (storage->disk.state != STORAGE_OPEN || storage->disk.is_write_back) {
                return request;
            }
            request->needs_flush = false;
        }
    }
    return NULL;
}

/* Takes the next request of the driver. Returns false if there is none, or no place for it. */
static bool take(struct storage_client *client)
{
    struct storage_request *request = request_at(client, client->count);

    if (client->count == STORAGE_REQUESTS || !device_block_take(&client->block, &request->block)) {
        return false;
    }
    request->outstanding = 0;
    request->sent = 0;
    if (request->block.kind == DEVICE_BLOCK_ANSWERED) {
        request->sent = request->block.bytes;
    }
    request->needs_flush =
        request->block.kind == DEVICE_BLOCK_FLUSH ||
        (request->block.kind == DEVICE_BLOCK_WRITE && !device_block_is_write_back(&client->block));
    client->count++;
    return true;
}

/* Makes the next transfer. Returns NULL if there is none to make, or no place for it. */
static struct storage_transfer *make_transfer(const struct storage *storage,
                                              struct storage_client *client)
{
    struct storage_transfer *transfer = find_transfer(client, STORAGE_IDLE);
    struct storage_request *request = transfer == NULL ? NULL : find_sendable(storage, client);

    if (request == NULL) {
        return NULL;
    }
    if (request->sent != request->block.bytes) {
        make_data(client, request, transfer);
    } else {
        make_flush(request, transfer);
    }
    transfer->request = request;
    transfer->state = STORAGE_WAITING;
    request->outstanding++;
    return transfer;
}

enum storage_step storage_step(struct storage *storage, struct storage_client *client)
{
    struct storage_transfer *transfer = find_transfer(client, STORAGE_WAITING);

    if (transfer == NULL) {
        transfer = make_transfer(storage, client);
    }
    if (transfer != NULL) {
        return submit(storage, transfer) ? STORAGE_STEP_DONE : STORAGE_STEP_NO_ROOM;
    }
    if (!take(client)) {
        return STORAGE_STEP_NONE;
    }
    storage->moved++;
    return STORAGE_STEP_DONE;
}

void storage_finished(struct storage *storage, struct storage_transfer *transfer,
                      enum storage_result result)
{
    storage->moved++;
    storage_count_transfer(storage, transfer, result);
    if (result == STORAGE_AGAIN && transfer->request != NULL) {
        transfer->state = STORAGE_WAITING;
        return;
    }
    end_transfer(transfer, result == STORAGE_DONE);
}

void storage_collect(struct storage_client *client)
{
    while (client->count != 0) {
        struct storage_request *request = request_at(client, 0);

        if (!has_data(request) || request->needs_flush) {
            return;
        }
        storage_count_request(client, &request->block);
        device_block_finish(&client->block, &request->block);
        client->first = (client->first + 1) % STORAGE_REQUESTS;
        client->count--;
    }
}
