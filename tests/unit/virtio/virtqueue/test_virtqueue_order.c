/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests VIRTIO_F_IN_ORDER (VIRTIO 1.3, 2.7.9 and 2.8.8), VIRTIO_F_ORDER_PLATFORM (6) and the reset
 * of a queue (2.6.1), for both formats. The fake device checks that chains lie in ring order. */
#include "virtqueue_fixture.h"
#include <string.h>

static struct virtqueue_fixture fixture;

/* Chains of 1 to 4 segments, each with 8 writable bytes or more; returns how many there are. */
static unsigned fill(struct ring_chain *chain, uint32_t seed)
{
    unsigned count = 0;

    while (fixture_add(&fixture, count, (seed >> count) % 3, 1 + (seed >> count) % 2)) {
        count++;
    }
    (void)virtqueue_publish(&fixture.queue);
    for (unsigned i = 0; i < count; i++) {
        assert_true(fake_pop(0, &chain[i]));
    }
    return count;
}

static uint32_t writable(const struct ring_chain *chain)
{
    uint32_t bytes = 0;

    for (unsigned i = 0; i < chain->count; i++) {
        bytes += chain->segment[i].writable ? chain->segment[i].bytes : 0;
    }
    return bytes;
}

/* One used entry for several chains: all are returned, and all but the last one are completely
 * used. */
static void batches(void **state)
{
    struct ring_chain chain[16];
    uint32_t bytes;

    (void)state;
    fixture_begin(&fixture, 16, VIRTIO_F_EVENT_IDX | VIRTIO_F_INDIRECT_DESC, 4, 4);
    for (uint32_t round = 0; round < 40000; round++) {
        unsigned count = fill(chain, round * 2654435761u >> 7);
        unsigned done = 0;

        while (done < count) {
            unsigned batch = 1 + (round >> 3) % (count - done);

            fake_push_batch(0, &chain[done], batch, 3);
            assert_true(virtqueue_pending(&fixture.queue));
            for (unsigned i = 0; i < batch; i++, done++) {
                /* In the middle of a batch the driver can't arm an interrupt. */
                assert_false(virtqueue_enable(&fixture.queue, 0));
                assert_ptr_equal(fixture_take(&fixture, &bytes), fixture.memory[done]);
                assert_int_equal(bytes, i + 1 < batch ? writable(&chain[done]) : 3);
            }
            assert_false(virtqueue_pending(&fixture.queue));
            assert_null(fixture_take(&fixture, &bytes));
            assert_true(virtqueue_enable(&fixture.queue, 0));
            assert_null(fixture.queue.broken);
        }
        assert_int_equal(virtqueue_in_flight(&fixture.queue), 0);
    }
    assert_true(fixture.device.queue[0].ring.indirect_chains > 1000);
    fixture_end(&fixture);
}

static void expect_broken(unsigned in_flight)
{
    uint32_t bytes;

    assert_null(fixture_take(&fixture, &bytes));
    assert_non_null(fixture.queue.broken);
    assert_int_equal(virtqueue_in_flight(&fixture.queue), in_flight);
    fixture_end(&fixture);
}

/* The last chain of a batch must be available and not returned yet. */
static void hostile_batches(void **state)
{
    struct ring_chain chain[4];
    uint32_t bytes;

    (void)state;
    for (unsigned lie = 0; lie < 4; lie++) {
        fixture_begin(&fixture, 8, 0, 0, 0);
        for (unsigned i = 0; i < 4; i++) {
            assert_true(fixture_add(&fixture, i, 0, 1));
        }
        (void)virtqueue_publish(&fixture.queue);
        for (unsigned i = 0; i < 4; i++) {
            assert_true(fake_pop(0, &chain[i]));
        }
        assert_true(fixture_add(&fixture, 4, 0, 1)); /* not published */
        fake_push_batch(0, &chain[0], 2, 1);
        assert_non_null(fixture_take(&fixture, &bytes));
        assert_non_null(fixture_take(&fixture, &bytes));
        switch (lie) {
        case 0: /* again */
            fake_push(0, chain[1].id, 1);
            break;
        case 1: /* from the batch before */
            fake_push(0, chain[0].id, 1);
            break;
        case 2: /* never published */
            fake_push(0, 4, 1);
            break;
        default: /* never added */
            fake_push(0, 5, 1);
        }
        expect_broken(3);
    }
}

