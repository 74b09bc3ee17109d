/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device's side of a block device: requests that this library's driver side of a queue makes
 * available, in any framing, and a driver that writes anything to its rings and requests.
 */
#include "fake.h"
#include "virtio/device_block.h"
#include "virtio/virtqueue.h"
#include <stdlib.h>
#include <string.h>

#define RING     16u
#define SECTORS  100u
#define ROOM     4096u
#define PIECES   9u
#define NO_STATE 0xeeu

static struct fake_device platform; /* unused, but for the platform's functions */
/* All memory of the process. The sanitizer sees each access that is not to the driver's. */
static const struct device_memory_region everything = {
    .start = FAKE_DMA_OFFSET + 4096,
    .bytes = UINT64_C(1) << 47,
    .here = (uint8_t *)4096,
};
static const struct device_memory memory = {.regions = &everything, .count = 1};
static struct device_block_setup setup;
static struct device_block block;
static struct device_block_request request;
static struct virtqueue queue;
static uint64_t seed;

/* A request of the driver's: all bytes that the device reads, followed by those that it writes. */
static uint8_t bytes[ROOM];
static uint32_t readable, writable;

static uint32_t random_below(uint32_t limit)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % limit;
}

static void begin(uint64_t offered, uint64_t accepted)
{
    struct virtqueue_options options = {.size = RING, .features = accepted};
    struct virtio_queue_setup described = {0};

    fake_reset_device(&platform, FAKE_MMIO, 0);
    seed = 1;
    assert_true(virtqueue_create(&queue, &options));
    virtqueue_describe(&queue, &described);
    setup = (struct device_block_setup){
        .queue = {.descriptors = described.descriptors,
                  .driver_area = described.driver_area,
                  .device_area = described.device_area,
                  .size = described.size},
        .offered = offered,
        .accepted = accepted,
        .sectors = SECTORS,
        .id = "a disk",
    };
    assert_null(device_block_check_features(offered, accepted));
    assert_null(device_block_start(&block, &memory, &setup, false));
}

static int set_up(void **state)
{
    (void)state;
    begin(DEVICE_BLOCK_FEATURES & ~VIRTIO_BLK_F_RO, DEVICE_BLOCK_FEATURES & ~VIRTIO_BLK_F_RO);
    return 0;
}

static int tear_down(void **state)
{
    uint16_t position = 0;

    (void)state;
    while (virtqueue_detach(&queue, &position) != NULL) {
    }
    virtqueue_destroy(&queue);
    assert_int_equal(fake_allocations, 0);
    return 0;
}

/* Divides bytes into at most `limit` segments. Returns their number. */
static unsigned divide(struct virtqueue_segment *segments, uint8_t *at, uint32_t rest,
                       unsigned limit)
{
    unsigned count = 0;

    while (rest != 0) {
        uint32_t piece = count + 1 == limit ? rest : 1 + random_below(rest);

        segments[count++] = (struct virtqueue_segment){virtio_platform_dma_address(at), piece};
        at += piece;
        rest -= piece;
    }
    return count;
}

/* Makes a request available, with borders of descriptors anywhere. */
static void send_bytes(void)
{
    struct virtqueue_segment segments[2 * PIECES];
    unsigned first = divide(segments, bytes, readable, 1 + random_below(5));
    unsigned second = divide(segments + first, bytes + readable, writable, 1 + random_below(5));

    assert_true(virtqueue_add(&queue, segments, first, second, bytes));
    (void)virtqueue_publish(&queue);
}

static void send_request(uint32_t type, uint64_t sector, uint32_t out, uint32_t in)
{
    assert_true(VIRTIO_BLOCK_HEADER_BYTES + out + in < ROOM);
    readable = VIRTIO_BLOCK_HEADER_BYTES + out;
    writable = in + 1;
    memset(bytes, NO_STATE, sizeof(bytes));
    memset(bytes, 0, VIRTIO_BLOCK_HEADER_BYTES);
    memcpy(bytes, &type, sizeof(type));
    memcpy(bytes + 8, &sector, sizeof(sector));
    send_bytes();
}

static uint8_t *data(void)
{
    return bytes + VIRTIO_BLOCK_HEADER_BYTES;
}

static uint8_t status(void)
{
    return bytes[readable + writable - 1];
}

