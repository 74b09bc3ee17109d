/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the network driver on a malicious device: no access out of bounds, no buffer lost or
 * returned twice. */
#include "owner.h"
#include <string.h>

static struct owner owner;

static void begin(void)
{
    owner_prepare(&owner, FAKE_PCI, 3);
    owner_start(&owner);
}

/* Checks that the driver stops, reports the reason and returns everything. */
static void expect_broken(const char *what)
{
    struct virtio_net_statistics s;
    uint64_t notifications = owner.device.queue[0].notifications;
    unsigned log_lines = fake_log_lines;

    owner_move(&owner);
    assert_non_null(virtio_net_broken(owner.net));
    assert_non_null(strstr(virtio_net_broken(owner.net), what));
    assert_int_equal(fake_log_lines, log_lines + 1);
    assert_true(owner.signalled); /* so that the port runs the bottom half */
    owner_bottom_half(&owner);
    for (unsigned i = 0; i < 10; i++) {
        virtio_net_interrupt(owner.net);
        assert_false(virtio_net_bottom_half(owner.net));
        virtio_net_refill(owner.net);
        virtio_net_flush(owner.net);
        assert_false(owner_send(&owner, 100, 1, false));
    }
    s = owner_statistics(&owner);
    assert_int_equal(s.broken, 1);
    assert_int_equal(owner.device.queue[0].notifications, notifications);
    owner_check_balance(&owner);
    owner_finish(&owner);
}

static void received_id_out_of_range(void **state)
{
    (void)state;
    begin();
    fake_push(0, 8, 100);
    expect_broken("id");
}

static void received_id_never_exposed(void **state)
{
    (void)state;
    owner_prepare(&owner, FAKE_PCI, 3);
    owner.parameters.rx_buffers = 5;
    owner_start(&owner);
    fake_push(0, 6, 100);
    expect_broken("id");
}

static void received_twice(void **state)
{
    (void)state;
    begin();
    assert_true(owner_inject(&owner, 64));
    fake_push(0, 0, 76);
    /* The first entry is valid. Its buffer is replaced only later, so the second entry names no
     * chain. */
    expect_broken("id");
    assert_int_equal(owner.received, 1);
}

/* Bug of other drivers: the used length is not checked. */
static void received_longer_than_the_buffer(void **state)
{
    static const uint32_t lengths[] = {1527, 65536, 0x80000000, 0xffffffff};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        begin();
        fake_push(0, 0, lengths[i]);
        expect_broken("length");
    }
}

/* Bug of other drivers: the length minus the header underflows, and the slot leaks. */
static void received_shorter_than_a_frame(void **state)
{
    struct virtio_net_statistics s;

    (void)state;
    begin();
    for (uint32_t bytes = 0; bytes < 26; bytes++) {
        struct ring_chain chain;

        assert_true(fake_pop(0, &chain));
        fake_complete(0, &chain, bytes);
        owner_settle(&owner);
    }
    s = owner_statistics(&owner);
    assert_int_equal(s.rx_bad, 26);
    assert_int_equal(s.rx_frames, 0);
    assert_int_equal(s.rx_exposed, 8);
    assert_int_equal(s.rx_buffers_taken, 8); /* always the same ones */
    assert_true(owner_inject(&owner, 14));
    owner_settle(&owner);
    assert_int_equal(owner.received, 1);
    owner_finish(&owner);
}

static void received_index_jumps(void **state)
{
    static const uint16_t jumps[] = {9, 256, 0x8000, 0xffff};

    (void)state;
    fake_skip(VIRTIO_F_RING_PACKED);
    for (unsigned i = 0; i < 4; i++) {
        begin();
        *fake_used_index(0) = jumps[i];
        expect_broken("ahead");
    }
}

static void sent_id_and_length(void **state)
{
    (void)state;
    begin();
    assert_true(owner_send(&owner, 100, 3, false));
    virtio_net_flush(owner.net);
    fake_push(1, 1, 0); /* inside the chain */
    expect_broken("id");
    begin();
    assert_true(owner_send(&owner, 100, 3, false));
    virtio_net_flush(owner.net);
    fake_push(1, 0, 112); /* the number of bytes read: the device can't have written any (2.7.8) */
    owner_fetch_packets(&owner);
    assert_int_equal(owner.returned, 1);
    assert_null(virtio_net_broken(owner.net));
    owner_finish(&owner);
    begin();
    fake_push(1, 0, 0); /* nothing was sent at all */
    expect_broken("ahead");
}

