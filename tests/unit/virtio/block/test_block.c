/* SPDX-License-Identifier: BSD-2-Clause */
/* The driver of block devices, against a model of a disk that finishes requests in any order. */
#include "disk_model.h"
#include "virtio/block.h"
#include <string.h>

#define REQUESTS     300u
#define REQUEST_ROOM 16384u

static struct virtio_mmio mmio;
static struct virtio_pci pci;
static struct virtio_transport *transport;
static struct virtio_block *block;
static struct virtio_block_request requests[REQUESTS];
static bool with_driver[REQUESTS];
static uint8_t memory[REQUESTS][REQUEST_ROOM];
static uint8_t expected[DISK_BYTES]; /* content of the disk, if all writes are executed */
static uint32_t seed;
static unsigned signals;

static void count_signal(void *context)
{
    assert_ptr_equal(context, &disk);
    signals++;
}

static const struct virtio_block_operations operations = {.signal = count_signal};

static const char *try_create(const struct virtio_block_parameters *parameters)
{
    const char *reason = NULL;

    transport = fake_probe(&mmio, &pci);
    block = virtio_block_create(transport, parameters, &operations, &disk, &reason);
    assert_int_equal(block == NULL, reason != NULL);
    return reason;
}

static void create(uint16_t count, uint64_t features_off)
{
    const struct virtio_block_parameters parameters = {count, features_off};

    assert_null(try_create(&parameters));
    memset(with_driver, 0, sizeof(with_driver));
    memset(expected, 0, sizeof(expected));
    seed = 1;
    signals = 0;
}

static void destroy(void)
{
    assert_true(virtio_block_stop(block));
    assert_null(virtio_block_finished(block));
    assert_int_equal(virtio_block_in_flight(block), 0);
    virtio_block_free(block);
    assert_int_equal(fake_allocations, 0);
}

static int set_up(void **state)
{
    (void)state;
    disk_prepare(FAKE_MMIO, 0);
    return 0;
}

static uint32_t random_below(uint32_t limit)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % limit;
}

/* Describes request `i`: so many sectors in so many segments. */
static struct virtio_block_request *describe(unsigned i, enum virtio_block_kind kind,
                                             uint64_t sector, uint32_t sectors, unsigned segments)
{
    struct virtio_block_request *request = &requests[i];
    uint32_t rest = sectors * 512;
    uint8_t *at = memory[i];

    assert_true(!with_driver[i] && rest <= REQUEST_ROOM);
    *request = (struct virtio_block_request){
        .owner = request, .kind = kind, .sector = sector, .segment_count = segments};
    for (unsigned each = 0; each < segments; each++) {
        uint32_t bytes = each + 1 == segments ? rest : rest / segments;

        request->segment[each] = (struct virtio_block_segment){at, bytes};
        at += bytes;
        rest -= bytes;
    }
    return request;
}

static enum virtio_block_answer submit(unsigned i)
{
    enum virtio_block_answer answer = virtio_block_submit(block, &requests[i]);

    with_driver[i] = answer == VIRTIO_BLOCK_ACCEPTED;
    return answer;
}

/* Takes a finished request. Returns its number, or REQUESTS. */
static unsigned finished(void)
{
    struct virtio_block_request *request = virtio_block_finished(block);
    unsigned i;

    if (request == NULL) {
        return REQUESTS;
    }
    i = (unsigned)(request - requests);
    assert_true(i < REQUESTS && with_driver[i]);
    assert_ptr_equal(request->owner, request);
    with_driver[i] = false;
    return i;
}

/* Executes one request alone. */
static enum virtio_block_result execute(unsigned i)
{
    assert_int_equal(submit(i), VIRTIO_BLOCK_ACCEPTED);
    virtio_block_kick(block);
    disk_take();
    assert_int_equal(disk.count, 1);
    disk_finish(0);
    assert_int_equal(finished(), i);
    assert_int_equal(finished(), REQUESTS);
    return requests[i].result;
}

