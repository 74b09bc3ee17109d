/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests adding and taking many chains at a time, which must have the same effect as one by one,
 * also mixed with other chains. The tests of virtqueue_hostile check that violations are detected
 * in batches of one. */
#include "virtqueue_fixture.h"
#include <string.h>

#define LIMIT 40u

static struct virtqueue_fixture fixture;
static struct virtqueue_item items[LIMIT];

static unsigned add_batch(unsigned first, unsigned count, bool writable)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned which = (first + i) % 64;
        struct virtqueue_segment segment = fixture_segment(&fixture, which, 8);

        items[i] = (struct virtqueue_item){fixture.memory[which], segment.address, segment.bytes};
    }
    return virtqueue_add_batch(&fixture.queue, items, count, writable);
}

/* virtqueue_add_batch() adds as many chains as fit, up to the first invalid one. */
static void adds_as_many_as_fit(void **state)
{
    (void)state;
    fixture_begin(&fixture, 16, 0, 0, 0);
    assert_int_equal(add_batch(0, 0, false), 0);
    (void)add_batch(0, 5, false);
    items[3].bytes = 0;
    assert_int_equal(virtqueue_add_batch(&fixture.queue, items, 5, false), 3);
    items[2].token = NULL;
    assert_int_equal(virtqueue_add_batch(&fixture.queue, items, 5, false), 2);
    assert_int_equal(add_batch(10, LIMIT, true), 6);
    assert_int_equal(add_batch(10, 1, true), 0);
    assert_int_equal(virtqueue_in_flight(&fixture.queue), 16);
    fixture_end(&fixture);
}

/* The device sees and returns the right chains, in random order or in order, mixed with longer and
 * indirect chains, with the ring full or empty. */
static void mixed_with_others(void **state)
{
    bool in_order = (fake_ring_features & VIRTIO_F_IN_ORDER) != 0;
    struct ring_chain held[32];
    unsigned expected[32] = {0};
    unsigned held_count = 0;
    unsigned added = 0;
    unsigned taken = 0;
    unsigned seed = 5;

    (void)state;
    fixture_begin(&fixture, 32, VIRTIO_F_EVENT_IDX | VIRTIO_F_INDIRECT_DESC, 8, 8);
    while (taken < 100000) {
        unsigned finished = 0;
        unsigned count;

        seed = seed * 1664525 + 1013904223;
        added += add_batch(added, (seed >> 8) % LIMIT, (seed & 1) != 0);
        if ((seed & 6) == 0) {
            added += fixture_add(&fixture, added % 64, (seed >> 20) % 3, 1 + (seed >> 24) % 3);
        }
        (void)virtqueue_publish(&fixture.queue);
        while (held_count < 32 && fake_pop(0, &held[held_count])) {
            held_count++;
        }
        for (count = (seed >> 14) % 33; count != 0 && held_count != 0; count--) {
            unsigned which = in_order ? 0 : (seed >> 18) % held_count;
            const struct ring_segment *first = &held[which].segment[0];

            expected[finished++] = (unsigned)(fake_memory(first) - fixture.memory[0]) / 64;
            fake_push(0, held[which].id, held[which].segment[held[which].count - 1].writable);
            held_count--;
            memmove(&held[which], &held[which + 1], (held_count - which) * sizeof(held[0]));
        }
        for (unsigned done = 0; done < finished; done += count) {
            unsigned limit = 1 + (seed >> 5) % LIMIT;

            count = virtqueue_take_batch(&fixture.queue, items, limit);
            assert_int_equal(count, limit < finished - done ? limit : finished - done);
            for (unsigned i = 0; i < count; i++) {
                assert_ptr_equal(items[i].token, fixture.memory[expected[done + i]]);
                assert_true(items[i].bytes <= 1);
            }
        }
        assert_int_equal(virtqueue_take_batch(&fixture.queue, items, LIMIT), 0);
        assert_null(fixture.queue.broken);
        taken += finished;
    }
    assert_true(fixture.device.queue[0].ring.indirect_chains > 100);
    fixture_end(&fixture);
}

/* Chains before an invalid used entry are delivered; the invalid entry is detected. */
static void takes_up_to_an_invalid_entry(void **state)
{
    static const uint16_t lies[] = {16, 0xffff, 15}; /* beyond the queue, twice; nobody's */
    struct ring_chain chain[8];

    (void)state;
    for (unsigned at = 0; at < 8; at++) {
        for (unsigned lie = 0; lie < 4; lie++) {
            fixture_begin(&fixture, 16, 0, 0, 0);
            assert_int_equal(add_batch(0, 8, true), 8);
            (void)virtqueue_publish(&fixture.queue);
            for (unsigned i = 0; i < 8; i++) {
                assert_true(fake_pop(0, &chain[i]));
            }
            for (unsigned i = 0; i < 8; i++) {
                if (i == at && lie < 3) {
                    fake_push(0, lies[lie], 0);
                } else {
                    fake_push(0, chain[i].id, i == at ? 9 : 8);
                }
            }
            assert_int_equal(virtqueue_take_batch(&fixture.queue, items, LIMIT), at);
            assert_non_null(fixture.queue.broken);
            assert_int_equal(virtqueue_take_batch(&fixture.queue, items, LIMIT), 0);
            assert_int_equal(add_batch(0, 1, true), 0);
            fixture_end(&fixture);
        }
    }
}

/* IN_ORDER: one used entry for several chains, in the middle of the chains taken. */
static void batches_by_the_device(void **state)
{
    struct ring_chain chain[8];

    (void)state;
    if ((fake_ring_features & VIRTIO_F_IN_ORDER) == 0) {
        skip();
    }
    fixture_begin(&fixture, 8, 0, 0, 0);
    for (unsigned round = 0; round < 1000; round++) {
        unsigned first = round % 8;
        unsigned second = 1 + round % (8 - first);

        assert_int_equal(add_batch(0, 8, true), 8);
        (void)virtqueue_publish(&fixture.queue);
        for (unsigned i = 0; i < 8; i++) {
            assert_true(fake_pop(0, &chain[i]));
        }
        for (unsigned i = 0; i < first; i++) {
            fake_push(0, chain[i].id, 5);
        }
        fake_push_batch(0, &chain[first], second, 5);
        for (unsigned i = first + second; i < 8; i++) {
            fake_push(0, chain[i].id, 5);
        }
        assert_int_equal(virtqueue_take_batch(&fixture.queue, items, LIMIT), 8);
        for (unsigned i = 0; i < 8; i++) {
            bool skipped = i >= first && i + 1 < first + second;

            assert_ptr_equal(items[i].token, fixture.memory[i]);
            assert_int_equal(items[i].bytes, skipped ? 8 : 5);
        }
    }
    fixture_end(&fixture);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_as_many_as_fit),
        cmocka_unit_test(mixed_with_others),
        cmocka_unit_test(takes_up_to_an_invalid_entry),
        cmocka_unit_test(batches_by_the_device),
    };

    fake_choose_ring(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
