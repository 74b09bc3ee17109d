/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests transmission: valid packets, notification, completion with few interrupts, the send
 * queue. */
#include "owner.h"
#include <string.h>

static struct owner owner;

/* Counts descriptors if the header shares a descriptor with data: one for each piece, none for the
 * header. */
static void frames_leave(void **state)
{
    struct ring_chain chain;

    (void)state;
    owner_start_with(&owner, FAKE_PCI, 3, 0, 0);
    for (unsigned segments = 1; segments <= 8; segments++) {
        assert_true(owner_send(&owner, 1514, segments, segments % 2 != 0));
        virtio_net_flush(owner.net);
        assert_true(owner_device_take(&owner, &chain));
        assert_int_equal(chain.count, segments);
        fake_complete(1, &chain, 0);
        fake_ask_notification(1);
    }
    owner_finish(&owner);
}

static void rules_for_packets(void **state)
{
    struct owner_packet *ours;

    (void)state;
    owner_start_with(&owner, FAKE_MMIO, 0, 0, 0);
    assert_false(owner_send(&owner, 13, 1, false));
    assert_false(owner_send(&owner, 1515, 1, false));
    ours = owner_packet(&owner, 100, 1);
    ours->packet.segment_count = 0;
    assert_false(virtio_net_transmit(owner.net, &ours->packet));
    ours->packet.segment_count = 9;
    assert_false(virtio_net_transmit(owner.net, &ours->packet));
    ours->packet.segment_count = 2;
    ours->packet.segment[1].bytes = 0;
    assert_false(virtio_net_transmit(owner.net, &ours->packet));
    ours->packet.segment[1].bytes = UINT32_MAX - 50; /* the sum overflows */
    assert_false(virtio_net_transmit(owner.net, &ours->packet));
    ours = owner_packet(&owner, 100, 1);
    ours->packet.checksum_partial = true;
    ours->packet.checksum_start = 90;
    ours->packet.checksum_offset = 9; /* the checksum would lie one byte behind the frame */
    assert_false(virtio_net_transmit(owner.net, &ours->packet));
    ours->packet.checksum_start = 65535;
    ours->packet.checksum_offset = 65535;
    assert_false(virtio_net_transmit(owner.net, &ours->packet));
    assert_int_equal(owner_statistics(&owner).tx_refused, 8);
    assert_int_equal(owner_statistics(&owner).tx_accepted, 0);
    owner_finish(&owner);
}

/* The frame may exceed the MTU by one tag. */
static void tagged_frames(void **state)
{
    struct owner_packet *ours;

    (void)state;
    owner_start_with(&owner, FAKE_MMIO, 0, 0, 0);
    ours = owner_packet(&owner, 1518, 1);
    assert_false(virtio_net_transmit(owner.net, &ours->packet));
    ours->packet.segment[0].memory[12] = 0x81;
    ours->packet.segment[0].memory[13] = 0x00;
    ours->with_driver = true;
    owner.sent++;
    assert_true(virtio_net_transmit(owner.net, &ours->packet));
    ours = owner_packet(&owner, 1519, 1);
    ours->packet.segment[0].memory[12] = 0x81;
    ours->packet.segment[0].memory[13] = 0x00;
    assert_false(virtio_net_transmit(owner.net, &ours->packet));
    owner_finish(&owner);
}

static void checksum_only_if_negotiated(void **state)
{
    (void)state;
    owner_start_with(&owner, FAKE_MMIO, 0, VIRTIO_NET_F_CSUM, 0);
    assert_int_equal(virtio_net_features(owner.net) & VIRTIO_NET_F_CSUM, 0);
    assert_false(owner_send(&owner, 100, 1, true));
    owner_finish(&owner);
}

/* Prepares a packet that the device segments: `headers` bytes of headers, `size` bytes of data per
 * frame. */
static struct owner_packet *large_packet(uint32_t bytes, unsigned segments, uint16_t size)
{
    struct owner_packet *ours = owner_packet(&owner, bytes, segments);

