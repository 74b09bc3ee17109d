/* SPDX-License-Identifier: BSD-2-Clause */
/* The back-end of block devices: requests of several drivers on one disk. */
#include "storage_fixture.h"

#include <stdlib.h>
#include <string.h>

#define FEATURES (DEVICE_BLOCK_FEATURES & ~VIRTIO_BLK_F_RO)

static int set_up(void **state)
{
    (void)state;
    fixture_prepare();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fixture_end();
    return 0;
}

static void begin(void)
{
    fixture_begin();
    for (unsigned i = 0; i < CLIENTS; i++) {
        driver_start(i, fixture.setups[i].features & FEATURES);
    }
    (void)turn_round(1);
}

static void send_request(unsigned index, uint32_t type, uint64_t sector, uint32_t sectors, int fill)
{
    struct order *order = driver_order(type, sector, sectors);

    memset(order->data, fill, order->bytes);
    assert_true(driver_send(index, order));
}

/* Takes the order that is finished next. Returns its status, or -1. */
static int take_status(unsigned index)
{
    struct order *order = driver_take(index);
    int status = order == NULL ? -1 : order->status;

    free(order);
    return status;
}

static int execute(unsigned index, uint32_t type, uint64_t sector, uint32_t sectors, int fill)
{
    send_request(index, type, sector, sectors, fill);
    settle();
    return take_status(index);
}

/* Returns true if these sectors of the disk have this content. */
static bool is_filled(const uint8_t (*sectors)[SECTOR], uint64_t first, unsigned count,
                      uint8_t with)
{
    for (uint64_t i = first; i < first + count; i++) {
        for (unsigned at = 0; at < SECTOR; at++) {
            if (sectors[i][at] != with) {
                return false;
            }
        }
    }
    return true;
}

static void test_each_client_has_its_range(void **state)
{
    (void)state;
    begin();
    for (unsigned i = 0; i < CLIENTS; i++) {
        assert_int_equal(execute(i, VIRTIO_BLOCK_TYPE_OUT, 0, CLIENT_SECTORS, (int)i + 1), 0);
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct order *order = driver_order(VIRTIO_BLOCK_TYPE_IN, 10, 200);

        assert_true(is_filled(fixture.cached, (uint64_t)i * CLIENT_SECTORS, CLIENT_SECTORS,
                              (uint8_t)(i + 1)));
        assert_true(driver_send(i, order));
        settle();
        assert_ptr_equal(driver_take(i), order);
        assert_int_equal(order->status, 0);
        assert_int_equal(order->data[0], i + 1);
        assert_int_equal(order->data[200 * SECTOR - 1], i + 1);
        free(order);
        assert_int_equal(execute(i, VIRTIO_BLOCK_TYPE_IN, CLIENT_SECTORS, 1, 0),
                         VIRTIO_BLOCK_STATUS_ERROR);
        assert_true(fixture.drivers[i].interrupts >= 3);
    }
}

static void test_setups(void **state)
{
    struct storage_client_setup *setups = fixture.setups;

    (void)state;
    setups[1].start = CLIENT_SECTORS - 1;
    assert_non_null(storage_init(&fixture.storage, fixture.clients, setups, 2, NULL, NULL));
    setups[0].features |= VIRTIO_BLK_F_RO;
    assert_non_null(storage_init(&fixture.storage, fixture.clients, setups, 2, NULL, NULL));
    setups[1].features |= VIRTIO_BLK_F_RO;
    assert_null(storage_init(&fixture.storage, fixture.clients, setups, 2, NULL, NULL));
    setups[1].sectors = 0;
    assert_non_null(storage_init(&fixture.storage, fixture.clients, setups, 2, NULL, NULL));
    setups[1].sectors = UINT64_MAX;
    assert_non_null(storage_init(&fixture.storage, fixture.clients, setups, 2, NULL, NULL));
    setups[1].sectors = 1;
    setups[1].start = UINT64_MAX;
    assert_non_null(storage_init(&fixture.storage, fixture.clients, setups, 2, NULL, NULL));
    assert_non_null(storage_init(&fixture.storage, fixture.clients, setups, STORAGE_CLIENTS_MAX + 1,
                                 NULL, NULL));
}

