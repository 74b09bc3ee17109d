/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the parts that only packed virtqueues have (VIRTIO 1.3, 2.8), by the words in memory: the
 * order in which descriptors become available, wrap counters, event suppression, buffer ids. */
#include "virtqueue_fixture.h"

static struct virtqueue_fixture fixture;

static uint16_t flags_at(uint64_t total)
{
    return fake_packed_descriptor(0, total)->flags;
}

static void take_all(unsigned count)
{
    struct ring_chain chain;
    uint32_t bytes;

    for (unsigned i = 0; i < count; i++) {
        assert_true(fake_pop(0, &chain));
        fake_push(0, chain.id, 0);
        assert_non_null(fixture_take(&fixture, &bytes));
    }
}

/* 2.8.17, 2.8.21.1.1: of all descriptors published together, the first one's flags are written
 * last. */
static void first_flags_come_last(void **state)
{
    (void)state;
    fixture_begin(&fixture, 8, 0, 0, 0);
    assert_true(fixture_add(&fixture, 0, 2, 1));
    assert_true(fixture_add(&fixture, 3, 1, 1));
    assert_int_equal(flags_at(0), 0);
    assert_int_equal(flags_at(1), 0x80 | 1);
    assert_int_equal(flags_at(2), 0x80 | 2);
    assert_int_equal(flags_at(3), 0x80 | 1); /* follows the first one, for which the device waits */
    assert_int_equal(flags_at(4), 0x80 | 2);
    (void)virtqueue_publish(&fixture.queue);
    assert_int_equal(flags_at(0), 0x80 | 1);
    assert_int_equal(flags_at(5), 0);
    take_all(2);
    /* The batch crosses the ring's end. In the next lap the flags have the opposite meaning. */
    assert_true(fixture_add(&fixture, 0, 4, 1));
    assert_int_equal(flags_at(5), 0);
    assert_int_equal(flags_at(6), 0x80 | 1);
    assert_int_equal(flags_at(7), 0x80 | 1);
    assert_int_equal(flags_at(8), 0x8000 | 1);
    assert_int_equal(flags_at(9), 0x8000 | 2);
    (void)virtqueue_publish(&fixture.queue);
    take_all(1);
    fixture_end(&fixture);
}

/* A half-written descriptor is not used: AVAIL and USED both have to match the lap (2.8.1). */
static void used_needs_both_flags(void **state)
{
    uint32_t bytes;

    (void)state;
    fixture_begin(&fixture, 4, 0, 0, 0);
    for (unsigned lap = 0; lap < 5; lap++) {
        for (unsigned place = 0; place < 4; place++) {
            uint64_t total = lap * UINT64_C(4) + place;
            struct fake_packed_descriptor *at = fake_packed_descriptor(0, total);
            uint16_t used = lap % 2 == 0 ? 0x8080 : 0;
            struct ring_chain chain;

            assert_true(fixture_add(&fixture, 0, 0, 1));
            assert_false(virtqueue_pending(&fixture.queue));
            (void)virtqueue_publish(&fixture.queue);
            assert_true(fake_pop(0, &chain));
            at->id = chain.id;
            for (unsigned bits = 0; bits < 4; bits++) {
                at->flags = (uint16_t)((bits & 1 ? 0x80 : 0) | (bits & 2 ? 0x8000 : 0));
                if (at->flags != used) {
                    assert_false(virtqueue_pending(&fixture.queue));
                    assert_null(fixture_take(&fixture, &bytes));
                    assert_true(virtqueue_enable(&fixture.queue, 0));
                }
            }
            assert_null(fixture.queue.broken);
            fake_push(0, chain.id, 5);
            assert_true(virtqueue_pending(&fixture.queue));
            assert_false(virtqueue_enable(&fixture.queue, 0));
            assert_non_null(fixture_take(&fixture, &bytes));
            assert_int_equal(bytes, 5);
        }
    }
    fixture_end(&fixture);
}

/* 2.8.10: the driver notifies if the descriptor that the event names is among the new ones, at
 * every place of both laps and for each number of new ones. It also notifies if the event lies
 * behind the new ones, however far. A device that checks its queue does not leave it there, but
 * QEMU 10.0 does, and would never be notified again. It does not notify if the event is still
 * ahead. */
static void kick_at_the_event(void **state)
{
    (void)state;
    for (uint16_t size = 1; size <= 16; size *= 4) {
        uint64_t total = 0;

        fixture_begin(&fixture, size, VIRTIO_F_EVENT_IDX, 0, 0);
        for (unsigned round = 0; round < 3000; round++) {
            unsigned batch = 1 + round % size;
            /* From behind the batch to beyond it; two laps in total. */
            unsigned ahead = (round / size) % (2u * size);
            uint64_t event = total + ahead;

            fake_device_event(0)->where =
                (uint16_t)(event % size | (unsigned)fake_packed_wrap(0, event) << 15);
            fake_device_event(0)->flags = 2;
            for (unsigned i = 0; i < batch; i++) {
                assert_true(fixture_add(&fixture, i, 1, 0));
            }
            assert_int_equal(virtqueue_publish(&fixture.queue), ahead < batch || ahead >= size);
            assert_false(virtqueue_publish(&fixture.queue)); /* nothing new */
            take_all(batch);
            total += batch;
        }
        fixture_end(&fixture);
    }
}

