/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the virtqueue alone (VIRTIO 1.3, 2.6), in both formats, against the fake device's side of
 * the ring: layout, chains, indirect tables, notification and suppression. */
#include "virtqueue_fixture.h"
#include <string.h>

static struct virtqueue_fixture fixture;

static void layout_and_alignment(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= 32768; size *= 2) {
        uint64_t driver_bytes;
        uint64_t device_bytes;

        fixture_begin(&fixture, (uint16_t)size, 0, 0, 0);
        driver_bytes = fake_packed() ? 4 : 6 + UINT64_C(2) * size;
        device_bytes = fake_packed() ? 4 : 6 + UINT64_C(8) * size;
        assert_int_equal(fixture.device.queue[0].ring.descriptors % 16, 0);
        assert_int_equal(fixture.device.queue[0].ring.driver_area % (fake_packed() ? 4 : 2), 0);
        assert_int_equal(fixture.device.queue[0].ring.device_area % 4, 0);
        assert_true(fixture.device.queue[0].ring.driver_area >=
                    fixture.device.queue[0].ring.descriptors + UINT64_C(16) * size);
        assert_true(fixture.device.queue[0].ring.device_area >=
                    fixture.device.queue[0].ring.driver_area + driver_bytes);
        assert_true(fixture.device.queue[0].ring.descriptors +
                        virtqueue_shared_bytes(&fixture.queue) >=
                    fixture.device.queue[0].ring.device_area + device_bytes);
        fixture_end(&fixture);
    }
}

/* 2.7.2: computes the layout as a legacy device does, from the queue's size and the alignment. */
static void legacy_layout(void **state)
{
    struct virtqueue_options options = {.alignment = 4096};
    struct virtio_queue_setup setup = {0};

    (void)state;
    for (uint32_t size = 1; size <= 32768; size *= 2) {
        uint64_t available = UINT64_C(16) * size;

        options.size = (uint16_t)size;
        assert_true(virtqueue_create(&fixture.queue, &options));
        virtqueue_describe(&fixture.queue, &setup);
        assert_int_equal(setup.descriptors % 4096, 0);
        assert_int_equal(setup.driver_area, setup.descriptors + available);
        assert_int_equal(setup.device_area,
                         setup.descriptors +
                             (available + 6 + UINT64_C(2) * size + 4095) / 4096 * 4096);
        virtqueue_destroy(&fixture.queue);
    }
    assert_int_equal(fake_allocations, 0);
}

static void bad_options(void **state)
{
    struct virtqueue_options options = {.size = 0};

    (void)state;
    assert_false(virtqueue_create(&fixture.queue, &options));
    options.size = 12;
    assert_false(virtqueue_create(&fixture.queue, &options));
    options.size = 8;
    options.indirect_entries = 9; /* a chain longer than the queue */
    options.indirect_tables = 1;
    assert_false(virtqueue_create(&fixture.queue, &options));
    options.indirect_entries = 8;
    options.indirect_tables = 9;
    assert_false(virtqueue_create(&fixture.queue, &options));
    options.indirect_tables = 8;
    for (unsigned left = 0; left < 2; left++) {
        fake_allocations_left = left;
        assert_false(virtqueue_create(&fixture.queue, &options));
        assert_int_equal(fake_allocations, 0);
    }
    fake_allocations_left = UINT32_MAX;
}

static void chains_come_back_in_any_order(void **state)
{
    struct ring_chain chain[4];
    uint32_t bytes;

    (void)state;
    fake_skip(VIRTIO_F_IN_ORDER);
    fixture_begin(&fixture, 16, 0, 0, 0);
    assert_true(fixture_add(&fixture, 0, 1, 0));
    assert_true(fixture_add(&fixture, 1, 2, 3));
    assert_true(fixture_add(&fixture, 2, 0, 4));
    assert_false(fake_pop(0, &chain[0])); /* not published */
    assert_true(virtqueue_publish(&fixture.queue));
    for (unsigned i = 0; i < 3; i++) {
        assert_true(fake_pop(0, &chain[i]));
        assert_ptr_equal(fake_memory(&chain[i].segment[0]), fixture.memory[i]);
    }
    assert_int_equal(chain[1].count, 5);
    assert_false(chain[1].segment[1].writable);
    assert_true(chain[1].segment[2].writable);
    assert_int_equal(chain[1].segment[4].bytes, 12);
    assert_null(fixture_take(&fixture, &bytes));
    fake_push(0, chain[2].id, 7);
    fake_push(0, chain[0].id, 0);
    assert_true(virtqueue_pending(&fixture.queue));
    assert_ptr_equal(fixture_take(&fixture, &bytes), fixture.memory[2]);
    assert_int_equal(bytes, 7);
    assert_ptr_equal(fixture_take(&fixture, &bytes), fixture.memory[0]);
    assert_null(fixture_take(&fixture, &bytes));
    assert_false(virtqueue_pending(&fixture.queue));
    assert_int_equal(virtqueue_in_flight(&fixture.queue), 1);
    fixture_end(&fixture);
}