/* A client without a range: its requests wait for the disk, and fail. With one they are executed.
 */
static void test_ranges_that_are_known_later(void **state)
{
    const struct storage_disk closed = {.state = STORAGE_CLOSED};

    (void)state;
    fixture.setups[1].start = STORAGE_NOWHERE;
    fixture.setups[2].start = STORAGE_NOWHERE;
    begin();
    assert_int_equal(execute(1, VIRTIO_BLOCK_TYPE_OUT, 0, 1, 1), VIRTIO_BLOCK_STATUS_ERROR);
    assert_int_equal(execute(1, VIRTIO_BLOCK_TYPE_IN, 0, 1, 0), VIRTIO_BLOCK_STATUS_ERROR);
    assert_int_equal(execute(0, VIRTIO_BLOCK_TYPE_OUT, 0, 1, 1), 0);
    storage_set_disk(&fixture.storage, &closed);
    send_request(1, VIRTIO_BLOCK_TYPE_OUT, 0, 1, 7);
    settle();
    assert_int_equal(take_status(1), -1);
    assert_non_null(storage_place(&fixture.storage, 1, CLIENT_SECTORS - 1));
    assert_non_null(storage_place(&fixture.storage, 1, UINT64_MAX));
    assert_non_null(storage_place(&fixture.storage, 1, STORAGE_NOWHERE - CLIENT_SECTORS + 1));
    assert_null(storage_place(&fixture.storage, 1, CLIENT_SECTORS));
    assert_non_null(storage_place(&fixture.storage, 2, 2 * CLIENT_SECTORS - 1));
    fixture.setups[1].start = CLIENT_SECTORS;
    storage_set_disk(&fixture.storage, &fixture.disk);
    settle();
    assert_int_equal(take_status(1), 0);
    assert_true(is_filled(fixture.cached, CLIENT_SECTORS, 1, 7));
    assert_int_equal(execute(2, VIRTIO_BLOCK_TYPE_IN, 0, 1, 0), VIRTIO_BLOCK_STATUS_ERROR);
}

/* A disk that claims to have any number of sectors. */
static void test_client_without_a_range_on_the_largest_disk(void **state)
{
    (void)state;
    fixture.setups[1].start = STORAGE_NOWHERE;
    fixture.disk.sectors = UINT64_MAX;
    begin();
    assert_int_equal(execute(1, VIRTIO_BLOCK_TYPE_OUT, 0, 1, 1), VIRTIO_BLOCK_STATUS_ERROR);
}

/* A flush is submitted when all earlier writes are done, and later requests do not wait for it. */
static void test_flush_follows_writes(void **state)
{
    (void)state;
    begin();
    send_request(0, VIRTIO_BLOCK_TYPE_OUT, 0, 100, 1); /* two transfers */
    send_request(0, VIRTIO_BLOCK_TYPE_FLUSH, 0, 0, 0);
    send_request(0, VIRTIO_BLOCK_TYPE_OUT, 200, 1, 2);
    (void)turn_round(64);
    assert_int_equal(fixture.count, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(fixture.submitted[i]->kind, STORAGE_WRITE);
    }
    disk_execute(2); /* the write behind the flush */
    disk_execute(0);
    (void)turn_round(64);
    assert_int_equal(fixture.count, 1);
    assert_int_equal(take_status(0), -1);
    disk_execute(0);
    assert_int_equal(take_status(0), 0);
    assert_int_equal(take_status(0), -1);
    (void)turn_round(64);
    assert_int_equal(fixture.count, 1);
    assert_int_equal(fixture.submitted[0]->kind, STORAGE_FLUSH);
    disk_execute(0);
    assert_int_equal(take_status(0), 0);
    assert_int_equal(take_status(0), 0);
    assert_true(is_filled(fixture.stable, 0, 100, 1));
}

