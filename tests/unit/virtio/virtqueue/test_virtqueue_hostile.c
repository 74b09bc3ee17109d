/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the virtqueue alone, in both formats, against a device that violates the rules (VIRTIO 1.3,
 * 2.7 and 2.8): violations are detected and never acted on. */
#include "virtqueue_fixture.h"
#include <string.h>

static struct virtqueue_fixture fixture;

static void expect_broken(const char *what, unsigned in_flight)
{
    uint32_t bytes;
    uint16_t position = 0;
    unsigned tokens = 0;

    assert_null(fixture_take(&fixture, &bytes));
    assert_non_null(fixture.queue.broken);
    assert_non_null(strstr(fixture.queue.broken, what));
    /* The queue stays broken, and does not read what the device writes then. */
    if (fake_packed()) {
        fake_packed_mark(0, 0, 0, 0);
    } else {
        *fake_used_index(0) = 1;
    }
    assert_null(fixture_take(&fixture, &bytes));
    assert_false(virtqueue_pending(&fixture.queue));
    assert_false(fixture_add(&fixture, 9, 1, 0));
    assert_false(virtqueue_publish(&fixture.queue));
    while (virtqueue_detach(&fixture.queue, &position) != NULL) {
        tokens++;
    }
    assert_int_equal(tokens, in_flight);
    fixture_end(&fixture);
}

static void begin_hostile(struct ring_chain *chain)
{
    fixture_begin(&fixture, 8, VIRTIO_F_EVENT_IDX, 0, 0);
    assert_true(fixture_add(&fixture, 0, 1, 0));
    assert_true(fixture_add(&fixture, 1, 1, 2));
    assert_true(fixture_add(&fixture, 2, 0, 1));
    (void)virtqueue_publish(&fixture.queue);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(fake_pop(0, &chain[i]));
    }
}

static void hostile_id_out_of_range(void **state)
{
    static const uint32_t ids[] = {8, 0xffff, 0x10000, 0x80000000, 0xffffffff};
    struct ring_chain chain[3];

    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        begin_hostile(chain);
        if (fake_packed() && ids[i] > 0xffff) { /* exceeds the field */
            fixture_end(&fixture);
            continue;
        }
        fake_push(0, ids[i], 0);
        expect_broken("size", 3);
    }
}

static void hostile_id_not_in_flight(void **state)
{
    struct ring_chain chain[3];

    (void)state;
    begin_hostile(chain);
    fake_push(0, 7, 0);
    expect_broken("no chain", 3);
    if ((fake_ring_features & VIRTIO_F_RING_PACKED) == 0) {
        begin_hostile(chain);
        fake_push(0, chain[1].id + 1u, 0); /* inside a chain, not its head */
        expect_broken("no chain", 3);
    }
}

static void hostile_id_twice(void **state)
{
    struct ring_chain chain[3];
    uint32_t bytes;

    (void)state;
    begin_hostile(chain);
    fake_push(0, chain[0].id, 0);
    fake_push(0, chain[0].id, 0);
    assert_non_null(fixture_take(&fixture, &bytes));
    assert_null(fixture_take(&fixture, &bytes));
    assert_non_null(strstr(fixture.queue.broken, "no chain"));
    fixture_end(&fixture);
}

/* A length beyond the writable bytes (2.7.8): the memory behind the buffer may be damaged. */
static void hostile_length(void **state)
{
    static const uint32_t lengths[3][2] = {{0, 0}, {9 + 10, 0xffffffff}, {8, 9}};
    struct ring_chain chain[3];
    uint32_t bytes;

    (void)state;
    for (unsigned i = 1; i < 3; i++) {
        begin_hostile(chain);
        for (unsigned j = 0; j <= i; j++) {
            fake_push(0, chain[j].id, lengths[j][0]);
            assert_non_null(fixture_take(&fixture, &bytes)); /* as long as it can be */
            assert_int_equal(bytes, lengths[j][0]);
        }
        fixture_end(&fixture);
        begin_hostile(chain);
        for (unsigned j = 0; j < i; j++) {
            fake_push(0, chain[j].id, 0);
            assert_non_null(fixture_take(&fixture, &bytes));
        }
        fake_push(0, chain[i].id, lengths[i][1]);
        expect_broken("length", 3 - i);
    }
}

/* Some devices report the bytes they read (kvmtool, bhyve). A chain without writable segments has
 * length 0 whatever the device reports (2.7.8, 2.8.4). Tests chains of one segment, of two, and of
 * two in an indirect table. */
