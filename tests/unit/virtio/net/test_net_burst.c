/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the driver's functions for a polling thread: bursts both ways past the wrap of the indices,
 * devices that use buffers in order or in any order, malicious devices. No buffer may be lost or
 * held twice.
 */
#include "fake.h"
#include "virtio/net_burst.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BUFFERS  96u
#define CAPACITY 1600u
#define RING     16u
#define FRAME    60u

static struct fake_device device;
static struct virtio_mmio mmio;
static struct virtio_pci pci;
static struct virtio_net *net;
static struct virtio_net_buffer buffers[BUFFERS];
static bool with_driver[BUFFERS];

static void took(struct virtio_net_buffer *const *taken, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        assert_false(with_driver[taken[i] - buffers]);
        with_driver[taken[i] - buffers] = true;
    }
}

static void gave_back(struct virtio_net_buffer *const *given, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        assert_true(with_driver[given[i] - buffers]);
        with_driver[given[i] - buffers] = false;
    }
}

static void return_buffer(void *context, struct virtio_net_buffer *buffer)
{
    (void)context;
    gave_back(&buffer, 1);
}

static const struct virtio_net_operations operations = {.return_buffer = return_buffer};

static void start(uint64_t offered)
{
    const struct virtio_net_parameters parameters = {
        .rx_buffers = RING, .tx_ring = RING, .polling = true};
    const char *reason;

    fake_reset_device(&device, FAKE_PCI, 3);
    device.offered = (device.offered & ~VIRTIO_F_EVENT_IDX) | offered;
    device.no_notifications = true;
    for (unsigned i = 0; i < BUFFERS; i++) {
        buffers[i] =
            (struct virtio_net_buffer){.memory = calloc(1, CAPACITY), .capacity = CAPACITY};
        with_driver[i] = false;
    }
    net = virtio_net_create(fake_probe(&mmio, &pci), &parameters, &operations, NULL, &reason);
    assert_non_null(net);
    assert_true((device.accepted & VIRTIO_F_INDIRECT_DESC) == 0);
    assert_true((device.accepted & (VIRTIO_F_IN_ORDER | VIRTIO_F_EVENT_IDX)) ==
                (device.offered & (VIRTIO_F_IN_ORDER | VIRTIO_F_EVENT_IDX)));
    fake_ask_notification(0);
    fake_ask_notification(1);
}

static void check_balance(void)
{
    struct virtio_net_statistics statistics;

    virtio_net_statistics(net, &statistics);
    assert_int_equal(statistics.rx_buffers_taken,
                     statistics.rx_buffers_returned + statistics.rx_exposed);
    assert_int_equal(statistics.tx_accepted, statistics.tx_returned + statistics.tx_in_flight);
    assert_int_equal(statistics.interrupts + statistics.signals, 0);
}

static void finish(void)
{
    check_balance();
    assert_true(virtio_net_stop(net));
    check_balance();
    virtio_net_free(net);
    for (unsigned i = 0; i < BUFFERS; i++) {
        assert_false(with_driver[i]);
        free(buffers[i].memory);
    }
    assert_false(fake_raised());
}

/* Returns the number of free buffers. */
static unsigned pick(struct virtio_net_buffer **picked, unsigned count)
{
    unsigned found = 0;

    for (unsigned i = 0; i < BUFFERS && found < count; i++) {
        if (!with_driver[i]) {
            picked[found++] = &buffers[i];
        }
    }
    return found;
}

static unsigned expose(unsigned count)
{
    struct virtio_net_buffer *picked[BUFFERS];
    unsigned exposed = virtio_net_expose_burst(net, picked, pick(picked, count));

    took(picked, exposed);
    return exposed;
}

static unsigned transmit(unsigned count, uint32_t number)
{
    struct virtio_net_buffer *picked[BUFFERS];
    unsigned sent;

    count = pick(picked, count);
    for (unsigned i = 0; i < count; i++) {
        picked[i]->frame_bytes = FRAME + i;
        memset(picked[i]->memory, 0xee, VIRTIO_NET_HEADER_BYTES);
        memset(picked[i]->memory + VIRTIO_NET_HEADER_BYTES, (int)(number + i), FRAME + i);
    }
    sent = virtio_net_transmit_burst(net, picked, count);
    took(picked, sent);
    return sent;
}

static unsigned reclaim(unsigned count)
{
    struct virtio_net_buffer *sent[VIRTIO_NET_BURST_MAX];

    count = virtio_net_transmitted_burst(net, sent, count);
    gave_back(sent, count);
    return count;
}

