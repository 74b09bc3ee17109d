/* SPDX-License-Identifier: BSD-2-Clause */
#include "storage_fixture.h"

#include <stdlib.h>
#include <string.h>

struct storage_fixture fixture;

static void called(void)
{
    if (fixture.on_callback != NULL) {
        fixture.on_callback();
    }
}

static void acknowledge(void *context, unsigned client, uint32_t generation)
{
    assert_ptr_equal(context, &fixture);
    called();
    fixture.drivers[client].acknowledged = generation;
    fixture.drivers[client].acknowledgements++;
}

static void interrupt(void *context, unsigned client)
{
    assert_ptr_equal(context, &fixture);
    called();
    fixture.drivers[client].interrupts++;
}

static void fail_client(void *context, unsigned client, const char *reason)
{
    assert_ptr_equal(context, &fixture);
    assert_non_null(reason);
    called();
    fixture.drivers[client].failures++;
    driver_set_failed(&fixture.drivers[client].page);
}

static bool submit(void *context, struct storage_transfer *transfer)
{
    const struct storage_client_setup *setup = &fixture.setups[transfer->client];

    assert_ptr_equal(context, &fixture);
    assert_int_equal(fixture.disk.state, STORAGE_OPEN);
    assert_true(transfer->memory >= setup->buffers &&
                transfer->memory + transfer->bytes <= setup->buffers + STORAGE_MEMORY_BYTES);
    assert_int_equal(transfer->bytes == 0, transfer->kind == STORAGE_FLUSH);
    if (transfer->kind != STORAGE_FLUSH) {
        assert_true(transfer->sector >= setup->start &&
                    transfer->sector + transfer->bytes / SECTOR <= setup->start + setup->sectors);
    }
    for (unsigned i = 0; i < fixture.count; i++) {
        assert_ptr_not_equal(fixture.submitted[i], transfer);
    }
    called();
    if (fixture.count >= fixture.room) {
        return false;
    }
    fixture.submitted[fixture.count++] = transfer;
    fixture.total++;
    called();
    return true;
}

static const struct storage_operations operations = {
    .acknowledge = acknowledge,
    .interrupt = interrupt,
    .fail = fail_client,
    .submit = submit,
};

void fixture_prepare(void)
{
    memset(&fixture, 0, sizeof(fixture));
    driver_fixture_begin();
    fixture.room = CLIENTS * STORAGE_TRANSFERS;
    fixture.disk = (struct storage_disk){STORAGE_OPEN, DISK_SECTORS, false, true};
    for (unsigned i = 0; i < CLIENTS; i++) {
        fixture.setups[i] = (struct storage_client_setup){
            .page = &fixture.drivers[i].page,
            .memory = driver_fixture_memory(),
            .features = DEVICE_BLOCK_FEATURES & ~VIRTIO_BLK_F_RO,
            .start = (uint64_t)i * CLIENT_SECTORS,
            .sectors = CLIENT_SECTORS,
            .id = "a disk",
            .buffers = fixture.buffers[i],
        };
    }
}

void fixture_begin(void)
{
    assert_null(storage_init(&fixture.storage, fixture.clients, fixture.setups, CLIENTS,
                             &operations, &fixture));
    fixture.count = 0;
    storage_set_disk(&fixture.storage, &fixture.disk);
}

void fixture_end(void)
{
    for (unsigned i = 0; i < CLIENTS; i++) {
        if (fixture.drivers[i].has_queue) {
            driver_free(i);
        }
    }
    driver_fixture_end();
}

void driver_start(unsigned index, uint64_t features)
{
    struct driver *driver = &fixture.drivers[index];

    driver_create_queue(&driver->page, 0, &driver->queue, features, 0);
    driver->has_queue = true;
    driver_set_started(&driver->page, features);
}

void driver_reset(unsigned index)
{
    driver_set_reset(&fixture.drivers[index].page, 1);
}

static void free_order(void *token)
{
    struct order *order = token;

    free(order->owner);
    free(order);
}