/* A sender detects the failure, not the interrupt handler; the bottom half is signalled anyway. */
static void detected_while_sending(void **state)
{
    (void)state;
    for (unsigned by = 0; by < 2; by++) {
        begin();
        /* A quarter of the ring, after which a sender reads it. */
        for (unsigned i = 0; i < 64; i++) {
            assert_true(owner_send(&owner, 100, 1, false));
        }
        virtio_net_flush(owner.net);
        fake_push(1, 77, 0);
        if (by == 0) {
            assert_false(owner_send(&owner, 100, 1, false));
        } else {
            assert_null(virtio_net_transmitted(owner.net));
        }
        assert_non_null(virtio_net_broken(owner.net));
        assert_true(owner.signalled);
        owner_bottom_half(&owner);
        owner_finish(&owner);
    }
}

static void broken_with_everything_full(void **state)
{
    (void)state;
    owner_prepare(&owner, FAKE_PCI, 3);
    owner.parameters.tx_ring = 16;
    owner_start(&owner);
    while (owner_send(&owner, 400, 2, false)) {
    }
    for (unsigned i = 0; i < 4; i++) {
        assert_true(owner_inject(&owner, 64));
    }
    owner_move(&owner);
    (void)owner_device_send(&owner, 3);
    assert_true(owner_inject(&owner, 64));
    fake_push(0, 100, 0);
    expect_broken("id");
}

static void frames_before_the_fault_are_delivered(void **state)
{
    (void)state;
    begin();
    for (unsigned i = 0; i < 3; i++) {
        assert_true(owner_inject(&owner, 100));
    }
    fake_push(0, 99, 0);
    owner_settle(&owner);
    assert_int_equal(owner.received, 3);
    assert_non_null(virtio_net_broken(owner.net));
    owner_finish(&owner);
}

static void header_fields_are_ignored(void **state)
{
    struct ring_chain chain;

    (void)state;
    begin();
    assert_true(fake_pop(0, &chain));
    memset(fake_memory(&chain.segment[0]), 0xff, 12); /* gso, hdr_len, num_buffers: 65,535 */
    for (unsigned i = 0; i < 60; i++) {
        fake_memory(&chain.segment[0])[12 + i] = (uint8_t)(i < 4 ? 0 : i * 11u + 1u);
    }
    fake_complete(0, &chain, 72);
    owner_settle(&owner);
    assert_int_equal(owner.received, 1);
    assert_int_equal(owner.frame_bytes, 60);
    assert_null(virtio_net_broken(owner.net));
    owner_finish(&owner);
}

static void interrupt_storm(void **state)
{
    (void)state;
    for (uint16_t count = 0; count < 3; count++) {
        owner_prepare(&owner, FAKE_PCI, count);
        owner_start(&owner);
        for (unsigned i = 0; i < 10000; i++) {
            owner.device.isr = (uint8_t)i;
            virtio_net_interrupt(owner.net);
            virtio_net_configuration_interrupt(owner.net);
        }
        owner.device.isr = 0;
        memset(owner.device.raised, 0, sizeof(owner.device.raised));
        owner_settle(&owner);
        assert_true(owner_inject(&owner, 64));
        owner_settle(&owner);
        assert_int_equal(owner.received, 1);
        owner_finish(&owner);
    }
}

static uint32_t seed;

static void lie_packed(unsigned index, bool absurd)
{
    struct fake_queue *queue = &owner.device.queue[index];
    uint16_t id = (uint16_t)((seed & 0x30000) != 0 ? (seed >> 24) % queue->ring.size : seed);
    uint32_t bytes = absurd || index == 1 ? seed : seed >> 22;

    if ((seed & 0x400) != 0) { /* most often where the driver looks */
        queue->ring.used += (seed & 0xf00000) == 0 ? (seed >> 8) % 3 : 0;
        if (owner.device.queue[index].ring.available != queue->ring.used ||
            fake_available(index) != 0) {
            fake_packed_mark(index, queue->ring.used, id, bytes);
            queue->ring.used += (seed >> 14) % 8 != 0;
        }
    } else if (absurd) {
        fake_packed_descriptor(index, seed >> 3)->flags = (uint16_t)(seed >> 13);
    }
    *fake_device_event(index) =
        (struct fake_packed_event){(uint16_t)(seed >> 5), (uint16_t)(seed >> 7)};
    owner.device.isr = 3;
}