static void test_geometry(void **state)
{
    const struct virtio_block_geometry *geometry;

    (void)state;
    disk_configure(4, 1); /* the upper half of the capacity */
    disk_configure(20, 4096);
    create(0, 0);
    geometry = virtio_block_geometry(block);
    assert_int_equal(geometry->sectors, DISK_SECTORS + (UINT64_C(1) << 32));
    assert_int_equal(geometry->block_bytes, 4096);
    assert_int_equal(geometry->segments_max, 16);
    assert_int_equal(geometry->segment_bytes_max, 4096);
    assert_true(geometry->is_write_back && !geometry->is_read_only);
    assert_int_equal(disk.device.status, 0x0f);
    assert_true((virtio_block_features(block) & VIRTIO_BLK_F_FLUSH) != 0);
    destroy();
}

static void test_a_device_without_features(void **state)
{
    const struct virtio_block_geometry *geometry;

    (void)state;
    disk.device.offered = VIRTIO_F_VERSION_1 | VIRTIO_BLK_F_RO | fake_ring_features;
    memset(&disk.device.config[8], 0, 16);
    create(0, 0);
    geometry = virtio_block_geometry(block);
    assert_int_equal(geometry->block_bytes, 512);
    assert_true(geometry->segments_max > 1);
    assert_int_equal(geometry->segment_bytes_max, fake_pool == NULL ? UINT32_MAX : 4096);
    assert_true(!geometry->is_write_back && geometry->is_read_only);
    describe(0, VIRTIO_BLOCK_WRITE, 0, 1, 1);
    assert_int_equal(submit(0), VIRTIO_BLOCK_INVALID);
    describe(0, VIRTIO_BLOCK_FLUSH, 0, 0, 0);
    assert_int_equal(submit(0), VIRTIO_BLOCK_INVALID);
    describe(0, VIRTIO_BLOCK_READ, 63, 1, 1);
    assert_int_equal(execute(0), VIRTIO_BLOCK_DONE);
    destroy();
}

static void test_configurations_that_make_no_sense(void **state)
{
    const struct virtio_block_parameters parameters = {0};
    static const struct {
        unsigned offset;
        uint32_t value;
    } bad[] = {{4, UINT32_MAX}, {8, 0}, {12, 0}, {20, 0}, {20, 256}, {20, 513}, {20, 131072}};

    (void)state;
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        disk_prepare(FAKE_MMIO, 0);
        disk_configure(bad[i].offset, bad[i].value);
        assert_non_null(try_create(&parameters));
        assert_int_equal(fake_allocations, 0);
    }
    disk_prepare(FAKE_MMIO, 0);
    disk.device.config_changes = UINT32_MAX;
    assert_non_null(try_create(&parameters));
    disk_prepare(FAKE_MMIO, 0);
    disk.device.queue[0].size_max = 0;
    assert_non_null(try_create(&parameters));
    disk_prepare(FAKE_MMIO, 0);
    disk.device.queue[0].size_max = 2;
    assert_non_null(try_create(&parameters));
    disk_prepare(FAKE_MMIO, 0);
    disk.device.device_id = 1;
    assert_string_equal(try_create(&parameters), "not a block device");
    assert_int_equal(fake_allocations, 0);
}

static void test_no_memory(void **state)
{
    const struct virtio_block_parameters parameters = {0};

    (void)state;
    for (unsigned left = 0; left < (fake_pool == NULL ? 4 : 7); left++) {
        disk_prepare(FAKE_MMIO, 0);
        fake_allocations_left = left;
        assert_non_null(try_create(&parameters));
        assert_int_equal(fake_allocations, 0);
    }
    fake_allocations_left = UINT32_MAX;
    disk_prepare(FAKE_MMIO, 0);
    create(0, 0);
    destroy();
}

static void fill(unsigned i, uint32_t bytes)
{
    for (uint32_t at = 0; at < bytes; at++) {
        memory[i][at] = (uint8_t)random_below(256);
    }
}

static void test_reads_and_writes(void **state)
{
    (void)state;
    create(0, 0);
    for (unsigned round = 0; round < 500; round++) {
        uint32_t sectors = 1 + random_below(30);
        uint32_t sector = random_below(DISK_SECTORS - sectors + 1);
        unsigned segments = 1 + random_below(sectors < 8 ? sectors : 8);

        describe(0, VIRTIO_BLOCK_WRITE, sector, sectors, segments);
        fill(0, sectors * 512);
        memcpy(&expected[sector * 512], memory[0], (size_t)sectors * 512);
        assert_int_equal(execute(0), VIRTIO_BLOCK_DONE);
        assert_true(disk.segments >= segments || fake_pool != NULL); /* slots are filled */
        assert_true(disk.largest <= 4096);
        sectors = 1 + random_below(30);
        sector = random_below(DISK_SECTORS - sectors + 1);
        describe(1, VIRTIO_BLOCK_READ, sector, sectors, 1 + random_below(8));
        memset(memory[1], 0xee, sizeof(memory[1]));
        assert_int_equal(execute(1), VIRTIO_BLOCK_DONE);
        assert_memory_equal(memory[1], &expected[sector * 512], (size_t)sectors * 512);
    }
    assert_memory_equal(disk.cached, expected, sizeof(expected));
    assert_int_equal(disk.largest, 4096);
    destroy();
}