static void kick_by_flags(void **state)
{
    static const struct {
        uint64_t features;
        uint16_t flags;
        bool kick;
    } cases[] = {
        {0, 0, true},
        {0, 1, false},
        {0, 2, true}, /* not negotiated */
        {0, 3, true}, /* reserved: notifying once too often is safe */
        {0, 0xfffd, false},
        {VIRTIO_F_EVENT_IDX, 0, true},
        {VIRTIO_F_EVENT_IDX, 1, false},
        {VIRTIO_F_EVENT_IDX, 3, true},
        {VIRTIO_F_EVENT_IDX, 2, false}, /* at an offset that does not exist */
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fixture_begin(&fixture, 16, cases[i].features, 0, 0);
        *fake_device_event(0) = (struct fake_packed_event){0x8005, cases[i].flags};
        assert_true(fixture_add(&fixture, 0, 1, 0));
        assert_int_equal(virtqueue_publish(&fixture.queue), cases[i].kick);
        fixture_end(&fixture);
    }
}

/* The event names the descriptor `delay` places ahead, with the wrap counter of its lap
 * (2.8.10). */
static void event_at_each_place(void **state)
{
    (void)state;
    fixture_begin(&fixture, 8, VIRTIO_F_EVENT_IDX, 0, 0);
    assert_int_equal(fake_driver_event(0)->flags, 1);
    for (uint64_t total = 0; total < 40; total++) {
        for (uint16_t delay = 0; delay < 8; delay++) {
            uint64_t event = total + delay;

            assert_true(virtqueue_enable(&fixture.queue, delay));
            assert_int_equal(fake_driver_event(0)->flags, 2);
            assert_int_equal(fake_driver_event(0)->where,
                             event % 8 | (unsigned)fake_packed_wrap(0, event) << 15);
        }
        virtqueue_suppress(&fixture.queue);
        assert_int_equal(fake_driver_event(0)->flags, 1);
        assert_true(fixture_add(&fixture, 0, 1, 0));
        (void)virtqueue_publish(&fixture.queue);
        take_all(1);
    }
    fixture_end(&fixture);
    fixture_begin(&fixture, 8, 0, 0, 0);
    assert_true(virtqueue_enable(&fixture.queue, 3));
    assert_int_equal(fake_driver_event(0)->flags, 0);
    fixture_end(&fixture);
}

/* With chains of several descriptors the device skips places, so an event inside a chain may never
 * be written. The driver must detect earlier completions by the chain's first descriptor. */
static void no_event_is_lost_inside_a_chain(void **state)
{
    struct ring_chain chain[2];
    uint32_t bytes;

    (void)state;
    for (uint16_t delay = 0; delay < 6; delay++) {
        fixture_begin(&fixture, 8, VIRTIO_F_EVENT_IDX, 0, 0);
        assert_true(fixture_add(&fixture, 0, 3, 0));
        assert_true(fixture_add(&fixture, 8, 3, 0));
        (void)virtqueue_publish(&fixture.queue);
        assert_true(fake_pop(0, &chain[0]));
        assert_true(fake_pop(0, &chain[1]));
        /* Asked in time: the event passes with the chain it lies in. */
        assert_true(virtqueue_enable(&fixture.queue, delay));
        assert_true(virtqueue_armed(&fixture.queue));
        fake_complete(0, &chain[0], 0);
        assert_int_equal(fake_raised(), delay < 3);
        /* Asked too late. */
        assert_false(virtqueue_enable(&fixture.queue, delay));
        assert_false(virtqueue_armed(&fixture.queue));
        assert_ptr_equal(fixture_take(&fixture, &bytes), fixture.memory[0]);
        fixture.device.raised[0] = false;
        assert_true(virtqueue_enable(&fixture.queue, 0));
        fake_complete(0, &chain[1], 0);
        assert_true(fake_raised());
        fixture_end(&fixture);
    }
}

/* A chain takes one id but several descriptors; a chain that the device keeps does not block the
 * ring. */
static void long_runner(void **state)
{
    struct ring_chain kept;
    uint32_t bytes;

    (void)state;
    fake_skip(VIRTIO_F_IN_ORDER);
    fixture_begin(&fixture, 8, 0, 0, 0);
    assert_true(fixture_add(&fixture, 0, 1, 1));
    (void)virtqueue_publish(&fixture.queue);
    assert_true(fake_pop(0, &kept));
    for (unsigned i = 0; i < 1000; i++) {
        unsigned count = 1 + i % 6;

        assert_true(fixture_add(&fixture, 1, count, 0));
        assert_int_equal(virtqueue_has_room(&fixture.queue, 6 - count + 1), false);
        (void)virtqueue_publish(&fixture.queue);
        take_all(1);
    }
    fake_push(0, kept.id, 9);
    assert_ptr_equal(fixture_take(&fixture, &bytes), fixture.memory[0]);
    assert_int_equal(bytes, 9);
    assert_int_equal(fixture.queue.free_count, 8);
    fixture_end(&fixture);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_flags_come_last), cmocka_unit_test(used_needs_both_flags),
        cmocka_unit_test(kick_at_the_event),     cmocka_unit_test(kick_by_flags),
        cmocka_unit_test(event_at_each_place),   cmocka_unit_test(no_event_is_lost_inside_a_chain),
        cmocka_unit_test(long_runner),
    };

    fake_choose_ring(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