/* Finishes the request, and checks the length that the driver is told. */
static void finish(uint32_t length)
{
    uint32_t used = UINT32_MAX;

    device_block_finish(&block, &request);
    (void)device_queue_publish(&block.queue);
    assert_ptr_equal(virtqueue_take(&queue, &used), bytes);
    assert_int_equal(used, length);
}

static void expect_answer(uint8_t expected, uint32_t length)
{
    assert_true(device_block_take(&block, &request));
    assert_int_equal(request.kind, DEVICE_BLOCK_ANSWERED);
    finish(length);
    assert_int_equal(status(), expected);
}

static void test_features(void **state)
{
    const uint64_t offered = DEVICE_BLOCK_FEATURES & ~VIRTIO_BLK_F_RO;

    (void)state;
    assert_null(device_block_check_features(offered, VIRTIO_F_VERSION_1));
    assert_null(device_block_check_features(offered, offered));
    assert_non_null(device_block_check_features(offered, 0));
    assert_non_null(device_block_check_features(offered, offered | VIRTIO_BLK_F_RO));
    assert_non_null(
        device_block_check_features(UINT64_MAX, VIRTIO_F_VERSION_1 | VIRTIO_F_RING_PACKED));
    assert_true(device_block_is_write_back(&block));
}

static void test_write(void **state)
{
    uint8_t copy[1024];

    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        uint32_t sector = random_below(SECTORS - 1);
        uint32_t start = random_below(1024);

        send_request(VIRTIO_BLOCK_TYPE_OUT, sector, 1024, 0);
        for (unsigned at = 0; at < 1024; at++) {
            data()[at] = (uint8_t)random_below(256);
        }
        assert_true(device_block_take(&block, &request));
        assert_int_equal(request.kind, DEVICE_BLOCK_WRITE);
        assert_int_equal(request.sector, sector);
        assert_int_equal(request.bytes, 1024);
        device_block_get(&request, start, copy, 1024 - start);
        assert_memory_equal(copy, data() + start, 1024 - start);
        assert_int_equal(status(), NO_STATE);
        finish(1);
        assert_int_equal(status(), VIRTIO_BLOCK_STATUS_OK);
    }
    assert_int_equal(block.statistics.writes, 1000);
}

static void test_read(void **state)
{
    uint8_t copy[1536];

    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        uint32_t border = random_below(1536);

        for (unsigned at = 0; at < 1536; at++) {
            copy[at] = (uint8_t)random_below(256);
        }
        send_request(VIRTIO_BLOCK_TYPE_IN, SECTORS - 3, 0, 1536);
        assert_true(device_block_take(&block, &request));
        assert_int_equal(request.kind, DEVICE_BLOCK_READ);
        assert_int_equal(request.bytes, 1536);
        device_block_put(&request, border, copy + border, 1536 - border);
        device_block_put(&request, 0, copy, border);
        finish(1537);
        assert_memory_equal(data(), copy, sizeof(copy));
        assert_int_equal(status(), VIRTIO_BLOCK_STATUS_OK);
    }
    assert_int_equal(block.statistics.reads, 1000);
}

static void test_errors_of_the_disk(void **state)
{
    (void)state;
    send_request(VIRTIO_BLOCK_TYPE_IN, 0, 0, 512);
    assert_true(device_block_take(&block, &request));
    request.status = VIRTIO_BLOCK_STATUS_ERROR;
    finish(0); /* the data was not written */
    assert_int_equal(status(), VIRTIO_BLOCK_STATUS_ERROR);
    send_request(VIRTIO_BLOCK_TYPE_OUT, 0, 512, 0);
    assert_true(device_block_take(&block, &request));
    request.status = VIRTIO_BLOCK_STATUS_ERROR;
    finish(1);
    assert_int_equal(status(), VIRTIO_BLOCK_STATUS_ERROR);
}

