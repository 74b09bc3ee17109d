/* SPDX-License-Identifier: BSD-2-Clause */
/* The counters of a storage: requests of its clients, and transfers of its disk. */
#include "storage_private.h"

static void count(struct storage_counters *counters, enum storage_kind kind, uint32_t bytes)
{
    switch (kind) {
    case STORAGE_READ:
        counters->reads++;
        counters->read_bytes += bytes;
        break;
    case STORAGE_WRITE:
        counters->writes++;
        counters->written_bytes += bytes;
        break;
    case STORAGE_FLUSH:
    default:
        counters->flushes++;
        break;
    }
}

void storage_count_transfer(struct storage *storage, const struct storage_transfer *transfer,
                            enum storage_result result)
{
    switch (result) {
    case STORAGE_DONE:
        count(&storage->transfers, transfer->kind, transfer->bytes);
        break;
    case STORAGE_ERROR:
        storage->transfers.errors++;
        break;
    case STORAGE_AGAIN:
    default:
        break;
    }
}

void storage_count_request(struct storage_client *client,
                           const struct device_block_request *request)
{
    static const enum storage_kind kinds[] = {
        [DEVICE_BLOCK_READ] = STORAGE_READ,
        [DEVICE_BLOCK_WRITE] = STORAGE_WRITE,
        [DEVICE_BLOCK_FLUSH] = STORAGE_FLUSH,
    };
    struct storage_client_statistics *statistics = &client->statistics;
    bool is_good = request->status == VIRTIO_BLOCK_STATUS_OK;

    if (request->kind == DEVICE_BLOCK_ANSWERED) {
        statistics->refused += is_good ? 0 : 1;
    } else if (is_good) {
        count(&statistics->requests, kinds[request->kind], request->bytes);
    } else {
        statistics->requests.errors++;
    }
}