    ours->packet.gso_type = VIRTIO_NET_GSO_TCPV4;
    ours->packet.gso_bytes = size;
    ours->packet.header_bytes = 54;
    ours->packet.checksum_partial = true;
    ours->packet.checksum_start = 34;
    ours->packet.checksum_offset = 16;
    return ours;
}

static bool send_large(struct owner_packet *ours)
{
    ours->with_driver = virtio_net_transmit(owner.net, &ours->packet);
    owner.sent += ours->with_driver;
    return ours->with_driver;
}

/* 5.1.6.2: type, size and header length tell the device how to segment. */
static void segmentation_header(void **state)
{
    static const enum virtio_net_gso types[] = {VIRTIO_NET_GSO_TCPV4, VIRTIO_NET_GSO_TCPV6};

    (void)state;
    owner_start_with(&owner, FAKE_PCI, 3, 0, 0);
    for (unsigned i = 0; i < 2; i++) {
        struct owner_packet *ours = large_packet(60000, 8, 1460);
        const uint8_t expected[12] = {1, (uint8_t)types[i], 54, 0, 0xb4, 0x05, 34, 0, 16, 0, 0, 0};
        struct ring_chain chain;

        ours->packet.gso_type = types[i];
        assert_true(send_large(ours));
        virtio_net_flush(owner.net);
        assert_true(fake_pop(1, &chain));
        assert_int_equal(chain.count, 8);
        assert_memory_equal(fake_memory(&chain.segment[0]), expected, sizeof(expected));
        fake_complete(1, &chain, 0);
        fake_ask_notification(1);
    }
    owner_finish(&owner);
}

_Static_assert(sizeof(enum virtio_net_gso) == sizeof(unsigned),
               "as rules_for_segmentation() sets it");

static void rules_for_segmentation(void **state)
{
    struct owner_packet *ours;

    (void)state;
    owner_start_with(&owner, FAKE_MMIO, 0, VIRTIO_NET_F_HOST_TSO6, 0);
    ours = large_packet(3000, 2, 1460);
    ours->packet.gso_type = VIRTIO_NET_GSO_TCPV6; /* not negotiated */
    assert_false(send_large(ours));
    /* UDP, which the driver does not support. */
    memcpy(&ours->packet.gso_type, &(unsigned){3}, sizeof(unsigned));
    assert_false(send_large(ours));
    ours->packet.gso_type = VIRTIO_NET_GSO_NONE; /* too long without segmentation */
    assert_false(send_large(ours));
    ours->packet.gso_type = VIRTIO_NET_GSO_TCPV4;
    ours->packet.checksum_partial = false;
    assert_false(send_large(ours));
    ours->packet.checksum_partial = true;
    ours->packet.gso_bytes = 0;
    assert_false(send_large(ours));
    ours->packet.gso_bytes = 1461; /* with the headers one byte more than the MTU */
    assert_false(send_large(ours));
    ours->packet.gso_bytes = 1460;
    ours->packet.header_bytes = 1501; /* not within the first piece */
    assert_false(send_large(ours));
    ours->packet.header_bytes = 3000;
    assert_false(send_large(ours));
    ours->packet.header_bytes = 54;
    ours->packet.segment[1].bytes = 65549 - 1500 + 1;
    assert_false(send_large(ours));
    ours->packet.segment[1].bytes = 1500;
    assert_true(send_large(ours));
    assert_int_equal(owner_statistics(&owner).tx_refused, 9);
    owner_finish(&owner);
}