static void test_flush_and_identity(void **state)
{
    (void)state;
    send_request(VIRTIO_BLOCK_TYPE_FLUSH, 0, 0, 0);
    assert_true(device_block_take(&block, &request));
    assert_int_equal(request.kind, DEVICE_BLOCK_FLUSH);
    finish(1);
    assert_int_equal(status(), VIRTIO_BLOCK_STATUS_OK);
    send_request(VIRTIO_BLOCK_TYPE_GET_ID, 0, 0, VIRTIO_BLOCK_ID_BYTES);
    expect_answer(VIRTIO_BLOCK_STATUS_OK, VIRTIO_BLOCK_ID_BYTES + 1);
    assert_string_equal((char *)data(), "a disk");
    assert_int_equal(data()[VIRTIO_BLOCK_ID_BYTES - 1], 0);
    send_request(VIRTIO_BLOCK_TYPE_GET_ID, 0, 0, VIRTIO_BLOCK_ID_BYTES - 1);
    expect_answer(VIRTIO_BLOCK_STATUS_ERROR, 0);
    assert_int_equal(data()[0], NO_STATE);
}

static void test_bad_requests(void **state)
{
    static const struct {
        uint32_t type;
        uint32_t out;
        uint32_t in;
        uint64_t sector;
        uint8_t answer;
    } bad[] = {
        {VIRTIO_BLOCK_TYPE_IN, 0, 511, 0, VIRTIO_BLOCK_STATUS_ERROR},
        {VIRTIO_BLOCK_TYPE_OUT, 513, 0, 0, VIRTIO_BLOCK_STATUS_ERROR},
        {VIRTIO_BLOCK_TYPE_IN, 0, 512, SECTORS, VIRTIO_BLOCK_STATUS_ERROR},
        {VIRTIO_BLOCK_TYPE_IN, 0, 0, SECTORS + 1, VIRTIO_BLOCK_STATUS_ERROR},
        {VIRTIO_BLOCK_TYPE_OUT, 1024, 0, SECTORS - 1, VIRTIO_BLOCK_STATUS_ERROR},
        {VIRTIO_BLOCK_TYPE_OUT, 512, 0, UINT64_MAX, VIRTIO_BLOCK_STATUS_ERROR},
        {2, 512, 0, 0, VIRTIO_BLOCK_STATUS_UNSUPPORTED},
        {11, 16, 0, 0, VIRTIO_BLOCK_STATUS_UNSUPPORTED},
        {13, 16, 0, 0, VIRTIO_BLOCK_STATUS_UNSUPPORTED},
        {UINT32_MAX, 0, 512, 0, VIRTIO_BLOCK_STATUS_UNSUPPORTED},
    };
    const unsigned count = sizeof(bad) / sizeof(bad[0]);

    (void)state;
    for (unsigned i = 0; i < count; i++) {
        send_request(bad[i].type, bad[i].sector, bad[i].out, bad[i].in);
        expect_answer(bad[i].answer, bad[i].in == 0 ? 1 : 0);
    }
    assert_int_equal(block.statistics.refused, count);
    assert_null(block.queue.broken);
}

static void test_requests_that_are_too_short(void **state)
{
    (void)state;
    readable = VIRTIO_BLOCK_HEADER_BYTES - 1;
    writable = 1;
    memset(bytes, 0, sizeof(bytes));
    send_bytes();
    expect_answer(VIRTIO_BLOCK_STATUS_ERROR, 1);
    readable = 0;
    send_bytes();
    expect_answer(VIRTIO_BLOCK_STATUS_ERROR, 1);
    /* A write without a place for its status is not executed. */
    readable = VIRTIO_BLOCK_HEADER_BYTES + 512;
    writable = 0;
    bytes[0] = VIRTIO_BLOCK_TYPE_OUT;
    send_bytes();
    assert_true(device_block_take(&block, &request));
    assert_int_equal(request.kind, DEVICE_BLOCK_ANSWERED);
    finish(0);
    assert_int_equal(block.statistics.dropped, 1);
    assert_int_equal(request.status, VIRTIO_BLOCK_STATUS_ERROR);
    assert_null(block.queue.broken);
}

static void test_a_device_that_is_read_only(void **state)
{
    (void)state;
    (void)tear_down(state);
    begin(DEVICE_BLOCK_FEATURES, VIRTIO_F_VERSION_1); /* RO is offered, and not accepted */
    assert_false(device_block_is_write_back(&block));
    send_request(VIRTIO_BLOCK_TYPE_OUT, 0, 512, 0);
    expect_answer(VIRTIO_BLOCK_STATUS_ERROR, 1);
    send_request(VIRTIO_BLOCK_TYPE_IN, 0, 0, 512);
    assert_true(device_block_take(&block, &request));
    assert_int_equal(request.kind, DEVICE_BLOCK_READ);
    request.status = VIRTIO_BLOCK_STATUS_ERROR;
    finish(0);
}

