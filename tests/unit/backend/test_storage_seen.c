/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the counters of the back-end of block devices, and their report for tools. */
#include "storage_fixture.h"

#include "backend/storage_report.h"
#include <stdlib.h>
#include <string.h>

#define FEATURES (DEVICE_BLOCK_FEATURES & ~VIRTIO_BLK_F_RO)

/* Its type is none of 5.2.6. */
#define TYPE_UNKNOWN 0x77u

#define SECTORS(count) ((uint64_t)(count) * SECTOR) /* in bytes */

static struct storage_report report;
static const struct storage_report_device devices[CLIENTS] = {
    {.device = "data", .client = "a", .doorbells = 9},
    {.device = "logs", .client = "b"},
    {.device = "a-name-of-16-chars", .client = "c"},
};
static const struct storage_report_disk disk = {.starts = 3, .failures = 2};

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

static void update(uint64_t now)
{
    storage_report_update(&report, &fixture.storage, devices, &disk, now);
}

static void begin(void)
{
    fixture_begin();
    for (unsigned i = 0; i < CLIENTS; i++) {
        driver_start(i, FEATURES);
    }
    (void)turn_round(1);
    storage_report_begin(&report, 5, 10);
}

static void send_request(unsigned index, uint32_t type, uint64_t sector, uint32_t sectors)
{
    assert_true(driver_send(index, driver_order(type, sector, sectors)));
}

static void take_all(unsigned index)
{
    struct order *order;

    while ((order = driver_take(index)) != NULL) {
        free(order);
    }
}

static void execute(unsigned index, uint32_t type, uint64_t sector, uint32_t sectors)
{
    send_request(index, type, sector, sectors);
    settle();
    take_all(index);
}

static void expect_counters(const struct storage_counters *found, struct storage_counters expected)
{
    assert_int_equal(found->reads, expected.reads);
    assert_int_equal(found->read_bytes, expected.read_bytes);
    assert_int_equal(found->writes, expected.writes);
    assert_int_equal(found->written_bytes, expected.written_bytes);
    assert_int_equal(found->flushes, expected.flushes);
    assert_int_equal(found->errors, expected.errors);
}

static void test_report(void **state)
{
    const struct storage_record *first = &report.records[0];

    (void)state;
    begin();
    assert_int_equal(report.record_count, 0);
    execute(0, VIRTIO_BLOCK_TYPE_OUT, 0, 100); /* two transfers */
    execute(0, VIRTIO_BLOCK_TYPE_IN, 10, 3);
    execute(0, VIRTIO_BLOCK_TYPE_FLUSH, 0, 0);
    execute(1, VIRTIO_BLOCK_TYPE_IN, 0, 1);
    update(20);
    assert_int_equal(report.life, 5);
    assert_int_equal(report.started, 10);
    assert_int_equal(report.updated, 20);
    assert_int_equal(report.record_count, CLIENTS);
    assert_int_equal(report.record_bytes, sizeof(struct storage_record));
    assert_string_equal(first->device, "data");
    assert_string_equal(first->client, "a");
    assert_int_equal(first->state, STORAGE_CLIENT_RUNNING);
    expect_counters(&first->requests,
                    (struct storage_counters){1, SECTORS(3), 1, SECTORS(100), 1, 0});
    assert_int_equal(first->refused, 0);
    assert_int_equal(first->in_flight, 0);
    assert_int_equal(first->doorbells, 9);
    assert_int_equal(first->interrupts, fixture.drivers[0].interrupts);
    assert_int_equal(first->starts, 1);
    expect_counters(&report.records[1].requests, (struct storage_counters){1, SECTOR, 0, 0, 0, 0});
    assert_string_equal(report.records[2].device, "a-name-of-16-ch");
    assert_int_equal(report.disk.state, STORAGE_OPEN);
    assert_int_equal(report.disk.sectors, DISK_SECTORS);
    expect_counters(&report.disk.transfers,
                    (struct storage_counters){2, SECTORS(4), 2, SECTORS(100), 1, 0});
    assert_int_equal(report.disk.starts, 3);
    assert_int_equal(report.disk.failures, 2);
}

/* An error of the disk, and sectors that it does not have, are not the driver's mistake. */
static void test_errors(void **state)
{
    (void)state;
    fixture.disk.sectors = fixture.setups[2].start;
    begin();
    fixture.has_error = true;
    execute(0, VIRTIO_BLOCK_TYPE_OUT, 0, 300); /* five transfers */
    execute(0, VIRTIO_BLOCK_TYPE_FLUSH, 0, 0);
    fixture.has_error = false;
    execute(2, VIRTIO_BLOCK_TYPE_IN, 0, 1);
    update(20);
    expect_counters(&report.records[0].requests, (struct storage_counters){.errors = 2});
    expect_counters(&report.records[2].requests, (struct storage_counters){.errors = 1});
    assert_int_equal(report.records[0].refused, 0);
    assert_true(report.disk.transfers.errors >= 2);
    assert_int_equal(report.disk.transfers.writes, 0);
}

