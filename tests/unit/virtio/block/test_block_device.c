/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver of block devices on the library's own device's side, and on a device that writes
 * anything to the used ring and the status.
 */
#include "disk_model.h"
#include "virtio/block.h"
#include "virtio/device_block.h"
#include <string.h>

#define REQUESTS 40u
#define ROOM     8192u

static const struct device_memory_region everything = {
    .start = FAKE_DMA_OFFSET + 4096,
    .bytes = UINT64_C(1) << 47,
    .here = (uint8_t *)4096,
};
static const struct device_memory all_memory = {.regions = &everything, .count = 1};
static struct device_block device;
static struct virtio_mmio mmio;
static struct virtio_pci pci;
static struct virtio_block *block;
static struct virtio_block_request requests[REQUESTS];
static bool with_driver[REQUESTS];
static uint8_t memory[REQUESTS][ROOM];
static uint8_t content[DISK_BYTES];
static uint32_t seed;

static uint32_t random_below(uint32_t limit)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % limit;
}

static void ignore_signal(void *context)
{
    (void)context;
}

static void create(void)
{
    static const struct virtio_block_operations operations = {.signal = ignore_signal};
    const struct virtio_block_parameters parameters = {0};
    const char *reason = NULL;

    block = virtio_block_create(fake_probe(&mmio, &pci), &parameters, &operations, NULL, &reason);
    assert_non_null(block);
    memset(with_driver, 0, sizeof(with_driver));
}

static void start_device(bool resumed)
{
    const struct ring *ring = fake_ring(0);
    const struct device_block_setup setup = {
        .queue = {.descriptors = ring->descriptors,
                  .driver_area = ring->driver_area,
                  .device_area = ring->device_area,
                  .size = ring->size},
        .offered = disk.device.offered,
        .accepted = disk.device.accepted,
        .sectors = DISK_SECTORS,
    };

    assert_null(device_block_check_features(disk.device.offered, disk.device.accepted));
    assert_null(device_block_start(&device, &all_memory, &setup, resumed));
}

/* The device executes at most so many requests, and publishes what it has finished, or its life
 * ends before. */
static void serve(unsigned limit)
{
    static struct device_block_request request;
    bool ends = random_below(4) == 0;

    while (limit-- != 0 && device_block_take(&device, &request)) {
        if (request.kind == DEVICE_BLOCK_READ) {
            device_block_put(&request, 0, &content[request.sector * 512], request.bytes);
        } else if (request.kind == DEVICE_BLOCK_WRITE) {
            device_block_get(&request, 0, &content[request.sector * 512], request.bytes);
        }
        device_block_finish(&device, &request);
    }
    if (!ends) {
        (void)device_queue_publish(&device.queue);
    }
    assert_null(device.queue.broken);
    if (ends) {
        start_device(true);
    }
}

static void submit(unsigned i)
{
    uint32_t sectors = 1 + random_below(ROOM / 512);
    unsigned segments = 1 + random_below(2);

    requests[i] = (struct virtio_block_request){
        .kind = (enum virtio_block_kind)random_below(3),
        .sector = random_below(DISK_SECTORS - sectors + 1),
    };
    if (requests[i].kind != VIRTIO_BLOCK_FLUSH) {
        uint32_t first = segments == 1 ? sectors * 512 : 1 + random_below(sectors * 512 - 1);

        requests[i].segment_count = segments;
        requests[i].segment[0] = (struct virtio_block_segment){memory[i], first};
        requests[i].segment[1] =
            (struct virtio_block_segment){memory[i] + first, sectors * 512 - first};
        memset(memory[i], (int)random_below(256), sectors * 512);
    }
    with_driver[i] = virtio_block_submit(block, &requests[i]) == VIRTIO_BLOCK_ACCEPTED;
}