/* A life that ends with requests in flight: the next one takes them again, and no other. */
static void test_lives(void **state)
{
    struct virtqueue_segment segments[2] = {{virtio_platform_dma_address(bytes), 16},
                                            {virtio_platform_dma_address(bytes + 16), 1}};
    uint32_t taken = 0, used;

    (void)state;
    memset(bytes, 0, sizeof(bytes));
    bytes[0] = VIRTIO_BLOCK_TYPE_FLUSH;
    while (taken < 70000) {
        for (unsigned i = 0; i < 5; i++) {
            assert_true(virtqueue_add(&queue, segments, 1, 1, bytes));
        }
        (void)virtqueue_publish(&queue);
        for (unsigned i = 0; i < 3; i++) {
            assert_true(device_block_take(&block, &request));
        }
        device_block_finish(&block, &request);
        device_block_finish(&block, &request);
        (void)device_queue_publish(&block.queue);
        device_block_finish(&block, &request); /* not published */
        assert_null(device_block_start(&block, &memory, &setup, true));
        for (unsigned i = 0; i < 3; i++) {
            assert_true(device_block_take(&block, &request));
            device_block_finish(&block, &request);
        }
        assert_false(device_block_take(&block, &request));
        (void)device_queue_publish(&block.queue);
        for (unsigned i = 0; i < 5; i++, taken++) {
            assert_non_null(virtqueue_take(&queue, &used));
        }
        assert_null(virtqueue_take(&queue, &used));
    }
}

/* Serves what the driver has written, whatever it is. Returns true while the queue is usable. */
static bool serve_anything(void)
{
    static uint8_t copy[1 << 16];

    for (unsigned i = 0; i < 3 * RING && device_block_take(&block, &request); i++) {
        uint32_t count = request.bytes < sizeof(copy) ? request.bytes : (uint32_t)sizeof(copy);

        switch (request.kind) {
        case DEVICE_BLOCK_READ:
        case DEVICE_BLOCK_WRITE:
            assert_true(request.sector + request.bytes / 512 <= SECTORS);
            if (request.kind == DEVICE_BLOCK_WRITE) {
                device_block_get(&request, request.bytes - count, copy, count);
            } else {
                memset(copy, 0, count);
                device_block_put(&request, request.bytes - count, copy, count);
            }
            break;
        case DEVICE_BLOCK_FLUSH:
        case DEVICE_BLOCK_ANSWERED:
        default:
            break;
        }
        device_block_finish(&block, &request);
    }
    (void)device_queue_publish(&block.queue);
    return block.queue.broken == NULL;
}

/* A driver that writes anything to its memory, which is exactly as large as the device thinks. */
static void test_hostile_driver(void **state)
{
    const uint32_t size = 2048;
    uint8_t *shared = aligned_alloc(16, size);
    const struct device_memory_region region = {.start = 0x10000, .bytes = size, .here = shared};
    const struct device_memory only = {.regions = &region, .count = 1};
    unsigned good = 0;

    (void)state;
    setup.queue = (struct device_queue_setup){
        .descriptors = 0x10000, .driver_area = 0x10100, .device_area = 0x10200, .size = RING};
    for (unsigned round = 0; round < 200000; round++) {
        memset(shared, 0, size);
        for (unsigned i = 0; i < RING; i++) {
            const uint32_t descriptor[4] = {
                0x10400 + random_below(random_below(8) == 0 ? 4096 : 900), 0, random_below(700),
                random_below(8) | random_below(RING) << 16};

            memcpy(&shared[16 * i], descriptor, sizeof(descriptor));
            shared[0x104 + 2 * i] = (uint8_t)random_below(RING + (round % 16 == 0));
        }
        shared[0x102] = (uint8_t)random_below(RING + 2);
        for (unsigned i = 0x400; i < size; i += 8) {
            shared[i] = (uint8_t)random_below(14);
        }
        assert_null(device_block_start(&block, &only, &setup, false));
        good += serve_anything();
    }
    assert_true(good > 1000);
    free(shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_features, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_write, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_errors_of_the_disk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_flush_and_identity, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_requests, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_requests_that_are_too_short, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_device_that_is_read_only, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lives, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hostile_driver, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("device_block", tests, NULL, NULL);
}