static void length_of_readable_chains(void **state)
{
    static const uint32_t lengths[] = {1, 8, 17, 1526, 0x80000000, 0xffffffff};

    (void)state;
    for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct ring_chain chain;
        uint32_t bytes = 99;

        fixture_begin(&fixture, 8, VIRTIO_F_EVENT_IDX | VIRTIO_F_INDIRECT_DESC, 4, 4);
        for (unsigned which = 0; which < 5; which++) {
            assert_true(fixture_add(&fixture, which, which == 0 ? 1 : 2, 0));
            (void)virtqueue_publish(&fixture.queue);
        }
        for (unsigned which = 0; which < 5; which++) {
            assert_true(fake_pop(0, &chain));
            assert_int_equal(chain.indirect, which > 2);
            fake_push(0, chain.id, lengths[i]);
            assert_ptr_equal(fixture_take(&fixture, &bytes), fixture.memory[which]);
            assert_int_equal(bytes, 0);
        }
        assert_null(fixture.queue.broken);
        fixture_end(&fixture);
    }
}

/* The same if one used entry stands for several chains (2.7.9, 2.8.8). */
static void length_of_readable_chains_in_a_batch(void **state)
{
    struct ring_chain chain[4];
    uint32_t bytes = 99;

    (void)state;
    if ((fake_ring_features & VIRTIO_F_IN_ORDER) == 0) {
        skip();
    }
    for (unsigned readable = 1; readable <= 2; readable++) {
        fixture_begin(&fixture, 8, 0, 0, 0);
        for (unsigned i = 0; i < 4; i++) {
            assert_true(fixture_add(&fixture, i, readable, 0));
        }
        (void)virtqueue_publish(&fixture.queue);
        for (unsigned i = 0; i < 4; i++) {
            assert_true(fake_pop(0, &chain[i]));
        }
        fake_push_batch(0, chain, 4, 1538);
        for (unsigned i = 0; i < 4; i++) {
            assert_ptr_equal(fixture_take(&fixture, &bytes), fixture.memory[i]);
            assert_int_equal(bytes, 0);
        }
        assert_null(fixture.queue.broken);
        fixture_end(&fixture);
    }
}

/* options.length_clamped: a reported length beyond the writable bytes is reduced to these. */
static void length_clamped(void **state)
{
    static const uint32_t lengths[] = {0, 1, 19, 20, 65, 0xffffffff};

    (void)state;
    for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct ring_chain chain[3];
        uint32_t bytes = 99;

        begin_hostile(chain);
        fixture.queue.length_clamped = true;
        fake_push(0, chain[0].id, lengths[i]);
        assert_non_null(fixture_take(&fixture, &bytes));
        assert_int_equal(bytes, 0);
        fake_push(0, chain[1].id, lengths[i]); /* 9 and 10 bytes are writable */
        assert_non_null(fixture_take(&fixture, &bytes));
        assert_int_equal(bytes, lengths[i] < 19 ? lengths[i] : 19);
        fake_push(0, chain[2].id, lengths[i]); /* 8 bytes */
        assert_non_null(fixture_take(&fixture, &bytes));
        assert_int_equal(bytes, lengths[i] < 8 ? lengths[i] : 8);
        assert_null(fixture.queue.broken);
        fixture_end(&fixture);
    }
}

static void hostile_used_index(void **state)
{
    static const uint16_t jumps[] = {4, 5, 8, 9, 0x7fff, 0x8000, 0xfffe, 0xffff};
    struct ring_chain chain[3];

    (void)state;
    fake_skip(VIRTIO_F_RING_PACKED);
    for (unsigned i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++) {
        begin_hostile(chain);
        *fake_used_index(0) = jumps[i];
        assert_false(virtqueue_enable(&fixture.queue, 2)); /* there is work */
        assert_true(virtqueue_pending(&fixture.queue));
        expect_broken("index", 3);
    }
}

/* The chain was added but not published, so the device can't have used it. */
static void hostile_unpublished_chain(void **state)
{
    (void)state;
    fixture_begin(&fixture, 8, 0, 0, 0);
    assert_true(fixture_add(&fixture, 0, 1, 0));
    assert_true(fixture_add(&fixture, 1, 1, 0));
    assert_true(fixture_add(&fixture, 2, 1, 0));
    fake_push(0, 0, 0);
    assert_true(virtqueue_pending(&fixture.queue));
    expect_broken("ahead", 3);
}