/* 5.2.6.2: without FLUSH, a write that is finished is stable. */
static void test_write_through(void **state)
{
    (void)state;
    fixture_begin();
    driver_start(0, FEATURES & ~VIRTIO_BLK_F_FLUSH);
    assert_int_equal(execute(0, VIRTIO_BLOCK_TYPE_OUT, 7, 2, 9), 0);
    assert_true(is_filled(fixture.stable, 7, 2, 9));
    assert_int_equal(execute(0, VIRTIO_BLOCK_TYPE_IN, 7, 2, 0), 0);
    assert_int_equal(fixture.flushes, 1);
}

static void test_disk_without_cache(void **state)
{
    (void)state;
    fixture.disk.is_write_back = false;
    begin();
    assert_int_equal(execute(0, VIRTIO_BLOCK_TYPE_OUT, 0, 1, 1), 0);
    assert_int_equal(execute(0, VIRTIO_BLOCK_TYPE_FLUSH, 0, 0, 0), 0);
    assert_int_equal(fixture.flushes, 0);
    assert_int_equal(fixture.total, 1);
}

/* Requests are finished in the order in which the driver has sent them. */
static void test_order(void **state)
{
    (void)state;
    begin();
    for (unsigned i = 0; i < 5; i++) {
        send_request(0, VIRTIO_BLOCK_TYPE_OUT, i, 1, (int)i);
    }
    (void)turn_round(64);
    assert_int_equal(fixture.count, 5);
    for (unsigned i = 4; i != 0; i--) {
        disk_execute(i);
        assert_int_equal(take_status(0), -1);
    }
    disk_execute(0);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(take_status(0), 0);
    }
}

static void test_errors_of_the_disk(void **state)
{
    (void)state;
    begin();
    fixture.has_error = true;
    assert_int_equal(execute(0, VIRTIO_BLOCK_TYPE_OUT, 0, 300, 1), VIRTIO_BLOCK_STATUS_ERROR);
    assert_int_equal(execute(0, VIRTIO_BLOCK_TYPE_IN, 0, 1, 1), VIRTIO_BLOCK_STATUS_ERROR);
    assert_int_equal(execute(0, VIRTIO_BLOCK_TYPE_FLUSH, 0, 0, 0), VIRTIO_BLOCK_STATUS_ERROR);
    assert_int_equal(fixture.clients[0].statistics.requests.errors, 3);
    fixture.has_error = false;
    assert_int_equal(execute(0, VIRTIO_BLOCK_TYPE_IN, 0, 1, 1), 0);
}

static void test_disk_that_is_too_small_or_read_only(void **state)
{
    (void)state;
    fixture.disk.sectors = CLIENT_SECTORS + 10;
    fixture.disk.is_read_only = true;
    begin();
    assert_int_equal(execute(1, VIRTIO_BLOCK_TYPE_IN, 0, 10, 0), 0);
    assert_int_equal(execute(1, VIRTIO_BLOCK_TYPE_IN, 1, 10, 0), VIRTIO_BLOCK_STATUS_ERROR);
    assert_int_equal(execute(2, VIRTIO_BLOCK_TYPE_IN, 0, 1, 0), VIRTIO_BLOCK_STATUS_ERROR);
    assert_int_equal(execute(0, VIRTIO_BLOCK_TYPE_OUT, 0, 1, 0), VIRTIO_BLOCK_STATUS_ERROR);
    assert_int_equal(execute(0, VIRTIO_BLOCK_TYPE_IN, 0, 1, 0), 0);
}

static void test_client_that_is_read_only(void **state)
{
    (void)state;
    fixture.setups[0].features |= VIRTIO_BLK_F_RO;
    begin();
    assert_int_equal(execute(0, VIRTIO_BLOCK_TYPE_OUT, 0, 1, 0), VIRTIO_BLOCK_STATUS_ERROR);
    assert_int_equal(execute(0, VIRTIO_BLOCK_TYPE_IN, 0, 1, 0), 0);
    assert_int_equal(execute(1, VIRTIO_BLOCK_TYPE_OUT, 0, 1, 0), 0);
}