/* Bugs of other drivers: zero-length buffers, chains longer than the queue; checks that are only
 * assertions. */
static void rules_for_chains(void **state)
{
    struct virtqueue_segment zero[2] = {fixture_segment(&fixture, 0, 4),
                                        fixture_segment(&fixture, 1, 0)};
    struct virtqueue_segment huge[2] = {fixture_segment(&fixture, 0, 0x80000000u),
                                        fixture_segment(&fixture, 1, 0x80000000u)};

    (void)state;
    fixture_begin(&fixture, 4, 0, 0, 0);
    assert_false(virtqueue_add(&fixture.queue, zero, 0, 0, fixture.memory));
    assert_false(virtqueue_add(&fixture.queue, zero, 2, 0, fixture.memory));
    assert_false(virtqueue_add(&fixture.queue, huge, 1, 1, fixture.memory)); /* 2^32 bytes */
    huge[1].bytes--;
    assert_true(virtqueue_add(&fixture.queue, huge, 1, 1, fixture.memory));
    assert_false(virtqueue_add(&fixture.queue, zero, 1, 0, NULL));
    assert_false(fixture_add(&fixture, 0, 5, 0));
    assert_false(fixture_add(&fixture, 0, 3, 0)); /* two are left */
    assert_true(fixture_add(&fixture, 0, 1, 1));
    assert_false(fixture_add(&fixture, 0, 1, 0));
    assert_false(virtqueue_has_room(&fixture.queue, 1));
    fixture_end(&fixture);
}

static void ring_of_one(void **state)
{
    struct ring_chain chain;
    uint32_t bytes;

    (void)state;
    fixture_begin(&fixture, 1, VIRTIO_F_EVENT_IDX, 0, 0);
    for (unsigned i = 0; i < 70000; i++) {
        assert_true(fixture_add(&fixture, 3, 0, 1));
        assert_false(fixture_add(&fixture, 4, 0, 1));
        assert_true(virtqueue_publish(&fixture.queue));
        assert_true(fake_pop(0, &chain));
        fake_ask_notification(0);
        fake_push(0, chain.id, 8);
        assert_ptr_equal(fixture_take(&fixture, &bytes), fixture.memory[3]);
    }
    fixture_end(&fixture);
}

/* More than 65,536 chains of changing length and order; the ring is full and empty in between. */
static void index_wraps(void **state)
{
    struct ring_chain held[16];
    unsigned held_count = 0;
    unsigned taken = 0;
    unsigned added = 0;
    uint32_t seed = 7;

    (void)state;
    fixture_begin(&fixture, 16, VIRTIO_F_EVENT_IDX | VIRTIO_F_INDIRECT_DESC, 8, 8);
    while (taken < 200000) {
        uint32_t bytes;

        seed = seed * 1664525 + 1013904223;
        while (fixture_add(&fixture, added % 64, (seed >> 20) % 3, 1 + (seed >> 24) % 3)) {
            added++;
            seed = seed * 1664525 + 1013904223;
        }
        (void)virtqueue_publish(&fixture.queue);
        while (held_count < 16 && fake_pop(0, &held[held_count])) {
            held_count++;
        }
        for (unsigned count = (seed >> 12) % 17; count != 0 && held_count != 0; count--) {
            bool in_order = (fake_ring_features & VIRTIO_F_IN_ORDER) != 0;
            unsigned which = in_order ? 0 : (seed >> 16) % held_count;

            fake_push(0, held[which].id, 1);
            held_count--;
            if (in_order) {
                memmove(&held[0], &held[1], held_count * sizeof(held[0]));
            } else {
                held[which] = held[held_count];
            }
        }
        while (fixture_take(&fixture, &bytes) != NULL) {
            assert_int_equal(bytes, 1);
            taken++;
        }
        assert_null(fixture.queue.broken);
        assert_int_equal(virtqueue_in_flight(&fixture.queue), held_count);
    }
    assert_true(fixture.device.queue[0].ring.indirect_chains > 1000);
    fixture_end(&fixture);
}

