/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lives of the back-end of block devices that end in any of its callbacks, with requests that the
 * disk has executed in part. Drivers reset their devices with requests on their way, and the disk
 * is reset. The model knows the versions of each sector:
 *
 *   - a read returns no older version than that of the last write that was finished before the
 *     read was sent, and no newer one than was sent;
 *   - when a flush is finished, what was finished before the flush was sent is stable;
 *   - a write of a driver that does not flush is stable when it is finished.
 */
#include "storage_fixture.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#define FEATURES    (DEVICE_BLOCK_FEATURES & ~VIRTIO_BLK_F_RO)
#define ORDERS      20000u
#define SECTORS_MAX 150u

/* A sector of a client. Versions count its writes. */
struct version {
    uint32_t sent;     /* of the last write that was sent */
    uint32_t finished; /* of the last write that was finished */
    bool is_busy;      /* a write is on its way */
};

/* The state of the model when an order is sent. */
struct record {
    unsigned client;
    struct version before[CLIENT_SECTORS];
};

static struct version versions[CLIENTS][CLIENT_SECTORS];
static uint64_t features[CLIENTS];
static uint64_t seed;
static unsigned finished, repeated_lives, resets, disk_resets, flushes_checked;

/* The life ends in one of the next callbacks. */
static jmp_buf end_of_life;
static unsigned callbacks_left;

static void count_down(void)
{
    if (--callbacks_left == 0) {
        longjmp(end_of_life, 1);
    }
}

/* The content of a sector: client, number and version, repeated. */
static void fill(uint8_t *at, unsigned client, uint64_t sector, uint32_t version)
{
    const uint32_t words[4] = {client, (uint32_t)sector, version, version * 2654435761u};

    for (unsigned i = 0; i < SECTOR; i += (unsigned)sizeof(words)) {
        memcpy(at + i, words, sizeof(words));
    }
}

/* Returns the version of a sector's content. It is whole. */
static uint32_t version_of(const uint8_t *at, unsigned client, uint64_t sector)
{
    static const uint8_t never[SECTOR];
    uint8_t expected[SECTOR];
    uint32_t version;

    memcpy(&version, at + 8, sizeof(version));
    fill(expected, client, sector, version);
    if (version != 0 || memcmp(at, never, SECTOR) != 0) {
        assert_memory_equal(at, expected, SECTOR);
    }
    return version;
}

static struct record *remember(unsigned client)
{
    struct record *record = malloc(sizeof(*record));

    assert_non_null(record);
    record->client = client;
    memcpy(record->before, versions[client], sizeof(record->before));
    return record;
}

/* Chooses sectors without a write on its way, so that the order of versions is known. */
static uint32_t choose(unsigned client, uint64_t *first, bool is_write)
{
    uint32_t count =
        1 + (uint32_t)random_below(&seed, random_below(&seed, 8) == 0 ? SECTORS_MAX : 6);
    uint32_t free_count = 0;

    *first = random_below(&seed, CLIENT_SECTORS - count + 1);
    while (free_count < count && (!is_write || !versions[client][*first + free_count].is_busy)) {
        free_count++;
    }
    return free_count;
}

static void send_write(unsigned client)
{
    uint64_t first;
    uint32_t count = choose(client, &first, true);
    struct order *order;

    if (count == 0) {
        return;
    }
    order = driver_order(VIRTIO_BLOCK_TYPE_OUT, first, count);
    order->owner = remember(client);
    for (uint32_t i = 0; i < count; i++) {
        fill(order->data + (size_t)i * SECTOR, client, first + i,
             versions[client][first + i].sent + 1);
    }
    if (!driver_send(client, order)) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        versions[client][first + i].sent++;
        versions[client][first + i].is_busy = true;
    }
}

static void send_read(unsigned client)
{
    uint64_t first;
    uint32_t count = choose(client, &first, false);
    struct order *order = driver_order(VIRTIO_BLOCK_TYPE_IN, first, count);

    order->owner = remember(client);
    (void)driver_send(client, order);
}

static void send_flush(unsigned client)
{
    struct order *order = driver_order(VIRTIO_BLOCK_TYPE_FLUSH, 0, 0);

    order->owner = remember(client);
    (void)driver_send(client, order);
}

static const uint8_t *stable_sector(unsigned client, uint64_t sector)
{
    return fixture.stable[client * CLIENT_SECTORS + sector];
}

static void finish_write(unsigned client, const struct order *order)
{
    for (uint32_t i = 0; i < order->bytes / SECTOR; i++) {
        struct version *version = &versions[client][order->sector + i];

        version->is_busy = false;
        version->finished = version->sent;
        if ((features[client] & VIRTIO_BLK_F_FLUSH) == 0) {
            assert_true(version_of(stable_sector(client, order->sector + i), client,
                                   order->sector + i) >= version->finished);
        }
    }
}

static void finish_read(unsigned client, const struct order *order)
{
    const struct record *record = order->owner;

    for (uint32_t i = 0; i < order->bytes / SECTOR; i++) {
        uint32_t version = version_of(order->data + (size_t)i * SECTOR, client, order->sector + i);

        assert_in_range(version, record->before[order->sector + i].finished,
                        versions[client][order->sector + i].sent);
    }
}