/* Sends requests, each with a sector of its own, and finishes them in any order. */
static void exchange(uint16_t count)
{
    unsigned done = 0, full = 0;
    uint32_t next = 0;

    while (done < 3000) {
        unsigned i = next % REQUESTS;

        if (!with_driver[i] && random_below(3) != 0) {
            describe(i, VIRTIO_BLOCK_READ, random_below(DISK_SECTORS), 1, 1);
            switch (submit(i)) {
            case VIRTIO_BLOCK_ACCEPTED:
                next++;
                continue;
            case VIRTIO_BLOCK_FULL:
                full++;
                break;
            default:
                fail();
            }
        }
        virtio_block_kick(block);
        disk_take();
        assert_true(count == 0 || disk.count <= count);
        if (disk.count != 0) {
            bool is_ordered = (fake->accepted & VIRTIO_F_IN_ORDER) != 0;

            disk_finish(is_ordered ? 0 : random_below(disk.count));
        }
        while (random_below(2) == 0 && (i = finished()) != REQUESTS) {
            assert_int_equal(requests[i].result, VIRTIO_BLOCK_DONE);
            assert_memory_equal(memory[i], &disk.cached[requests[i].sector * 512], 512);
            done++;
        }
    }
    while (disk.count != 0) {
        disk_finish(0);
    }
    while (finished() != REQUESTS) {
    }
    assert_true(count == 0 || full > 0);
}

static void test_many_requests(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        static const uint64_t off[] = {0, VIRTIO_F_INDIRECT_DESC, VIRTIO_F_EVENT_IDX,
                                       VIRTIO_F_INDIRECT_DESC | VIRTIO_F_EVENT_IDX};

        disk_prepare(FAKE_MMIO, 0);
        create(i % 2 == 0 ? 7 : 200, off[i]);
        for (unsigned at = 0; at < DISK_BYTES; at++) {
            disk.cached[at] = (uint8_t)random_below(256);
        }
        exchange(i % 2 == 0 ? 7 : 0);
        destroy();
    }
}

static void test_flush(void **state)
{
    (void)state;
    create(0, 0);
    describe(0, VIRTIO_BLOCK_WRITE, 3, 2, 1);
    fill(0, 1024);
    assert_int_equal(execute(0), VIRTIO_BLOCK_DONE);
    assert_int_equal(disk.stable[3 * 512], 0);
    describe(1, VIRTIO_BLOCK_FLUSH, 0, 0, 0);
    assert_int_equal(execute(1), VIRTIO_BLOCK_DONE);
    assert_memory_equal(&disk.stable[3 * 512], memory[0], 1024);
    describe(1, VIRTIO_BLOCK_FLUSH, 0, 1, 1);
    assert_int_equal(submit(1), VIRTIO_BLOCK_INVALID);
    destroy();
}

static void refuse(enum virtio_block_kind kind, uint64_t sector, uint32_t sectors,
                   unsigned segments)
{
    describe(0, kind, sector, sectors, segments);
    assert_int_equal(submit(0), VIRTIO_BLOCK_INVALID);
}