static void direct_while_there_is_room(void **state)
{
    struct ring_chain chain;

    (void)state;
    fixture_begin(&fixture, 16, VIRTIO_F_INDIRECT_DESC, 2, 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_true(fixture_add(&fixture, i, 2, 0)); /* direct, until half of the ring is used */
    }
    assert_int_equal(fixture.queue.free_count, 8);
    assert_true(fixture_add(&fixture, 4, 2, 0));
    assert_true(fixture_add(&fixture, 5, 2, 2));
    assert_int_equal(fixture.queue.free_count, 6); /* two indirect chains */
    assert_true(fixture_add(&fixture, 6, 2, 0));   /* no table is left */
    assert_true(fixture_add(&fixture, 7, 1, 0));   /* an indirect table would save no descriptor */
    assert_int_equal(fixture.queue.free_count, 3);
    (void)virtqueue_publish(&fixture.queue);
    for (unsigned i = 0; i < 8; i++) {
        assert_true(fake_pop(0, &chain));
        assert_int_equal(chain.indirect, i == 4 || i == 5);
        assert_ptr_equal(fake_memory(&chain.segment[0]), fixture.memory[i]);
    }
    fixture_end(&fixture);
}

static void indirect_only_if_negotiated(void **state)
{
    (void)state;
    fixture_begin(&fixture, 16, 0, 0, 0);
    for (unsigned i = 0; i < 8; i++) {
        assert_true(fixture_add(&fixture, i, 2, 0));
    }
    assert_false(fixture_add(&fixture, 8, 2, 0));
    fixture_end(&fixture);
}

static void indirect_table_is_used_again_only_when_free(void **state)
{
    struct ring_chain chain;
    struct ring_chain other;
    uint32_t bytes;

    (void)state;
    fixture_begin(&fixture, 4, VIRTIO_F_INDIRECT_DESC, 1, 4);
    assert_true(fixture_add(&fixture, 0, 2, 0));
    assert_true(fixture_add(&fixture, 1, 3, 1)); /* indirect, because the ring has no room */
    assert_false(fixture_add(&fixture, 2, 2, 0));
    (void)virtqueue_publish(&fixture.queue);
    assert_true(fake_pop(0, &other));
    assert_true(fake_pop(0, &chain));
    assert_true(chain.indirect);
    assert_int_equal(chain.count, 4);
    fake_push(0, other.id, 0);
    assert_ptr_equal(fixture_take(&fixture, &bytes), fixture.memory[0]);
    fake_push(0, chain.id, 11);
    assert_ptr_equal(fixture_take(&fixture, &bytes), fixture.memory[1]);
    assert_int_equal(bytes, 11);
    assert_true(fixture_add(&fixture, 2, 4, 0));
    fixture_end(&fixture);
}

/* 2.7.10: the driver notifies exactly when the entry that avail_event names is among the new ones,
 * at every value of the index and for each number of new entries. */
static void kick_exactly_at_avail_event(void **state)
{
    (void)state;
    fake_skip(VIRTIO_F_RING_PACKED);
    fixture_begin(&fixture, 16, VIRTIO_F_EVENT_IDX, 0, 0);
    for (unsigned index = 0; index < 65536 + 200;) {
        unsigned batch = 1 + index % 16;
        uint16_t before = (uint16_t)index;
        struct ring_chain chain;
        uint32_t bytes;
        /* One before the batch, inside it, and after it. */
        int where = (int)((index / 16) % 20) - 2;
        uint16_t event = (uint16_t)(before + where);

        *fake_available_event(0) = event;
        for (unsigned i = 0; i < batch; i++) {
            assert_true(fixture_add(&fixture, i, 1, 0));
        }
        assert_int_equal(virtqueue_publish(&fixture.queue), where >= 0 && where < (int)batch);
        assert_false(virtqueue_publish(&fixture.queue)); /* nothing new */
        for (unsigned i = 0; i < batch; i++) {
            assert_true(fake_pop(0, &chain));
            fake_push(0, chain.id, 0);
            assert_non_null(fixture_take(&fixture, &bytes));
        }
        index += batch;
    }
    fixture_end(&fixture);
}

static void kick_by_flag(void **state)
{
    (void)state;
    fake_skip(VIRTIO_F_RING_PACKED);
    fixture_begin(&fixture, 16, 0, 0, 0);
    assert_true(fixture_add(&fixture, 0, 1, 0));
    assert_true(virtqueue_publish(&fixture.queue));
    *fake_used_flags(0) = 1;
    assert_true(fixture_add(&fixture, 1, 1, 0));
    assert_false(virtqueue_publish(&fixture.queue));
    *fake_used_flags(0) = 0xfffe; /* unknown bits */
    assert_true(fixture_add(&fixture, 2, 1, 0));
    assert_true(virtqueue_publish(&fixture.queue));
    fixture_end(&fixture);
}

