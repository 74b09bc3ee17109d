/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests bounce buffers (virtio/bounce.h): chains of slots, and data that crosses their borders. */
#include "fake.h"
#include "virtio/bounce.h"
#include <limits.h>
#include <string.h>

#define POOL_BYTES 65536u
#define SLOTS      8u
#define SLOT_BYTES 100u
#define DATA_BYTES (5u * SLOT_BYTES)

static _Alignas(VIRTIO_POOL_ALIGNMENT) uint8_t memory[POOL_BYTES];
static struct virtio_pool pool;
static struct virtio_bounce bounce;

static int set_up(void **state)
{
    (void)state;
    virtio_pool_init(&pool, memory, sizeof(memory));
    assert_true(virtio_bounce_create(&bounce, &pool, SLOTS, SLOT_BYTES));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    virtio_bounce_destroy(&bounce);
    assert_int_equal(virtio_pool_free_bytes(&pool), POOL_BYTES);
    assert_int_equal(fake_allocations, 0);
    return 0;
}

static unsigned length_of(const struct virtio_bounce_slot *chain)
{
    unsigned length = 0;

    for (; chain != NULL; chain = chain->next) {
        assert_true(chain->memory >= memory && chain->memory + SLOT_BYTES <= memory + POOL_BYTES);
        assert_int_equal(chain->address, virtio_platform_dma_address(chain->memory));
        length++;
    }
    return length;
}

static void chains_have_their_slots_alone(void **state)
{
    struct virtio_bounce_slot *first = virtio_bounce_take(&bounce, 3);
    struct virtio_bounce_slot *second = virtio_bounce_take(&bounce, 5);

    (void)state;
    assert_int_equal(length_of(first), 3);
    assert_int_equal(length_of(second), 5);
    assert_int_equal(bounce.free_count, 0);
    assert_null(virtio_bounce_take(&bounce, 1));
    for (const struct virtio_bounce_slot *slot = first; slot != NULL; slot = slot->next) {
        for (const struct virtio_bounce_slot *other = second; other != NULL; other = other->next) {
            assert_true(slot->memory + SLOT_BYTES <= other->memory ||
                        other->memory + SLOT_BYTES <= slot->memory);
        }
    }
    first->owner = &pool;
    assert_ptr_equal(virtio_bounce_release(&bounce, first), &pool);
    assert_int_equal(bounce.free_count, 3);
    assert_null(virtio_bounce_take(&bounce, 4));
    assert_int_equal(length_of(virtio_bounce_take(&bounce, 3)), 3);
}

/* Data is written and read in other pieces than the slots. */
static void data_crosses_slots(void **state)
{
    struct virtio_bounce_slot *chain = virtio_bounce_take(&bounce, DATA_BYTES / SLOT_BYTES);
    uint8_t data[DATA_BYTES];
    uint8_t seen[DATA_BYTES];

    (void)state;
    for (unsigned i = 0; i < DATA_BYTES; i++) {
        data[i] = (uint8_t)(i * 7u);
    }
    for (uint32_t piece = 1; piece <= DATA_BYTES; piece++) {
        struct virtio_bounce_place in = {.slot = chain};
        struct virtio_bounce_place out = {.slot = chain};

        memset(memory, 0, sizeof(memory));
        memset(seen, 0, sizeof(seen));
        for (uint32_t at = 0; at < DATA_BYTES; at += piece) {
            uint32_t bytes = DATA_BYTES - at < piece ? DATA_BYTES - at : piece;

            virtio_bounce_write(&bounce, &in, data + at, bytes);
        }
        for (uint32_t at = 0; at < DATA_BYTES; at += 33) {
            uint32_t bytes = DATA_BYTES - at < 33 ? DATA_BYTES - at : 33;

            virtio_bounce_read(&bounce, &out, seen + at, bytes);
        }
        assert_memory_equal(seen, data, DATA_BYTES);
    }
}

static void exhausted_memory_is_reported(void **state)
{
    struct virtio_bounce other = {0};

    (void)state;
    assert_false(virtio_bounce_create(&other, &pool, 1000, SLOT_BYTES));
    virtio_bounce_destroy(&other);
    for (unsigned left = 0; left < 2; left++) {
        fake_allocations_left = left;
        assert_false(virtio_bounce_create(&other, &pool, 1, SLOT_BYTES));
        fake_allocations_left = UINT_MAX;
        virtio_bounce_destroy(&other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(chains_have_their_slots_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(data_crosses_slots, set_up, tear_down),
        cmocka_unit_test_setup_teardown(exhausted_memory_is_reported, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