/* Split rings: the id gives more chains than the index. */
static void hostile_index_behind_the_batch(void **state)
{
    struct ring_chain chain[16];
    unsigned count;

    (void)state;
    fake_skip(VIRTIO_F_RING_PACKED);
    fixture_begin(&fixture, 16, 0, 0, 0);
    count = fill(chain, 0);
    fake_push(0, chain[3].id, 1);
    expect_broken(count);
}

/* 6: with ORDER_PLATFORM the driver uses the platform's barriers, otherwise none of them. */
static void platform_barriers(void **state)
{
    struct ring_chain chain;
    uint32_t bytes;

    (void)state;
    for (unsigned on = 0; on < 2; on++) {
        fixture_begin(&fixture, 4, on != 0 ? VIRTIO_F_ORDER_PLATFORM : 0, 0, 0);
        memset(fake_barriers, 0, sizeof(fake_barriers));
        assert_true(fixture_add(&fixture, 0, 1, 0));
        assert_true(virtqueue_publish(&fixture.queue));
        assert_int_equal(fake_barriers[VIRTIO_BARRIER_PUBLISH], on);
        assert_int_equal(fake_barriers[VIRTIO_BARRIER_FULL], on);
        assert_true(fake_pop(0, &chain));
        fake_push(0, chain.id, 0);
        assert_int_equal(fake_barriers[VIRTIO_BARRIER_OBSERVE], 0);
        assert_non_null(fixture_take(&fixture, &bytes));
        assert_int_equal(fake_barriers[VIRTIO_BARRIER_OBSERVE], on);
        assert_true(virtqueue_enable(&fixture.queue, 0));
        assert_int_equal(fake_barriers[VIRTIO_BARRIER_FULL], 2 * on);
        fixture_end(&fixture);
    }
}

static void detach_all(unsigned count)
{
    uint16_t position = 0;

    while (virtqueue_detach(&fixture.queue, &position) != NULL) {
        count--;
    }
    assert_int_equal(count, 0);
}

/* After a reset the queue is as new, whatever happened before: laps, indirect chains, batches,
 * violations. */
static void reset_restores_the_initial_state(void **state)
{
    struct virtio_queue_setup before = {0};
    struct virtio_queue_setup after = {0};
    struct ring_chain chain[16];
    uint32_t bytes;

    (void)state;
    fixture_begin(&fixture, 8, VIRTIO_F_EVENT_IDX | VIRTIO_F_INDIRECT_DESC, 2, 4);
    virtqueue_describe(&fixture.queue, &before);
    for (unsigned round = 0; round < 200; round++) {
        unsigned count = 0;

        for (unsigned i = 0; i < round % 7; i++) {
            count = fill(chain, round + i);
            for (unsigned j = 0; j < count; j++) {
                fake_push(0, chain[j].id, 1);
                assert_non_null(fixture_take(&fixture, &bytes));
            }
        }
        (void)virtqueue_enable(&fixture.queue, (uint16_t)(round % 3));
        count = fill(chain, round);
        if (round % 4 == 3) {
            fake_push(0, 7, 0xffffffff);
            assert_null(fixture_take(&fixture, &bytes));
            assert_non_null(fixture.queue.broken);
        } else if (round % 4 == 2 && (fake_ring_features & VIRTIO_F_IN_ORDER) != 0) {
            fake_push_batch(0, chain, count, 0);
            assert_non_null(fixture_take(&fixture, &bytes));
            count--;
        }
        detach_all(count);
        virtqueue_reset(&fixture.queue);
        fixture_restart(&fixture);
        assert_null(fixture.queue.broken);
        assert_int_equal(fixture.queue.free_count, 8);
        assert_int_equal(virtqueue_in_flight(&fixture.queue), 0);
        assert_false(virtqueue_pending(&fixture.queue));
        assert_false(virtqueue_armed(&fixture.queue));
        assert_false(fake_interrupts_wanted(0));
    }
    virtqueue_describe(&fixture.queue, &after);
    assert_memory_equal(&before, &after, sizeof(before));
    fixture_end(&fixture);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest in_order[] = {
        cmocka_unit_test(batches),
        cmocka_unit_test(hostile_batches),
        cmocka_unit_test(hostile_index_behind_the_batch),
    };
    const struct CMUnitTest any[] = {
        cmocka_unit_test(platform_barriers),
        cmocka_unit_test(reset_restores_the_initial_state),
    };

    fake_choose_ring(argc, argv);
    if ((fake_ring_features & VIRTIO_F_IN_ORDER) != 0) {
        int failed = cmocka_run_group_tests(in_order, NULL, NULL);

        return failed != 0 ? failed : cmocka_run_group_tests(any, NULL, NULL);
    }
    return cmocka_run_group_tests(any, NULL, NULL);
}