static void test_requests_that_are_refused(void **state)
{
    (void)state;
    disk_configure(8, 512);
    create(0, 0);
    refuse(VIRTIO_BLOCK_READ, DISK_SECTORS, 1, 1);
    refuse(VIRTIO_BLOCK_WRITE, DISK_SECTORS - 1, 2, 1);
    refuse(VIRTIO_BLOCK_READ, UINT64_MAX, 1, 1);
    refuse(VIRTIO_BLOCK_READ, 0, 17, 1); /* more pieces than SEG_MAX allows */
    refuse(VIRTIO_BLOCK_READ, 0, 0, 1);
    describe(0, VIRTIO_BLOCK_READ, 0, 1, 1)->segment_count = 0;
    assert_int_equal(submit(0), VIRTIO_BLOCK_INVALID);
    describe(0, VIRTIO_BLOCK_READ, 0, 1, 1)->segment_count = VIRTIO_BLOCK_SEGMENTS_MAX + 1;
    assert_int_equal(submit(0), VIRTIO_BLOCK_INVALID);
    describe(0, VIRTIO_BLOCK_READ, 0, 1, 1)->segment[0].bytes = 511;
    assert_int_equal(submit(0), VIRTIO_BLOCK_INVALID);
    describe(0, VIRTIO_BLOCK_READ, 0, 16, 1);
    assert_int_equal(execute(0), VIRTIO_BLOCK_DONE);
    assert_int_equal(disk.segments, 16);
    destroy();
}

static void test_errors_of_the_device(void **state)
{
    (void)state;
    create(0, 0);
    for (int status = 1; status <= 3; status++) {
        disk.status = status;
        describe(0, VIRTIO_BLOCK_READ, 0, 1, 1);
        assert_int_equal(execute(0), VIRTIO_BLOCK_FAILED);
    }
    disk.status = 0;
    disk.is_unwritten = true;
    describe(0, VIRTIO_BLOCK_READ, 0, 1, 1);
    assert_int_equal(execute(0), VIRTIO_BLOCK_FAILED);
    assert_int_equal(virtio_block_statistics(block)->failed, 4);
    assert_null(virtio_block_broken(block));
    destroy();
}

static void take_lost(unsigned count)
{
    unsigned i;

    for (; count != 0; count--) {
        i = finished();
        assert_true(i != REQUESTS);
        assert_int_equal(requests[i].result, VIRTIO_BLOCK_LOST);
    }
    assert_int_equal(finished(), REQUESTS);
}

static void submit_reads(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        describe(i, VIRTIO_BLOCK_READ, i, 1, 1);
        assert_int_equal(submit(i), VIRTIO_BLOCK_ACCEPTED);
    }
    virtio_block_kick(block);
}

static void test_stop_returns_requests(void **state)
{
    (void)state;
    create(0, 0);
    submit_reads(5);
    disk_take();
    disk_finish(0);
    assert_int_equal(finished(), 0);
    assert_true(virtio_block_stop(block));
    assert_int_equal(disk.device.status, 0);
    take_lost(4);
    describe(0, VIRTIO_BLOCK_READ, 0, 1, 1);
    assert_int_equal(submit(0), VIRTIO_BLOCK_STOPPED);
    destroy();
}

/* 2.4.1: memory stays with the device until it has confirmed the reset. */
static void test_reset_that_is_not_confirmed(void **state)
{
    (void)state;
    create(0, 0);
    submit_reads(2);
    disk.device.stuck_in_reset = true;
    assert_false(virtio_block_stop(block));
    assert_int_equal(finished(), REQUESTS);
    assert_true(fake_allocations != 0);
    disk.device.stuck_in_reset = false;
    assert_true(virtio_block_stop(block));
    take_lost(2);
    destroy();
}

static void run_interrupts(void)
{
    for (unsigned rounds = 0; fake_raised(); rounds++) {
        assert_true(rounds < 100);
        if (!disk.device.line) {
            memset(disk.device.raised, 0, sizeof(disk.device.raised));
        }
        (void)virtio_block_interrupt(block);
    }
}

/* Requests are finished by interrupts alone. */
static void exchange_by_interrupts(void)
{
    unsigned done = 0;

    create(0, 0);
    while (done < 500) {
        unsigned before = signals;

        submit_reads(3);
        disk_take();
        assert_true(virtio_block_rearm(block));
        for (unsigned i = 0; i < 3; i++) {
            disk_finish(0);
        }
        run_interrupts();
        assert_true(signals > before);
        do {
            while (finished() != REQUESTS) {
                done++;
            }
        } while (!virtio_block_rearm(block));
        assert_int_equal(virtio_block_in_flight(block), 0);
    }
    destroy();
}