/* A frame in several packets is one chain, and its packets are returned together. */
static void frames_of_several_packets(void **state)
{
    static struct virtio_net_packet rests[8];
    static uint8_t data[100];

    (void)state;
    for (unsigned ring = 32; ring <= 128; ring *= 4) {
        unsigned fit = ring < 64 ? ring : 64;
        struct owner_packet *first;
        struct ring_chain chain;

        owner_start_with(&owner, FAKE_MMIO, 0, 0, (uint16_t)ring);
        assert_int_equal(virtio_net_segments_max(owner.net), fit);
        first = large_packet(800, 8, 1460);
        first->packet.rest = rests;
        for (unsigned i = 0; i < 8; i++) {
            rests[i] = (struct virtio_net_packet){.segment_count = 8, .rest = &rests[i + 1]};
            for (unsigned k = 0; k < 8; k++) {
                rests[i].segment[k] = (struct virtio_net_segment){data, 8 * i + k + 1};
            }
        }
        rests[7].rest = rests; /* endless */
        assert_false(send_large(first));
        rests[fit / 8 - 1].rest = NULL; /* one packet too many */
        assert_false(send_large(first));
        rests[fit / 8 - 2].rest = NULL;
        assert_true(send_large(first));
        virtio_net_flush(owner.net);
        assert_true(fake_pop(1, &chain));
        assert_int_equal(chain.count, fit);
        for (unsigned i = 8; i < fit; i++) {
            assert_ptr_equal(fake_memory(&chain.segment[i]), data);
            assert_int_equal(chain.segment[i].bytes, i - 7);
        }
        fake_complete(1, &chain, 0);
        fake_ask_notification(1);
        owner_finish(&owner);
        assert_ptr_equal(first->packet.rest, rests);
    }
}

static void one_notification_for_many_frames(void **state)
{
    (void)state;
    owner_start_with(&owner, FAKE_MMIO, 0, 0, 0);
    for (unsigned i = 0; i < 20; i++) {
        assert_true(owner_send(&owner, 100, 1, false));
    }
    assert_int_equal(owner.device.queue[1].notifications, 0);
    assert_int_equal(fake_available(1), 0);
    virtio_net_flush(owner.net);
    virtio_net_flush(owner.net);
    assert_int_equal(owner.device.queue[1].notifications, 1);
    assert_int_equal(fake_available(1), 20);
    owner_finish(&owner);
}

/* Few completions cause no interrupt, and many cause one. */
static void transmit_interrupts_are_rare(void **state)
{
    (void)state;
    for (unsigned off = 0; off < 2; off++) {
        uint64_t features_off = off != 0 ? VIRTIO_F_EVENT_IDX : 0;

        owner_start_with(&owner, FAKE_PCI, 3, features_off, 256);
        for (unsigned i = 0; i < 1000; i++) { /* each one is completed before the next */
            assert_true(owner_send(&owner, 100, 1, false));
            virtio_net_flush(owner.net);
            assert_int_equal(owner_device_send(&owner, 1), 1);
        }
        assert_int_equal(owner.device.queue[1].interrupts, 0);
        owner_fetch_packets(&owner);
        assert_int_equal(owner.returned, 1000);
        /* With 63 in the device there is no interrupt; the 64th, a quarter of the ring, arms
         * one. */
        for (unsigned i = 0; i < 63; i++) {
            assert_true(owner_send(&owner, 100, 1, false));
        }
        virtio_net_flush(owner.net);
        assert_int_equal(owner_device_send(&owner, 63), 63);
        assert_int_equal(owner.device.queue[1].interrupts, 0);
        owner_fetch_packets(&owner);
        for (unsigned i = 0; i < 64; i++) {
            assert_true(owner_send(&owner, 100, 1, false));
        }
        virtio_net_flush(owner.net);
        /* With EVENT_IDX at the 33rd completion, with the flag at the first. */
        assert_int_equal(owner_device_send(&owner, 32), 32);
        assert_int_equal(owner.device.queue[1].interrupts, off != 0 ? 32 : 0);
        assert_int_equal(owner_device_send(&owner, 1), 1);
        assert_true(owner.device.queue[1].interrupts >= 1);
        owner_settle(&owner);
        assert_int_equal(owner.returned, 1000 + 63 + 33);
        owner_finish(&owner);
    }
}