/* Writes plausible or absurd values to the words that the device may write. */
static void lie(void)
{
    unsigned index = (seed >> 9) & 1;
    uint32_t *element;
    uint16_t *used;
    bool absurd = (seed & 0xf000) == 0;

    if (fake_packed()) {
        lie_packed(index, absurd);
        return;
    }
    element = fake_used_element(index, (uint16_t)(seed >> 18));
    used = fake_used_index(index);
    element[0] = (seed & 0x30000) != 0 ? (seed >> 24) % owner.device.queue[index].ring.size : seed;
    if (index == 1) {
        element[1] = absurd;
    } else {
        element[1] = absurd ? seed : seed >> 22;
    }
    if ((seed & 0x400) != 0) {
        if ((seed & 0xf00000) == 0) {
            *used = (uint16_t)(*used + (seed >> 8));
        } else if (*used != *fake_available_index(index)) {
            *used = (uint16_t)(*used + (seed >> 14) % 2);
        }
    }
    *fake_available_event(index) = (uint16_t)(seed >> 5);
    *fake_used_flags(index) = (uint16_t)(seed >> 7);
    owner.device.isr = 3;
}

static void fetch_anything(void)
{
    struct virtio_net_buffer *buffer;

    while ((buffer = virtio_net_receive(owner.net)) != NULL) {
        assert_true(buffer->frame_bytes <= buffer->capacity - 12);
        ((struct owner_buffer *)buffer)->with_driver = false;
    }
}

static void use_anything(void)
{
    switch ((seed >> 26) % 8) {
    case 0:
        virtio_net_interrupt(owner.net);
        break;
    case 1:
        (void)virtio_net_bottom_half(owner.net);
        break;
    case 2:
        fetch_anything();
        break;
    case 3:
        owner_fetch_packets(&owner);
        break;
    case 4:
        virtio_net_flush(owner.net);
        break;
    case 5:
        virtio_net_refill(owner.net);
        break;
    default:
        (void)owner_send(&owner, 100 + (seed >> 21) % 40, 1 + (seed >> 11) % 4, false);
    }
}

/* The device may write at any time during all calls of the interface. */
static void random_faults(void **state)
{
    unsigned broken = 0;

    (void)state;
    seed = 2026;
    for (unsigned round = 0; round < 1500; round++) {
        owner_prepare(&owner, round % 2 != 0 ? FAKE_PCI : FAKE_MMIO, round % 2 != 0 ? 3 : 0);
        owner.parameters.tx_ring = (uint16_t)(4u << (round % 4));
        owner.parameters.interrupt_budget = (uint16_t)(1 + round % 7);
        owner.parameters.features_off = (round & 8) != 0 ? VIRTIO_F_EVENT_IDX : 0;
        owner_start(&owner);
        for (unsigned step = 0; step < 40; step++) {
            seed = seed * 1664525 + 1013904223;
            lie();
            use_anything();
            owner_check_balance(&owner);
        }
        broken += virtio_net_broken(owner.net) != NULL;
        owner_finish(&owner);
    }
    /* Many lies must take effect late, not all at the first step. */
    assert_true(broken > 300 && broken < 1500);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(received_id_out_of_range),
        cmocka_unit_test(received_id_never_exposed),
        cmocka_unit_test(received_twice),
        cmocka_unit_test(received_longer_than_the_buffer),
        cmocka_unit_test(received_shorter_than_a_frame),
        cmocka_unit_test(received_index_jumps),
        cmocka_unit_test(sent_id_and_length),
        cmocka_unit_test(detected_while_sending),
        cmocka_unit_test(broken_with_everything_full),
        cmocka_unit_test(frames_before_the_fault_are_delivered),
        cmocka_unit_test(header_fields_are_ignored),
        cmocka_unit_test(interrupt_storm),
        cmocka_unit_test(random_faults),
    };

    fake_choose_ring(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