static void test_interrupts(void **state)
{
    (void)state;
    exchange_by_interrupts();
    disk_prepare(FAKE_PCI, 0);
    exchange_by_interrupts();
    disk_prepare(FAKE_PCI, 1);
    exchange_by_interrupts();
    disk_prepare(FAKE_PCI, 2);
    exchange_by_interrupts();
    disk_prepare(FAKE_MMIO, 0);
    disk.device.offered &= ~VIRTIO_F_EVENT_IDX;
    exchange_by_interrupts();
}

/* A request that is finished before interrupts are enabled. */
static void test_rearm_finds_work(void **state)
{
    (void)state;
    create(0, 0);
    submit_reads(1);
    disk_take();
    disk_finish(0);
    assert_false(virtio_block_rearm(block));
    assert_int_equal(finished(), 0);
    assert_true(virtio_block_rearm(block));
    destroy();
}

static void test_too_many_interrupts(void **state)
{
    unsigned count = 0;

    (void)state;
    create(0, 0);
    while (!virtio_block_interrupt(block)) {
        assert_true(count++ < 100);
    }
    assert_true(virtio_block_rearm(block));
    assert_false(virtio_block_interrupt(block));
    destroy();
}

static void test_other_devices_on_the_line(void **state)
{
    (void)state;
    disk_prepare(FAKE_PCI, 0);
    create(0, 0);
    for (unsigned i = 0; i < 1000; i++) {
        assert_false(virtio_block_interrupt(block));
    }
    assert_int_equal(signals, 0);
    destroy();
}

static void expect_broken(void)
{
    assert_non_null(virtio_block_broken(block));
    assert_false(virtio_block_rearm(block)); /* the owner has not seen it */
    assert_true(virtio_block_rearm(block));
    describe(9, VIRTIO_BLOCK_READ, 0, 1, 1);
    assert_int_equal(submit(9), VIRTIO_BLOCK_STOPPED);
    assert_true(virtio_block_stop(block));
}

static void test_a_device_that_fails(void **state)
{
    static const uint8_t statuses[] = {0x4f, 0xff, 0x00};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        disk_prepare(FAKE_MMIO, 0);
        create(0, 0);
        submit_reads(2);
        disk.device.status = statuses[i];
        virtio_block_watch(block);
        expect_broken();
        take_lost(2);
        destroy();
    }
}

/* The configuration's interrupt says that the device asks for a reset. */
static void test_configuration_interrupt(void **state)
{
    (void)state;
    create(0, 0);
    assert_true(virtio_block_rearm(block));
    disk.device.status |= VIRTIO_STATUS_NEEDS_RESET;
    fake_config_interrupt();
    run_interrupts();
    assert_int_equal(signals, 1);
    assert_false(virtio_block_rearm(block));
    assert_non_null(virtio_block_broken(block));
    destroy();
}

static void test_a_request_that_nobody_sent(void **state)
{
    (void)state;
    create(0, 0);
    submit_reads(2);
    disk_take();
    fake_push(0, 99, 1);
    assert_int_equal(finished(), REQUESTS);
    expect_broken();
    take_lost(2);
    destroy();
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_geometry, set_up),
        cmocka_unit_test_setup(test_a_device_without_features, set_up),
        cmocka_unit_test_setup(test_configurations_that_make_no_sense, set_up),
        cmocka_unit_test_setup(test_no_memory, set_up),
        cmocka_unit_test_setup(test_reads_and_writes, set_up),
        cmocka_unit_test_setup(test_many_requests, set_up),
        cmocka_unit_test_setup(test_flush, set_up),
        cmocka_unit_test_setup(test_requests_that_are_refused, set_up),
        cmocka_unit_test_setup(test_errors_of_the_device, set_up),
        cmocka_unit_test_setup(test_stop_returns_requests, set_up),
        cmocka_unit_test_setup(test_reset_that_is_not_confirmed, set_up),
        cmocka_unit_test_setup(test_interrupts, set_up),
        cmocka_unit_test_setup(test_rearm_finds_work, set_up),
        cmocka_unit_test_setup(test_too_many_interrupts, set_up),
        cmocka_unit_test_setup(test_other_devices_on_the_line, set_up),
        cmocka_unit_test_setup(test_a_device_that_fails, set_up),
        cmocka_unit_test_setup(test_configuration_interrupt, set_up),
        cmocka_unit_test_setup(test_a_request_that_nobody_sent, set_up),
    };

    fake_choose_ring(count, arguments);
    return cmocka_run_group_tests_name("block", tests, NULL, NULL);
}