static void suppress_and_enable_with_the_flag(void **state)
{
    struct ring_chain chain;
    uint32_t bytes;

    (void)state;
    fixture_begin(&fixture, 16, 0, 0, 0);
    assert_false(fake_interrupts_wanted(0)); /* not until the driver asks */
    assert_true(fixture_add(&fixture, 0, 1, 0));
    (void)virtqueue_publish(&fixture.queue);
    assert_false(virtqueue_armed(&fixture.queue));
    assert_true(virtqueue_enable(&fixture.queue, 0));
    assert_true(virtqueue_armed(&fixture.queue));
    assert_true(fake_interrupts_wanted(0));
    virtqueue_suppress(&fixture.queue);
    assert_false(fake_interrupts_wanted(0));
    assert_true(fake_pop(0, &chain));
    fake_complete(0, &chain, 0);
    assert_false(fake_raised());
    assert_false(virtqueue_enable(&fixture.queue, 0)); /* finds the chain in its second check */
    assert_false(virtqueue_armed(&fixture.queue));
    assert_false(fake_interrupts_wanted(0));
    assert_non_null(fixture_take(&fixture, &bytes));
    assert_true(virtqueue_enable(&fixture.queue, 0));
    assert_false(virtqueue_armed(&fixture.queue)); /* no chain is left to wait for */
    fixture_end(&fixture);
}

static void suppress_and_enable_with_the_event(void **state)
{
    struct ring_chain chain;
    uint32_t bytes;

    (void)state;
    fixture_begin(&fixture, 16, VIRTIO_F_EVENT_IDX, 0, 0);
    for (unsigned round = 0; round < 30000; round++) {
        for (unsigned i = 0; i < 6; i++) {
            assert_true(fixture_add(&fixture, i, 1, 0));
        }
        (void)virtqueue_publish(&fixture.queue);
        assert_false(virtqueue_armed(&fixture.queue));
        assert_true(virtqueue_enable(&fixture.queue, 2)); /* after the third */
        assert_true(virtqueue_armed(&fixture.queue));
        for (unsigned i = 0; i < 6; i++) {
            assert_int_equal(fake_raised(), i > 2);
            assert_true(fake_pop(0, &chain));
            fake_complete(0, &chain, 0);
        }
        fixture.device.isr = 0;
        fixture.device.raised[0] = false;
        assert_false(virtqueue_enable(&fixture.queue, 5));
        assert_false(virtqueue_armed(&fixture.queue)); /* too late for this event */
        for (unsigned i = 0; i < 5; i++) {
            assert_non_null(fixture_take(&fixture, &bytes));
        }
        assert_false(virtqueue_enable(&fixture.queue, 0));
        /* With batches the driver does not know where the device writes next, so any event is too
         * late. */
        assert_int_equal(virtqueue_enable(&fixture.queue, 1),
                         fake_ring_features != (VIRTIO_F_RING_PACKED | VIRTIO_F_IN_ORDER));
        assert_non_null(fixture_take(&fixture, &bytes));
        virtqueue_suppress(&fixture.queue);
    }
    /* After 180,000 chains: an event index that does not change is reached each 65,536 chains. */
    if (!fake_packed()) {
        assert_int_equal(*fake_available_flags(0), 0);
    }
    fixture_end(&fixture);
}

/* The interrupt is armed, then the chains that it was armed for are collected early: it is not
 * armed any more. */
static void early_collection_disarms(void **state)
{
    struct ring_chain chain;
    uint32_t bytes;

    (void)state;
    fixture_begin(&fixture, 8, VIRTIO_F_EVENT_IDX, 0, 0);
    for (unsigned i = 0; i < 4; i++) {
        assert_true(fixture_add(&fixture, i, 1, 0));
    }
    (void)virtqueue_publish(&fixture.queue);
    assert_true(virtqueue_enable(&fixture.queue, 1));
    for (unsigned i = 0; i < 2; i++) {
        assert_true(fake_pop(0, &chain));
        fake_push(0, chain.id, 0);
        assert_true(virtqueue_armed(&fixture.queue));
        assert_non_null(fixture_take(&fixture, &bytes));
    }
    assert_false(virtqueue_armed(&fixture.queue));
    fixture_end(&fixture);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout_and_alignment),
        cmocka_unit_test(legacy_layout),
        cmocka_unit_test(bad_options),
        cmocka_unit_test(chains_come_back_in_any_order),
        cmocka_unit_test(rules_for_chains),
        cmocka_unit_test(ring_of_one),
        cmocka_unit_test(index_wraps),
        cmocka_unit_test(direct_while_there_is_room),
        cmocka_unit_test(indirect_only_if_negotiated),
        cmocka_unit_test(indirect_table_is_used_again_only_when_free),
        cmocka_unit_test(kick_exactly_at_avail_event),
        cmocka_unit_test(kick_by_flag),
        cmocka_unit_test(suppress_and_enable_with_the_flag),
        cmocka_unit_test(suppress_and_enable_with_the_event),
        cmocka_unit_test(early_collection_disarms),
    };

    fake_choose_ring(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