void driver_free(unsigned index)
{
    struct driver *driver = &fixture.drivers[index];

    driver_free_queue(&driver->queue, free_order);
    driver->has_queue = false;
}

struct order *driver_order(uint32_t type, uint64_t sector, uint32_t sectors)
{
    struct order *order = calloc(1, sizeof(*order) + (size_t)sectors * SECTOR);

    assert_non_null(order);
    order->type = type;
    order->sector = sector;
    order->bytes = sectors * SECTOR;
    order->status = 0xff;
    memcpy(order->header, &type, sizeof(type));
    memcpy(order->header + VIRTIO_BLOCK_HEADER_SECTOR, &sector, sizeof(sector));
    return order;
}

bool driver_send(unsigned index, struct order *order)
{
    struct virtqueue_segment segments[3] = {
        {virtio_platform_dma_address(order->header), sizeof(order->header)}};
    unsigned count = 1;
    bool is_read = order->type == VIRTIO_BLOCK_TYPE_IN;

    if (order->bytes != 0) {
        segments[count++] =
            (struct virtqueue_segment){virtio_platform_dma_address(order->data), order->bytes};
    }
    segments[count] = (struct virtqueue_segment){virtio_platform_dma_address(&order->status), 1};
    if (!virtqueue_add(&fixture.drivers[index].queue, segments, is_read ? 1 : count,
                       is_read ? count : 1, order)) {
        free_order(order);
        return false;
    }
    (void)virtqueue_publish(&fixture.drivers[index].queue);
    (void)virtqueue_enable(&fixture.drivers[index].queue, 0);
    return true;
}

struct order *driver_take(unsigned index)
{
    struct virtqueue *queue = &fixture.drivers[index].queue;
    uint32_t bytes;
    struct order *order = virtqueue_take(queue, &bytes);

    assert_null(queue->broken);
    assert_true(order == NULL || order->status <= VIRTIO_BLOCK_STATUS_UNSUPPORTED);
    return order;
}

enum storage_answer turn_round(unsigned budget)
{
    enum storage_answer answer;

    storage_begin(&fixture.storage);
    answer = storage_service(&fixture.storage, budget);
    storage_end(&fixture.storage);
    return answer;
}

static void execute_sector(const struct storage_transfer *transfer, unsigned i)
{
    uint8_t *at = transfer->memory + (size_t)i * SECTOR;
    uint8_t *sector = fixture.cached[transfer->sector + i];

    if (transfer->kind == STORAGE_READ) {
        memcpy(at, sector, SECTOR);
    } else {
        memcpy(sector, at, SECTOR);
    }
}

void disk_execute_part(const struct storage_transfer *transfer, uint64_t *seed)
{
    for (unsigned i = 0; i < transfer->bytes / SECTOR; i++) {
        if (random_below(seed, 2) == 0) {
            execute_sector(transfer, i);
        }
    }
}

void disk_execute(unsigned place)
{
    struct storage_transfer *transfer = fixture.submitted[place];

    assert_true(place < fixture.count);
    fixture.submitted[place] = fixture.submitted[--fixture.count];
    if (!fixture.has_error && transfer->kind == STORAGE_FLUSH) {
        memcpy(fixture.stable, fixture.cached, sizeof(fixture.stable));
        fixture.flushes++;
    }
    for (unsigned i = 0; !fixture.has_error && i < transfer->bytes / SECTOR; i++) {
        execute_sector(transfer, i);
    }
    storage_begin(&fixture.storage);
    storage_finished(&fixture.storage, transfer, fixture.has_error ? STORAGE_ERROR : STORAGE_DONE);
    storage_end(&fixture.storage);
}

void settle(void)
{
    for (unsigned rounds = 0; turn_round(64) == STORAGE_MORE || fixture.count != 0; rounds++) {
        assert_true(rounds < 100000);
        if (fixture.count != 0) {
            disk_execute(0);
        }
    }
}