static void test_refused_requests(void **state)
{
    struct order *order = driver_order(VIRTIO_BLOCK_TYPE_IN, 0, 0);
    struct virtqueue_segment header = {virtio_platform_dma_address(order->header),
                                       sizeof(order->header)};

    (void)state;
    begin();
    order->status = VIRTIO_BLOCK_STATUS_OK; /* nobody writes it */
    execute(0, VIRTIO_BLOCK_TYPE_IN, CLIENT_SECTORS, 1);
    execute(0, TYPE_UNKNOWN, 0, 0);
    /* There is no place for the status. */
    assert_true(virtqueue_add(&fixture.drivers[0].queue, &header, 1, 0, order));
    (void)virtqueue_publish(&fixture.drivers[0].queue);
    settle();
    take_all(0);
    update(20);
    assert_int_equal(report.records[0].refused, 3);
    expect_counters(&report.records[0].requests, (struct storage_counters){0});
    assert_int_equal(report.disk.transfers.reads, 0);
}

static void test_requests_in_flight(void **state)
{
    (void)state;
    begin();
    send_request(0, VIRTIO_BLOCK_TYPE_OUT, 0, 100); /* two transfers */
    send_request(0, VIRTIO_BLOCK_TYPE_FLUSH, 0, 0); /* none before the write has ended */
    send_request(1, VIRTIO_BLOCK_TYPE_IN, 0, 1);
    (void)turn_round(64);
    update(20);
    assert_int_equal(report.records[0].in_flight, 2);
    assert_int_equal(report.records[1].in_flight, 1);
    assert_int_equal(report.disk.in_flight, 3);
    expect_counters(&report.records[0].requests, (struct storage_counters){0});
    settle();
    update(30);
    assert_int_equal(report.records[0].in_flight, 0);
    assert_int_equal(report.disk.in_flight, 0);
    take_all(0);
    take_all(1);
}

/* The disk still has the transfer of a driver that was stopped, and it counts for the disk alone.
 */
static void test_driver_that_stops(void **state)
{
    (void)state;
    begin();
    execute(0, VIRTIO_BLOCK_TYPE_OUT, 0, 1);
    send_request(0, VIRTIO_BLOCK_TYPE_OUT, 1, 1);
    (void)turn_round(64);
    driver_reset(0);
    driver_free(0);
    (void)turn_round(64);
    update(20);
    assert_int_equal(report.records[0].state, STORAGE_CLIENT_STOPPED);
    assert_int_equal(report.records[0].in_flight, 0);
    assert_int_equal(report.disk.in_flight, 1);
    settle();
    driver_start(0, FEATURES);
    settle();
    update(30);
    assert_int_equal(report.records[0].state, STORAGE_CLIENT_RUNNING);
    assert_int_equal(report.records[0].starts, 2);
    assert_int_equal(report.records[0].resumed, 1); /* not the one after the reset */
    expect_counters(&report.records[0].requests, (struct storage_counters){0, 0, 1, SECTOR, 0, 0});
    expect_counters(&report.disk.transfers, (struct storage_counters){0, 0, 2, SECTORS(2), 0, 0});
}

static void test_driver_that_fails(void **state)
{
    (void)state;
    begin();
    driver_reset(0);
    driver_free(0);
    driver_start(0, FEATURES | VIRTIO_BLK_F_RO); /* not offered */
    settle();
    update(20);
    assert_int_equal(report.records[0].state, STORAGE_CLIENT_FAILED);
    assert_int_equal(report.records[0].failures, 1);
    assert_int_equal(report.records[1].state, STORAGE_CLIENT_RUNNING);
}

/* A transfer that is submitted once more counts once. */
static void test_disk_that_is_restarted(void **state)
{
    (void)state;
    begin();
    send_request(0, VIRTIO_BLOCK_TYPE_OUT, 0, 1);
    (void)turn_round(64);
    fixture.disk.state = STORAGE_CLOSED;
    storage_set_disk(&fixture.storage, &fixture.disk);
    storage_begin(&fixture.storage);
    storage_finished(&fixture.storage, fixture.submitted[--fixture.count], STORAGE_AGAIN);
    storage_end(&fixture.storage);
    update(20);
    assert_int_equal(report.disk.state, STORAGE_CLOSED);
    assert_int_equal(report.disk.sectors, 0);
    assert_int_equal(report.disk.in_flight, 0);
    assert_int_equal(report.records[0].in_flight, 1);
    fixture.disk.state = STORAGE_OPEN;
    storage_set_disk(&fixture.storage, &fixture.disk);
    settle();
    take_all(0);
    update(30);
    expect_counters(&report.disk.transfers, (struct storage_counters){0, 0, 1, SECTOR, 0, 0});
    expect_counters(&report.records[0].requests, (struct storage_counters){0, 0, 1, SECTOR, 0, 0});
    fixture.disk.state = STORAGE_GONE;
    storage_set_disk(&fixture.storage, &fixture.disk);
    update(40);
    assert_int_equal(report.disk.state, STORAGE_GONE);
}

/* The driver goes on in the next life of the back-end, whose counters begin at 0. */
static void test_next_life(void **state)
{
    (void)state;
    begin();
    execute(0, VIRTIO_BLOCK_TYPE_OUT, 0, 1);
    fixture_begin();
    settle();
    storage_report_begin(&report, 6, 0);
    update(20);
    assert_int_equal(report.records[0].starts, 1);
    assert_int_equal(report.records[0].resumed, 1);
    expect_counters(&report.records[0].requests, (struct storage_counters){0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_report, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused_requests, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_requests_in_flight, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_driver_that_stops, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_driver_that_fails, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_disk_that_is_restarted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_next_life, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
