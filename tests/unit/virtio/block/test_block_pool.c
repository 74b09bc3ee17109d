/* SPDX-License-Identifier: BSD-2-Clause */
/* The driver of block devices with the smallest pool: geometry, slots that run out, and data that
 * is copied at the right time. */
#include "disk_model.h"
#include "virtio/block.h"
#include <limits.h>
#include <string.h>

#define SMALLEST   VIRTIO_POOL_BYTES_MIN
#define REQUESTS   16u
#define SLOT_BYTES 4096u
#define SECTORS    48u /* of a large request: six slots */
#define ROOM       (SECTORS * 512u)

static _Alignas(VIRTIO_POOL_ALIGNMENT) uint8_t pool_memory[SMALLEST];
static struct virtio_pool pool;
static struct virtio_mmio mmio;
static struct virtio_pci pci;
static struct virtio_block *block;
static struct virtio_block_request requests[REQUESTS];
static uint8_t memory[REQUESTS][ROOM];

static void ignore_signal(void *context)
{
    (void)context;
}

static const struct virtio_block_operations operations = {.signal = ignore_signal};

static const char *try_create(size_t bytes, const struct virtio_block_parameters *parameters)
{
    const char *reason = NULL;

    virtio_pool_init(&pool, pool_memory, bytes);
    fake_pool = &pool;
    disk_prepare(FAKE_MMIO, 0);
    disk_configure(8, UINT32_MAX);  /* SIZE_MAX */
    disk_configure(12, UINT32_MAX); /* SEG_MAX */
    block = virtio_block_create(fake_probe(&mmio, &pci), parameters, &operations, NULL, &reason);
    return reason;
}

static void create(uint16_t count)
{
    const struct virtio_block_parameters parameters = {.requests = count};

    assert_null(try_create(SMALLEST, &parameters));
}

static void destroy(void)
{
    assert_true(virtio_block_stop(block));
    while (virtio_block_finished(block) != NULL) {
    }
    virtio_block_free(block);
    assert_int_equal(virtio_pool_free_bytes(&pool), SMALLEST);
    assert_int_equal(fake_allocations, 0);
}

static enum virtio_block_answer submit(unsigned i, enum virtio_block_kind kind, uint32_t bytes)
{
    requests[i] = (struct virtio_block_request){
        .kind = kind, .segment_count = 1, .segment = {{.memory = memory[i], .bytes = bytes}}};
    return virtio_block_submit(block, &requests[i]);
}

static void execute_all(void)
{
    virtio_block_kick(block);
    disk_take();
    while (disk.count != 0) {
        disk_finish(0);
    }
}

static void geometry_follows_the_pool(void **state)
{
    const struct virtio_block_geometry *geometry;

    (void)state;
    create(200);
    geometry = virtio_block_geometry(block);
    assert_int_equal(geometry->segment_bytes_max, SLOT_BYTES);
    assert_true(geometry->segments_max >= 32 && geometry->segments_max <= SMALLEST / SLOT_BYTES);
    destroy();
}

static void pools_that_are_too_small(void **state)
{
    const struct virtio_block_parameters parameters = {0};

    (void)state;
    assert_string_equal(try_create(SMALLEST - 64, &parameters),
                        "its pool has too little free memory");
    assert_int_equal(fake_allocations, 0);
}

static void memory_exhausted(void **state)
{
    const struct virtio_block_parameters parameters = {0};
    unsigned left = 0;

    (void)state;
    for (;; left++) {
        fake_allocations_left = left;
        if (try_create(SMALLEST, &parameters) == NULL) {
            break;
        }
        fake_allocations_left = UINT_MAX;
        assert_int_equal(fake_allocations, 0);
        assert_int_equal(virtio_pool_free_bytes(&pool), SMALLEST);
    }
    /* The driver, the queue's and the data's records and pieces, the requests' piece, chains. */
    assert_int_equal(left, 7);
    fake_allocations_left = UINT_MAX;
    destroy();
}