static void threshold_in_small_rings(void **state)
{
    static const uint16_t cases[][2] = {{1, 1}, {2, 1}, {8, 4}, {32, 16}, {64, 16}, {128, 32}};

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        owner_start_with(&owner, FAKE_PCI, 3, 0, cases[i][0]);
        for (unsigned n = 1; n <= cases[i][1]; n++) {
            assert_true(owner_send(&owner, 100, 1, false));
            virtio_net_flush(owner.net);
            assert_int_equal(fake_interrupts_wanted(1), n == cases[i][1]);
        }
        owner_finish(&owner);
    }
}

/* No frame is lost, reordered or stuck while frames wait for a full ring. */
static void send_queue(void **state)
{
    (void)state;
    for (unsigned off = 0; off < 4; off++) {
        uint64_t features_off =
            (off & 1 ? VIRTIO_F_EVENT_IDX : 0) | (off & 2 ? VIRTIO_F_INDIRECT_DESC : 0);
        unsigned refused = 0;

        owner_start_with(&owner, FAKE_PCI, 3, features_off, 8);
        while (refused == 0) {
            if (!owner_send(&owner, 200, 2, false)) {
                refused++;
            }
        }
        assert_int_equal(owner_statistics(&owner).tx_queued, 64);
        assert_int_equal(owner_statistics(&owner).tx_refused, 1);
        /* The test does not flush: the driver notifies the device when the ring is full. */
        assert_true(owner.device.queue[1].notifications >= 1);
        while (owner_statistics(&owner).tx_queued != 0) {
            assert_true(owner_device_send(&owner, 3) != 0);
            owner_settle(&owner); /* interrupts alone keep frames moving */
        }
        while (owner_device_send(&owner, 8) != 0) {
            owner_settle(&owner);
        }
        owner_fetch_packets(&owner);
        assert_int_equal(owner.returned, owner.sent);
        assert_int_equal(owner.sent_by_device, owner.sent);
        owner_finish(&owner);
    }
}

/* If packets are fetched early, an armed interrupt never comes and must be armed again. */
static void interrupt_is_armed_again(void **state)
{
    (void)state;
    for (unsigned off = 0; off < 2; off++) {
        owner_start_with(&owner, FAKE_PCI, 3, off != 0 ? VIRTIO_F_EVENT_IDX : 0, 8);
        for (unsigned i = 0; i < 40; i++) {
            assert_true(owner_send(&owner, 100, 1, false));
        }
        while (owner_statistics(&owner).tx_queued != 0) {
            unsigned sent = owner_device_send(&owner, 5);

            assert_int_equal(sent, 5);
            owner_fetch_packets(&owner); /* a thread fetches them before the handler */
            owner_interrupts(&owner);    /* the handler finds nothing */
            if (owner.signalled) {
                owner_bottom_half(&owner);
            }
        }
        while (owner_device_send(&owner, 1) != 0) {
            owner_settle(&owner);
        }
        owner_fetch_packets(&owner);
        assert_int_equal(owner.returned, 40);
        owner_finish(&owner);
    }
}

/* The device completes everything during each notification, before the driver arms an interrupt. */
static void device_quicker_than_the_driver(void **state)
{
    (void)state;
    owner_prepare(&owner, FAKE_PCI, 3);
    owner.parameters.tx_ring = 4;
    owner.parameters.interrupt_budget = 1;
    owner_start(&owner);
    fake_ask_notification(1);
    for (unsigned i = 0; i < 60; i++) {
        assert_true(owner_send(&owner, 100, 1, false));
        if (i % 7 == 0) {
            (void)owner_device_send(&owner, 100);
        }
    }
    for (unsigned i = 0; i < 200; i++) {
        (void)owner_device_send(&owner, 100);
        owner_settle(&owner);
    }
    assert_int_equal(owner_statistics(&owner).tx_queued, 0);
    owner_fetch_packets(&owner);
    assert_int_equal(owner.returned, 60);
    owner_finish(&owner);
}

static void send_at_once(unsigned index)
{
    if (index == 1) {
        (void)owner_device_send(&owner, 100);
    }
}

/* Each notification completes all chains before the driver can arm an interrupt, and the budget is
 * too small to collect them. The driver must signal the bottom half, because no interrupt will
 * come. */