static unsigned take(void)
{
    struct virtio_block_request *request;
    unsigned count = 0;

    while ((request = virtio_block_finished(block)) != NULL) {
        unsigned i = (unsigned)(request - requests);

        assert_true(i < REQUESTS && with_driver[i]);
        with_driver[i] = false;
        count++;
    }
    return count;
}

static void destroy(void)
{
    assert_true(virtio_block_stop(block));
    (void)take();
    for (unsigned i = 0; i < REQUESTS; i++) {
        assert_false(with_driver[i]);
    }
    virtio_block_free(block);
    assert_int_equal(fake_allocations, 0);
}

static void begin(uint64_t offered)
{
    disk_prepare(FAKE_MMIO, 0);
    disk.device.offered = offered;
    seed = 1;
    create();
}

/* One request at a time, so that the content is known. */
static void test_own_device(void **state)
{
    uint8_t expected[DISK_BYTES] = {0};

    (void)state;
    begin(DEVICE_BLOCK_FEATURES & ~VIRTIO_BLK_F_RO);
    memset(content, 0, sizeof(content));
    start_device(false);
    for (unsigned round = 0; round < 5000; round++) {
        const struct virtio_block_request *request = &requests[0];
        uint32_t bytes;

        submit(0);
        assert_true(with_driver[0]);
        bytes = request->segment[0].bytes + request->segment[1].bytes;
        if (request->kind == VIRTIO_BLOCK_WRITE) {
            memcpy(&expected[request->sector * 512], memory[0], bytes);
        }
        virtio_block_kick(block);
        while (take() == 0) {
            serve(1);
        }
        assert_int_equal(request->result, VIRTIO_BLOCK_DONE);
        if (request->kind == VIRTIO_BLOCK_READ) {
            assert_memory_equal(memory[0], &expected[request->sector * 512], bytes);
        }
    }
    assert_memory_equal(content, expected, sizeof(content));
    destroy();
}

/* Many at a time: each is finished once. */
static void test_many_on_own_device(void **state)
{
    unsigned done = 0;

    (void)state;
    begin(DEVICE_BLOCK_FEATURES & ~VIRTIO_BLK_F_RO);
    start_device(false);
    while (done < 20000) {
        for (unsigned i = random_below(REQUESTS); i < REQUESTS; i++) {
            if (!with_driver[i]) {
                submit(i);
            }
        }
        virtio_block_kick(block);
        serve(random_below(30));
        done += take();
    }
    destroy();
}

/* The driver accesses no memory but its own, and returns each request once. */
static void test_hostile_device(void **state)
{
    unsigned broken = 0, done = 0;

    (void)state;
    for (unsigned round = 0; round < 3000; round++) {
        begin(disk.device.offered);
        seed = round;
        for (unsigned step = 0; step < 30 && virtio_block_broken(block) == NULL; step++) {
            uint16_t index = *fake_used_index(0);

            for (unsigned i = 0; i < REQUESTS; i++) {
                if (!with_driver[i]) {
                    submit(i);
                }
            }
            virtio_block_kick(block);
            for (unsigned i = 0; i < 4; i++) {
                uint32_t *element = fake_used_element(0, (uint16_t)(index + i));

                element[0] = random_below(40) == 0 ? random_below(70000) : random_below(40);
                element[1] = random_below(40) == 0 ? random_below(20000) : 1;
            }
            *fake_used_index(0) =
                (uint16_t)(index + (random_below(50) == 0 ? random_below(65536) : random_below(3)));
            done += take();
        }
        broken += virtio_block_broken(block) != NULL;
        destroy();
    }
    assert_true(broken > 1000 && done > 1000);
}

static int set_up(void **state)
{
    (void)state;
    disk_prepare(FAKE_MMIO, 0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_own_device, set_up),
        cmocka_unit_test_setup(test_many_on_own_device, set_up),
        cmocka_unit_test_setup(test_hostile_device, set_up),
    };

    return cmocka_run_group_tests_name("block_device", tests, NULL, NULL);
}