/* Requests wait for slots, and get them when others are finished. */
static void slots_run_out(void **state)
{
    (void)state;
    create(REQUESTS);
    for (unsigned round = 0; round < 20; round++) {
        unsigned count = 0;

        while (count < REQUESTS &&
               submit(count, VIRTIO_BLOCK_READ, ROOM) == VIRTIO_BLOCK_ACCEPTED) {
            count++;
        }
        assert_true(count >= 6 && count < REQUESTS);
        execute_all();
        for (unsigned i = 0; i < count; i++) {
            assert_ptr_equal(virtio_block_finished(block), &requests[i]);
            assert_int_equal(requests[i].result, VIRTIO_BLOCK_DONE);
        }
        assert_null(virtio_block_finished(block));
    }
    destroy();
}

/* A write has the data of the time of the submission, a read that of the time when it is taken. A
 * read that failed leaves the memory as it is. */
static void data_is_copied_once(void **state)
{
    (void)state;
    create(0);
    memset(memory[0], 0x11, ROOM);
    assert_int_equal(submit(0, VIRTIO_BLOCK_WRITE, ROOM), VIRTIO_BLOCK_ACCEPTED);
    memset(memory[0], 0x22, ROOM);
    execute_all();
    assert_ptr_equal(virtio_block_finished(block), &requests[0]);
    for (unsigned i = 0; i < ROOM; i++) {
        assert_int_equal(disk.cached[i], 0x11);
    }
    assert_int_equal(submit(1, VIRTIO_BLOCK_READ, ROOM), VIRTIO_BLOCK_ACCEPTED);
    memset(memory[1], 0x33, ROOM);
    execute_all();
    assert_int_equal(memory[1][0], 0x33);
    assert_ptr_equal(virtio_block_finished(block), &requests[1]);
    memset(pool_memory, 0xff, sizeof(pool_memory));
    assert_memory_equal(memory[1], disk.cached, ROOM);
    destroy();
}

static void failed_read_is_not_copied(void **state)
{
    (void)state;
    create(0);
    disk.status = VIRTIO_BLOCK_STATUS_ERROR;
    memset(memory[0], 0x33, ROOM);
    assert_int_equal(submit(0, VIRTIO_BLOCK_READ, 512), VIRTIO_BLOCK_ACCEPTED);
    execute_all();
    assert_ptr_equal(virtio_block_finished(block), &requests[0]);
    assert_int_equal(requests[0].result, VIRTIO_BLOCK_FAILED);
    assert_int_equal(memory[0][0], 0x33);
    destroy();
}

/* 2.4.1: the pool stays with a device that does not confirm the reset. */
static void reset_that_is_not_confirmed(void **state)
{
    size_t free_bytes;

    (void)state;
    create(0);
    free_bytes = virtio_pool_free_bytes(&pool);
    assert_int_equal(submit(0, VIRTIO_BLOCK_READ, ROOM), VIRTIO_BLOCK_ACCEPTED);
    disk.device.stuck_in_reset = true;
    assert_false(virtio_block_stop(block));
    virtio_block_free(block);
    assert_int_equal(virtio_pool_free_bytes(&pool), free_bytes);
    mmio.transport.pool = NULL; /* the owner probes again */
    disk.device.stuck_in_reset = false;
    assert_true(virtio_block_stop(block));
    assert_ptr_equal(virtio_block_finished(block), &requests[0]);
    assert_int_equal(requests[0].result, VIRTIO_BLOCK_LOST);
    destroy();
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(geometry_follows_the_pool),
        cmocka_unit_test(pools_that_are_too_small),
        cmocka_unit_test(memory_exhausted),
        cmocka_unit_test(slots_run_out),
        cmocka_unit_test(data_is_copied_once),
        cmocka_unit_test(failed_read_is_not_copied),
        cmocka_unit_test(reset_that_is_not_confirmed),
    };

    fake_choose_ring(count, arguments);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