/* Requests wait for a disk that is closed, and fail without one. */
static void test_states_of_the_disk(void **state)
{
    (void)state;
    fixture.disk.state = STORAGE_CLOSED;
    begin();
    send_request(0, VIRTIO_BLOCK_TYPE_OUT, 0, 1, 5);
    send_request(0, VIRTIO_BLOCK_TYPE_FLUSH, 0, 0, 0);
    settle();
    assert_int_equal(take_status(0), -1);
    fixture.disk.state = STORAGE_OPEN;
    storage_set_disk(&fixture.storage, &fixture.disk);
    settle();
    assert_int_equal(take_status(0), 0);
    assert_int_equal(take_status(0), 0);
    assert_true(is_filled(fixture.stable, 0, 1, 5));
    fixture.disk.state = STORAGE_GONE;
    storage_set_disk(&fixture.storage, &fixture.disk);
    assert_int_equal(execute(0, VIRTIO_BLOCK_TYPE_OUT, 0, 1, 5), VIRTIO_BLOCK_STATUS_ERROR);
    assert_int_equal(execute(0, VIRTIO_BLOCK_TYPE_FLUSH, 0, 0, 0), VIRTIO_BLOCK_STATUS_ERROR);
}

static void finish_all(enum storage_result result)
{
    storage_begin(&fixture.storage);
    while (fixture.count != 0) {
        storage_finished(&fixture.storage, fixture.submitted[--fixture.count], result);
    }
    storage_end(&fixture.storage);
}

/* A disk that was reset gets its transfers once more. */
static void test_transfers_once_more(void **state)
{
    (void)state;
    begin();
    send_request(0, VIRTIO_BLOCK_TYPE_OUT, 0, 100, 6);
    (void)turn_round(64);
    assert_int_equal(fixture.count, 2);
    fixture.disk.state = STORAGE_CLOSED;
    storage_set_disk(&fixture.storage, &fixture.disk);
    finish_all(STORAGE_AGAIN);
    settle();
    assert_int_equal(take_status(0), -1);
    fixture.disk.state = STORAGE_OPEN;
    storage_set_disk(&fixture.storage, &fixture.disk);
    settle();
    assert_int_equal(take_status(0), 0);
    assert_true(is_filled(fixture.cached, 0, 100, 6));
    assert_int_equal(fixture.total, 4);
}

/* A disk that is another one after its reset: smaller, and without a cache. */
static void test_disk_that_changes(void **state)
{
    (void)state;
    begin();
    send_request(0, VIRTIO_BLOCK_TYPE_FLUSH, 0, 0, 0);
    send_request(1, VIRTIO_BLOCK_TYPE_OUT, 0, 1, 1);
    (void)turn_round(64);
    assert_int_equal(fixture.count, 2);
    fixture.disk.state = STORAGE_CLOSED;
    storage_set_disk(&fixture.storage, &fixture.disk);
    finish_all(STORAGE_AGAIN);
    fixture.disk = (struct storage_disk){
        .state = STORAGE_OPEN, .sectors = CLIENT_SECTORS, .is_write_back = false};
    storage_set_disk(&fixture.storage, &fixture.disk);
    settle();
    assert_int_equal(take_status(0), VIRTIO_BLOCK_STATUS_OK);
    assert_int_equal(take_status(1), VIRTIO_BLOCK_STATUS_ERROR);
    assert_int_equal(fixture.total, 2); /* none of them was submitted again */
}

/* Each client gets a transfer in turn, whatever the others have sent. */
static void test_turns(void **state)
{
    unsigned counts[CLIENTS] = {0};

    (void)state;
    begin();
    for (unsigned i = 0; i < 8; i++) {
        send_request(0, VIRTIO_BLOCK_TYPE_OUT, 0, 300, 1);
    }
    send_request(1, VIRTIO_BLOCK_TYPE_IN, 0, 1, 0);
    send_request(2, VIRTIO_BLOCK_TYPE_IN, 0, 300, 0);
    fixture.room = 4;
    while (turn_round(1) == STORAGE_MORE) {
    }
    assert_int_equal(fixture.count, 4);
    for (unsigned i = 0; i < 4; i++) {
        counts[fixture.submitted[i]->client]++;
    }
    assert_int_equal(counts[1], 1);
    assert_true(counts[0] >= 1 && counts[2] >= 1);
    fixture.room = CLIENTS * STORAGE_TRANSFERS;
    settle();
    assert_int_equal(take_status(1), 0);
}