/* The device receives a frame, with a header of zeros in front of it. */
static void check_sent(uint32_t number, uint32_t bytes, bool complete)
{
    static const uint8_t header[VIRTIO_NET_HEADER_BYTES] = {0};
    uint8_t frame[CAPACITY];
    struct ring_chain chain;

    assert_int_equal(fake_transmit(frame, CAPACITY, complete, &chain),
                     bytes + VIRTIO_NET_HEADER_BYTES);
    assert_memory_equal(frame, header, sizeof(header));
    for (uint32_t i = 0; i < bytes; i++) {
        assert_int_equal(frame[VIRTIO_NET_HEADER_BYTES + i], (uint8_t)number);
    }
}

static void run_traffic(uint64_t offered)
{
    struct virtio_net_buffer *received[VIRTIO_NET_BURST_MAX];
    uint32_t chains = 0;
    uint8_t frame[FRAME];

    start(offered);
    assert_int_equal(expose(BUFFERS), RING);
    for (uint32_t round = 0; round < 140000 / 7; round++) {
        unsigned count = 1 + round % 7;

        assert_int_equal(transmit(count, round), count);
        for (unsigned i = 0; i < count; i++) {
            check_sent(round + i, FRAME + i, true);
            memset(frame, (int)(round + i), sizeof(frame));
            assert_true(fake_receive(frame, FRAME, 0));
        }
        assert_int_equal(reclaim(VIRTIO_NET_BURST_MAX), count);
        assert_int_equal(virtio_net_receive_burst(net, received, VIRTIO_NET_BURST_MAX), count);
        gave_back(received, count);
        for (unsigned i = 0; i < count; i++) {
            assert_int_equal(received[i]->frame_bytes, FRAME);
            assert_int_equal(received[i]->memory[VIRTIO_NET_HEADER_BYTES], (uint8_t)(round + i));
        }
        assert_int_equal(expose(count), count);
        assert_false(fake_raised());
        chains += count;
    }
    /* 2.7.10.1: an event index that does not change is reached once in 65,536 chains. */
    assert_int_equal(device.queue[0].notifications + device.queue[1].notifications,
                     (offered & VIRTIO_F_EVENT_IDX) != 0 ? 2 * (chains / 65536 + 1) : 0);
    finish();
}

static void test_traffic(void **state)
{
    (void)state;
    run_traffic(0);
}

static void test_traffic_in_order(void **state)
{
    (void)state;
    run_traffic(VIRTIO_F_IN_ORDER);
}

static void test_traffic_with_events(void **state)
{
    (void)state;
    run_traffic(VIRTIO_F_EVENT_IDX);
    run_traffic(VIRTIO_F_EVENT_IDX | VIRTIO_F_IN_ORDER);
}

static void test_ring_full_and_notified(void **state)
{
    (void)state;
    start(0);
    device.no_notifications = false;
    fake_ask_notification(1);
    assert_int_equal(transmit(RING + 4, 0), RING);
    assert_int_equal(device.queue[1].notifications, 1);
    assert_int_equal(transmit(1, 0), 0);
    assert_int_equal(virtio_net_transmitting(net), RING);
    check_sent(0, FRAME, true);
    assert_int_equal(reclaim(1), 1);
    assert_int_equal(transmit(2, 0), 1);
    finish();
}

static void test_device_uses_chains_in_any_order(void **state)
{
    struct ring_chain chain[RING];
    uint8_t frame[CAPACITY];

    (void)state;
    start(0);
    assert_int_equal(transmit(RING, 0), RING);
    for (unsigned i = 0; i < RING; i++) {
        assert_true(fake_transmit(frame, CAPACITY, false, &chain[i]) != 0);
    }
    fake_complete(1, &chain[3], 0);
    fake_complete(1, &chain[1], 0);
    assert_int_equal(reclaim(8), 2);
    assert_int_equal(transmit(RING, 0), 2);
    fake_complete(1, &chain[0], 0);
    assert_int_equal(reclaim(8), 1);
    for (unsigned i = 0; i < 2; i++) {
        check_sent(i, FRAME + i, true);
    }
    finish();
}

static void test_in_order_by_the_index_alone(void **state)
{
    struct ring_chain chain[4];
    uint8_t frame[CAPACITY];

    (void)state;
    start(VIRTIO_F_IN_ORDER);
    assert_int_equal(transmit(4, 0), 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_true(fake_transmit(frame, CAPACITY, false, &chain[i]) != 0);
    }
    /* 2.7.9: one element for all four. */
    fake_used_element(1, 0)[0] = chain[3].id;
    fake_used_element(1, 0)[1] = 0;
    *fake_used_index(1) = 4;
    assert_int_equal(reclaim(3), 3);
    assert_int_equal(reclaim(3), 1);
    finish();
}