/* Bug of other drivers: the chain is followed through the ring, which the device can write. */
static void hostile_descriptors(void **state)
{
    struct ring_chain chain[3];
    uint32_t bytes;
    uint8_t *ring;

    (void)state;
    begin_hostile(chain);
    ring = (uint8_t *)(uintptr_t)(fixture.device.queue[0].ring.descriptors - FAKE_DMA_OFFSET);
    memset(ring, 0x5a, 128);
    fake_push(0, chain[0].id, 0);
    fake_push(0, chain[1].id, 1);
    fake_push(0, chain[2].id, 1);
    for (unsigned i = 0; i < 3; i++) {
        assert_non_null(fixture_take(&fixture, &bytes));
    }
    assert_int_equal(fixture.queue.free_count, 8);
    memset(ring, 0x5a, 128);
    for (unsigned i = 0; i < 4; i++) {
        assert_true(fixture_add(&fixture, i, 1, 1));
    }
    (void)virtqueue_publish(&fixture.queue);
    for (unsigned i = 0; i < 4; i++) {
        assert_true(fake_pop(0, &chain[0]));
        assert_int_equal(chain[0].count, 2);
    }
    fixture_end(&fixture);
}

static void lie(uint32_t seed)
{
    uint32_t id = (seed & 0x100) != 0 ? (seed >> 24) % 17 : seed;
    uint32_t bytes = (seed & 0x200) != 0 ? seed >> 27 : seed;

    if (fake_packed()) {
        uint64_t where = fixture.queue.ring_taken + ((seed & 0x7000) == 0 ? seed >> 16 : 0);

        /* Without a chain in flight this breaks the queue at once, so it happens rarely. */
        if (fixture.queue.taken != fixture.queue.published || seed >> 27 == 0) {
            bool plausible = (seed & 0x600000) != 0;

            fake_packed_mark(0, where, plausible ? (seed >> 24) % 4 : (uint16_t)id,
                             plausible ? (seed >> 26) % 8 : bytes);
        }
        if ((seed & 0x1f800) == 0) {
            fake_packed_descriptor(0, seed >> 14)->flags = (uint16_t)(seed >> 9);
        }
        *fake_device_event(0) =
            (struct fake_packed_event){(uint16_t)(seed >> 3), (uint16_t)(seed >> 6)};
        return;
    }
    fake_used_element(0, (uint16_t)(seed >> 18))[0] = id;
    fake_used_element(0, (uint16_t)(seed >> 14))[1] = bytes;
    *fake_used_index(0) =
        (uint16_t)(fixture.queue.taken + ((seed & 0x7000) == 0 ? seed >> 16 : (seed >> 28) % 3));
    *fake_available_event(0) = (uint16_t)(seed >> 3);
}

/* The device writes arbitrary values: no access is out of bounds, and each token is returned
 * once. */
static void hostile_random(void **state)
{
    uint32_t seed = 99;
    unsigned broken = 0;
    unsigned tokens = 0;

    (void)state;
    for (unsigned round = 0; round < 3000; round++) {
        bool out[64] = {false};
        uint64_t features = (round & 1 ? VIRTIO_F_EVENT_IDX : 0) | VIRTIO_F_INDIRECT_DESC;
        uint16_t position = 0;
        const uint8_t *token;
        uint32_t bytes;

        fixture_begin(&fixture, 16, features, 4, 4);
        for (unsigned step = 0; step < 60; step++) {
            unsigned which;

            seed = seed * 1664525 + 1013904223;
            which = (seed >> 10) % 64;
            if (!out[which] && fixture_add(&fixture, which, (seed >> 16) % 3, (seed >> 20) % 3)) {
                out[which] = true;
            }
            (void)virtqueue_publish(&fixture.queue);
            lie(seed);
            (void)virtqueue_enable(&fixture.queue, (uint16_t)((seed >> 8) % 3));
            while ((token = fixture_take(&fixture, &bytes)) != NULL) {
                which = (unsigned)(token - fixture.memory[0]) / 64;
                assert_true(out[which]);
                out[which] = false;
                tokens++;
            }
        }
        broken += fixture.queue.broken != NULL;
        while ((token = virtqueue_detach(&fixture.queue, &position)) != NULL) {
            assert_true(out[(unsigned)(token - fixture.memory[0]) / 64]);
            out[(unsigned)(token - fixture.memory[0]) / 64] = false;
        }
        for (unsigned i = 0; i < 64; i++) {
            assert_false(out[i]);
        }
        assert_int_equal(fixture.queue.free_count, 16);
        assert_int_equal(fixture.queue.free_table_count, 4);
        fixture_end(&fixture);
    }
    assert_true(broken > 2000 && tokens > 500); /* some violations are detected, others can't be */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_id_out_of_range),
        cmocka_unit_test(hostile_id_not_in_flight),
        cmocka_unit_test(hostile_id_twice),
        cmocka_unit_test(hostile_length),
        cmocka_unit_test(length_of_readable_chains),
        cmocka_unit_test(length_of_readable_chains_in_a_batch),
        cmocka_unit_test(length_clamped),
        cmocka_unit_test(hostile_used_index),
        cmocka_unit_test(hostile_unpublished_chain),
        cmocka_unit_test(hostile_descriptors),
        cmocka_unit_test(hostile_random),
    };

    fake_choose_ring(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