/* A client has so many transfers with the disk, and the disk has room for others. */
static void test_limits(void **state)
{
    (void)state;
    begin();
    for (unsigned i = 0; i < RING / 3; i++) {
        send_request(0, VIRTIO_BLOCK_TYPE_IN, i, 1, 1);
    }
    while (turn_round(64) == STORAGE_MORE) {
    }
    assert_int_equal(fixture.count, STORAGE_TRANSFERS);
    assert_int_equal(fixture.clients[0].count, STORAGE_REQUESTS);
    assert_true(storage_sleep(&fixture.storage));
    storage_wake(&fixture.storage);
    settle();
    for (unsigned i = 0; i < RING / 3; i++) {
        assert_int_equal(take_status(0), 0);
    }
}

/* A driver that starts again while a write of the earlier one is with the disk. */
static void test_reset_with_a_write_on_its_way(void **state)
{
    (void)state;
    begin();
    send_request(0, VIRTIO_BLOCK_TYPE_OUT, 0, 1, 1);
    (void)turn_round(64);
    assert_int_equal(fixture.count, 1);
    driver_reset(0);
    driver_free(0);
    (void)turn_round(64);
    assert_int_equal(fixture.drivers[0].acknowledged, 1); /* at once */
    driver_start(0, FEATURES);
    send_request(0, VIRTIO_BLOCK_TYPE_OUT, 0, 1, 2);
    (void)turn_round(64);
    assert_int_equal(fixture.count, 1); /* the new driver is not served yet */
    assert_int_equal(fixture.clients[0].state, STORAGE_CLIENT_STOPPED);
    settle();
    assert_int_equal(take_status(0), 0);
    assert_true(is_filled(fixture.cached, 0, 1, 2));
}

/* A read that ends after its driver was stopped writes nothing to the driver's memory. */
static void test_reset_with_a_read_on_its_way(void **state)
{
    (void)state;
    begin();
    send_request(0, VIRTIO_BLOCK_TYPE_IN, 0, 1, 1);
    (void)turn_round(64);
    driver_reset(0);
    driver_free(0); /* the sanitizer sees an access to it */
    disk_execute(0);
    settle();
    assert_int_equal(fixture.clients[0].state, STORAGE_CLIENT_STOPPED);
}

static void test_notifications(void **state)
{
    (void)state;
    begin();
    assert_true(storage_sleep(&fixture.storage));
    send_request(0, VIRTIO_BLOCK_TYPE_IN, 0, 1, 0);
    assert_false(storage_sleep(&fixture.storage));
    storage_wake(&fixture.storage);
    settle();
    assert_true(storage_sleep(&fixture.storage));
    assert_int_equal(take_status(0), 0);
}

/* A driver that breaks a rule is reported, and the others go on. */
static void test_driver_that_fails(void **state)
{
    (void)state;
    begin();
    fixture.drivers[0].page.queues[0].size = 3;
    driver_reset(0);
    fixture.drivers[0].page.queues[0].ready = 1;
    fixture.drivers[0].page.accepted = FEATURES;
    fixture.drivers[0].page.status = 12;
    settle();
    assert_int_equal(fixture.drivers[0].failures, 1);
    assert_int_equal(execute(1, VIRTIO_BLOCK_TYPE_IN, 0, 1, 0), 0);
    driver_reset(0);
    driver_free(0);
    driver_start(0, FEATURES | VIRTIO_BLK_F_RO); /* not offered */
    settle();
    assert_int_equal(fixture.drivers[0].failures, 2);
    driver_reset(0);
    driver_free(0);
    driver_start(0, FEATURES);
    assert_int_equal(execute(0, VIRTIO_BLOCK_TYPE_IN, 0, 1, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_client_has_its_range, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_setups, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ranges_that_are_known_later, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_client_without_a_range_on_the_largest_disk, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_flush_follows_writes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_write_through, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_disk_without_cache, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_errors_of_the_disk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_disk_that_is_too_small_or_read_only, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_client_that_is_read_only, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_states_of_the_disk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_transfers_once_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_disk_that_changes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_turns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reset_with_a_write_on_its_way, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reset_with_a_read_on_its_way, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_notifications, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_driver_that_fails, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