/* Only the used index counts, within the chains that the device holds. */
static void test_in_order_only_the_index_counts(void **state)
{
    (void)state;
    start(VIRTIO_F_IN_ORDER);
    for (unsigned lap = 0; lap < 3; lap++) {
        assert_int_equal(transmit(6, 0), 6);
        for (unsigned i = 0; i < RING; i++) {
            memset(fake_used_element(1, (uint16_t)i), 0xff, 8);
        }
        *fake_used_index(1) = (uint16_t)(6 * lap + 4);
        assert_int_equal(reclaim(1), 1);
        *fake_used_index(1) = (uint16_t)(6 * lap + 1); /* as far back as possible */
        assert_int_equal(reclaim(8), 0);
        *fake_used_index(1) = (uint16_t)(6 * lap + 6);
        assert_int_equal(reclaim(2), 2);
        assert_int_equal(reclaim(8), 3);
        assert_null(virtio_net_broken(net));
    }
    assert_int_equal(transmit(2, 0), 2);
    *fake_used_index(1) = 19;
    assert_int_equal(reclaim(1), 1);
    *fake_used_index(1) = 21;
    assert_int_equal(reclaim(8), 0);
    assert_string_equal(virtio_net_broken(net), "used index ahead of what was made available");
    finish();
}

static void test_invalid_frames_are_refused(void **state)
{
    struct virtio_net_buffer *one = &buffers[0];

    (void)state;
    start(0);
    one->frame_bytes = 13;
    assert_int_equal(virtio_net_transmit_burst(net, &one, 1), 0);
    one->frame_bytes = 1515;
    assert_int_equal(virtio_net_transmit_burst(net, &one, 1), 0);
    one->frame_bytes = 0xffffffff;
    assert_int_equal(virtio_net_transmit_burst(net, &one, 1), 0);
    one->frame_bytes = 1514;
    assert_int_equal(virtio_net_transmit_burst(net, &one, 1), 1);
    took(&one, 1);
    one = &buffers[1];
    one->capacity = VIRTIO_NET_RECEIVE_BYTES - 1;
    assert_int_equal(virtio_net_expose_burst(net, &one, 1), 0);
    finish();
}

static void test_too_short_frame(void **state)
{
    struct virtio_net_buffer *received[4];
    uint8_t frame[FRAME] = {0};
    struct virtio_net_statistics statistics;

    (void)state;
    start(0);
    assert_int_equal(expose(4), 4);
    assert_true(fake_receive(frame, 13, 0));
    assert_true(fake_receive(frame, FRAME, 0));
    assert_int_equal(virtio_net_receive_burst(net, received, 4), 1);
    gave_back(received, 1);
    assert_int_equal(received[0]->frame_bytes, FRAME);
    virtio_net_statistics(net, &statistics);
    assert_int_equal(statistics.rx_bad, 1);
    assert_int_equal(statistics.rx_exposed, 3); /* exposed again */
    finish();
}

/* virtio_net_transmit_burst() writes a header of zeros, so a forwarder sends a frame with the
 * checksum it was received with. The device may leave that checksum incomplete only with GUEST_CSUM
 * (5.1.6.4.1), which the driver therefore does not accept. */
static void test_checksums_are_complete(void **state)
{
    struct virtio_net_buffer *received[2];
    uint8_t frame[FRAME] = {0};

    (void)state;
    start(VIRTIO_NET_F_GUEST_CSUM);
    assert_true((device.accepted & VIRTIO_NET_F_GUEST_CSUM) == 0);
    assert_int_equal(expose(2), 2);
    assert_true(fake_receive(frame, FRAME, 1));
    assert_true(fake_receive(frame, FRAME, 2));
    assert_int_equal(virtio_net_receive_burst(net, received, 2), 2);
    gave_back(received, 2);
    assert_int_equal(received[0]->checksum, VIRTIO_NET_CHECKSUM_UNKNOWN);
    assert_int_equal(received[1]->checksum, VIRTIO_NET_CHECKSUM_UNKNOWN);
    finish();
}

/* IEEE 802.1Q: the tag is not part of the MTU. virtio_net_transmit() follows the same rule. */
static void test_vlan_tag_is_beyond_the_mtu(void **state)
{
    struct virtio_net_buffer *one = &buffers[0];

    (void)state;
    start(0);
    one->memory[VIRTIO_NET_HEADER_BYTES + 12] = 0x81;
    one->memory[VIRTIO_NET_HEADER_BYTES + 13] = 0x00;
    one->frame_bytes = 1519;
    assert_int_equal(virtio_net_transmit_burst(net, &one, 1), 0);
    one->memory[VIRTIO_NET_HEADER_BYTES + 13] = 0x01;
    one->frame_bytes = 1518;
    assert_int_equal(virtio_net_transmit_burst(net, &one, 1), 0);
    one->memory[VIRTIO_NET_HEADER_BYTES + 13] = 0x00;
    assert_int_equal(virtio_net_transmit_burst(net, &one, 1), 1);
    took(&one, 1);
    finish();
}