static void finish_flush(unsigned client, const struct order *order)
{
    const struct record *record = order->owner;

    for (unsigned i = 0; i < CLIENT_SECTORS; i++) {
        assert_true(version_of(stable_sector(client, i), client, i) >= record->before[i].finished);
    }
    flushes_checked++;
}

static void check_finished(void)
{
    for (unsigned client = 0; client < CLIENTS; client++) {
        struct order *order;

        while ((order = driver_take(client)) != NULL) {
            assert_int_equal(order->status, VIRTIO_BLOCK_STATUS_OK);
            switch (order->type) {
            case VIRTIO_BLOCK_TYPE_OUT:
                finish_write(client, order);
                break;
            case VIRTIO_BLOCK_TYPE_IN:
                finish_read(client, order);
                break;
            default:
                finish_flush(client, order);
            }
            free(order->owner);
            free(order);
            finished++;
        }
    }
}

static void send_some(void)
{
    for (uint64_t burst = random_below(&seed, 6); burst != 0; burst--) {
        unsigned client = (unsigned)random_below(&seed, CLIENTS);

        switch (random_below(&seed, 8)) {
        case 0:
            send_flush(client);
            break;
        case 1:
        case 2:
        case 3:
            send_read(client);
            break;
        default:
            send_write(client);
        }
    }
}

/* The disk executes a part of what it has, and forgets the rest: it is reset. */
static void reset_disk(void)
{
    for (unsigned i = 0; i < fixture.count; i++) {
        disk_execute_part(fixture.submitted[i], &seed);
    }
}

/* The disk fails, and is open again in one of the next rounds. */
static void fail_disk(void)
{
    const struct storage_disk closed = {.state = STORAGE_CLOSED};

    reset_disk();
    storage_set_disk(&fixture.storage, &closed);
    storage_begin(&fixture.storage);
    while (fixture.count != 0) {
        storage_finished(&fixture.storage, fixture.submitted[--fixture.count], STORAGE_AGAIN);
    }
    storage_end(&fixture.storage);
    disk_resets++;
}

/* The driver resets its device: what was on its way may be executed, or not. */
static void reset_driver(unsigned client)
{
    driver_reset(client);
    (void)turn_round(0);
    assert_int_equal(fixture.drivers[client].acknowledged, fixture.drivers[client].page.generation);
    check_finished();
    driver_free(client);
    for (unsigned i = 0; i < CLIENT_SECTORS; i++) {
        versions[client][i].is_busy = false;
    }
    driver_start(client, features[client]);
    resets++;
}

/* A round, which may not end. */
static void live(void)
{
    if (setjmp(end_of_life) != 0) {
        fixture.on_callback = NULL;
        reset_disk();
        check_finished();
        fixture_begin();
        repeated_lives++;
        callbacks_left = 1 + (unsigned)random_below(&seed, 80);
        return;
    }
    fixture.on_callback = count_down;
    fixture.room = (unsigned)random_below(&seed, CLIENTS * STORAGE_TRANSFERS);
    storage_set_disk(&fixture.storage, &fixture.disk);
    (void)turn_round(1 + (unsigned)random_below(&seed, 20));
    for (uint64_t i = random_below(&seed, 8); i != 0 && fixture.count != 0; i--) {
        disk_execute((unsigned)random_below(&seed, fixture.count));
    }
    fixture.on_callback = NULL;
    check_finished();
}

static void exchange(uint64_t first, bool has_disk_resets)
{
    fixture_prepare();
    memset(versions, 0, sizeof(versions));
    finished = repeated_lives = resets = disk_resets = flushes_checked = 0;
    callbacks_left = 20;
    fixture_begin();
    for (unsigned i = 0; i < CLIENTS; i++) {
        features[i] = i == 0 ? first : FEATURES;
        driver_start(i, features[i]);
    }
    while (finished < ORDERS) {
        send_some();
        live();
        if (random_below(&seed, 40) == 0) {
            reset_driver((unsigned)random_below(&seed, CLIENTS));
        }
        if (has_disk_resets && random_below(&seed, 20) == 0) {
            fail_disk();
        }
    }
    fixture.room = CLIENTS * STORAGE_TRANSFERS;
    storage_set_disk(&fixture.storage, &fixture.disk);
    settle();
    check_finished();
    assert_true(repeated_lives > 100 && resets > 20 && flushes_checked > 300);
    assert_int_equal(has_disk_resets, disk_resets != 0);
    for (unsigned i = 0; i < CLIENTS; i++) {
        assert_int_equal(fixture.drivers[i].failures, 0);
    }
    fixture_end();
}

static void test_lives(void **state)
{
    (void)state;
    seed = 1;
    exchange(FEATURES, false);
    exchange(FEATURES & ~VIRTIO_BLK_F_FLUSH, true);
    exchange(VIRTIO_F_VERSION_1, true);
    exchange(FEATURES & ~VIRTIO_F_EVENT_IDX, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