static void device_that_sends_at_once(void **state)
{
    (void)state;
    for (unsigned off = 0; off < 2; off++) {
        owner_prepare(&owner, FAKE_PCI, 3);
        owner.parameters.features_off = off != 0 ? VIRTIO_F_EVENT_IDX : 0;
        owner.parameters.tx_ring = 8;
        owner.parameters.interrupt_budget = 1;
        owner_start(&owner);
        fake_ask_notification(1);
        owner.device.on_notify = send_at_once;
        for (unsigned i = 0; i < 9; i++) {
            assert_true(owner_send(&owner, 100, 1, false));
        }
        assert_false(fake_raised());
        assert_int_equal(owner.sent_by_device, 8);
        owner_settle(&owner);
        assert_int_equal(owner_statistics(&owner).tx_queued, 0);
        assert_int_equal(owner.sent_by_device, 9);
        owner_finish(&owner);
    }
}

/* With the smallest ring and the smallest budget, fetching a packet leaves the ring empty for a
 * moment. */
static void ring_of_one_step_by_step(void **state)
{
    (void)state;
    for (unsigned off = 0; off < 2; off++) {
        owner_prepare(&owner, FAKE_PCI, 3);
        owner.parameters.features_off = off != 0 ? VIRTIO_F_EVENT_IDX : 0;
        owner.parameters.tx_ring = 1;
        owner.parameters.interrupt_budget = 1;
        owner_start(&owner);
        for (unsigned i = 0; i < 20; i++) {
            assert_true(owner_send(&owner, 100, 1, false));
        }
        for (unsigned i = 0; i < 20; i++) {
            assert_int_equal(owner_device_send(&owner, 1), 1);
            assert_true(owner_fetch_packet(&owner)); /* before the interrupt, which finds nothing */
            owner_settle(&owner);
        }
        owner_fetch_packets(&owner);
        assert_int_equal(owner.returned, 20);
        assert_int_equal(owner.sent_by_device, 20);
        owner_finish(&owner);
    }
}

/* Bug of other drivers: chains longer than the ring wait for ever. */
static void packets_longer_than_the_ring(void **state)
{
    (void)state;
    owner_start_with(&owner, FAKE_MMIO, 0, 0, 4);
    assert_false(owner_send(&owner, 1000, 5, false));
    assert_true(owner_send(&owner, 1000, 4, false));
    virtio_net_flush(owner.net);
    assert_int_equal(owner_device_send(&owner, 9), 1);
    owner_finish(&owner);
}

static void received_packets_bring_back_sent_ones(void **state)
{
    (void)state;
    owner_start_with(&owner, FAKE_MMIO, 0, 0, 0);
    assert_true(owner_send(&owner, 100, 1, false));
    virtio_net_flush(owner.net);
    assert_int_equal(owner_device_send(&owner, 1), 1);
    assert_false(fake_raised());
    assert_true(owner_inject(&owner, 64));
    owner_interrupts(&owner);
    assert_int_equal(owner_statistics(&owner).tx_finished, 1);
    owner_finish(&owner);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_leave),
        cmocka_unit_test(rules_for_packets),
        cmocka_unit_test(tagged_frames),
        cmocka_unit_test(checksum_only_if_negotiated),
        cmocka_unit_test(segmentation_header),
        cmocka_unit_test(rules_for_segmentation),
        cmocka_unit_test(frames_of_several_packets),
        cmocka_unit_test(one_notification_for_many_frames),
        cmocka_unit_test(transmit_interrupts_are_rare),
        cmocka_unit_test(threshold_in_small_rings),
        cmocka_unit_test(send_queue),
        cmocka_unit_test(interrupt_is_armed_again),
        cmocka_unit_test(device_quicker_than_the_driver),
        cmocka_unit_test(device_that_sends_at_once),
        cmocka_unit_test(ring_of_one_step_by_step),
        cmocka_unit_test(packets_longer_than_the_ring),
        cmocka_unit_test(received_packets_bring_back_sent_ones),
    };

    fake_choose_ring(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