static void test_configuration_changes_are_seen(void **state)
{
    (void)state;
    start(0);
    virtio_net_configuration_interrupt(net);
    assert_true(virtio_net_link_changed(net));
    assert_false(virtio_net_link_changed(net));
    assert_int_equal(expose(4), 4);
    device.status |= VIRTIO_STATUS_NEEDS_RESET;
    virtio_net_configuration_interrupt(net);
    assert_true(virtio_net_link_changed(net));
    assert_non_null(virtio_net_broken(net));
    finish();
}

enum lie { INDEX_AHEAD, ID_TOO_LARGE, ID_TWICE, ID_NOT_OURS, LENGTH_TOO_LARGE, LIES };

static void tell_lie(enum lie lie)
{
    struct ring_chain chain;

    assert_true(fake_pop(0, &chain));
    switch (lie) {
    case INDEX_AHEAD:
        *fake_used_index(0) = 5;
        break;
    case ID_TOO_LARGE:
        fake_push(0, RING, 100);
        break;
    case ID_TWICE:
        fake_push(0, chain.id, 100);
        fake_push(0, chain.id, 100);
        break;
    case ID_NOT_OURS:
        fake_push(0, RING - 1, 100);
        break;
    default:
        fake_push(0, chain.id, CAPACITY + 1);
    }
}

static void test_malicious_device(void **state)
{
    static const char *const reason[LIES] = {
        [INDEX_AHEAD] = "used index ahead of what was made available",
        [ID_TOO_LARGE] = "used id beyond the queue's size",
        [ID_TWICE] = "used id is no chain the device has",
        [ID_NOT_OURS] = "used id is no chain the device has",
        [LENGTH_TOO_LARGE] = "used length beyond the chain's writable bytes",
    };
    struct virtio_net_buffer *received[8];

    (void)state;
    for (unsigned in_order = 0; in_order < 2; in_order++) {
        for (unsigned lie = 0; lie < LIES; lie++) {
            unsigned count;

            start(in_order != 0 ? VIRTIO_F_IN_ORDER : 0);
            assert_int_equal(expose(4), 4);
            assert_int_equal(transmit(2, 0), 2);
            tell_lie(lie);
            count = virtio_net_receive_burst(net, received, 8);
            assert_int_equal(count, lie == ID_TWICE ? 1 : 0);
            gave_back(received, count);
            assert_non_null(virtio_net_broken(net));
            assert_string_equal(virtio_net_broken(net), reason[lie]);
            assert_int_equal(virtio_net_receive_burst(net, received, 8), 0);
            assert_int_equal(transmit(1, 0), 0);
            assert_int_equal(expose(1), 0);
            assert_int_equal(reclaim(8), 0);
            finish();
        }
    }
}

static void test_use_out_of_order_is_detected(void **state)
{
    struct virtio_net_buffer *received[8];
    struct ring_chain chain[2];

    (void)state;
    start(VIRTIO_F_IN_ORDER);
    assert_int_equal(expose(4), 4);
    assert_true(fake_pop(0, &chain[0]));
    assert_true(fake_pop(0, &chain[1]));
    fake_push(0, chain[1].id, 100);
    assert_int_equal(virtio_net_receive_burst(net, received, 8), 0);
    assert_string_equal(virtio_net_broken(net),
                        "used id is no chain that can be finished in order");
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_traffic),
        cmocka_unit_test(test_traffic_in_order),
        cmocka_unit_test(test_traffic_with_events),
        cmocka_unit_test(test_ring_full_and_notified),
        cmocka_unit_test(test_device_uses_chains_in_any_order),
        cmocka_unit_test(test_in_order_by_the_index_alone),
        cmocka_unit_test(test_in_order_only_the_index_counts),
        cmocka_unit_test(test_invalid_frames_are_refused),
        cmocka_unit_test(test_too_short_frame),
        cmocka_unit_test(test_checksums_are_complete),
        cmocka_unit_test(test_vlan_tag_is_beyond_the_mtu),
        cmocka_unit_test(test_configuration_changes_are_seen),
        cmocka_unit_test(test_malicious_device),
        cmocka_unit_test(test_use_out_of_order_is_detected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
