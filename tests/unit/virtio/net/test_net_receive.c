/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests reception, and the event handling of both directions as in the paper: the empty ring,
 * suppression, interrupts and their budgets, the bottom half, the counters. */
#include "owner.h"

static struct owner owner;

static void frames_arrive(void **state)
{
    (void)state;
    owner_start_with(&owner, FAKE_MMIO, 0, 0, 0);
    for (uint32_t bytes = 14; bytes <= 1514; bytes += 50) {
        assert_true(owner_inject(&owner, bytes));
        owner_settle(&owner);
        assert_int_equal(owner.frame_bytes, bytes);
    }
    assert_int_equal(owner.received, owner.injected);
    owner_finish(&owner);
}

static void received_checksums(void **state)
{
    static const struct {
        uint8_t flags;
        enum virtio_net_checksum checksum;
    } cases[] = {
        {0, VIRTIO_NET_CHECKSUM_UNKNOWN},    {1, VIRTIO_NET_CHECKSUM_PARTIAL},
        {2, VIRTIO_NET_CHECKSUM_VALID},      {3, VIRTIO_NET_CHECKSUM_PARTIAL},
        {0xfc, VIRTIO_NET_CHECKSUM_UNKNOWN}, {0xfe, VIRTIO_NET_CHECKSUM_VALID},
    };

    (void)state;
    for (unsigned off = 0; off < 2; off++) {
        owner_start_with(&owner, FAKE_MMIO, 0, off != 0 ? VIRTIO_NET_F_GUEST_CSUM : 0, 0);
        for (unsigned i = 0; i < 6; i++) {
            uint8_t frame[60];

            for (unsigned j = 0; j < 60; j++) {
                frame[j] = (uint8_t)(j < 4 ? i >> (8 * j) : i * 37u + j * 11u + 1u);
            }
            assert_true(fake_receive_partial(frame, 60, cases[i].flags, 34, 16));
            owner_settle(&owner);
            assert_int_equal(owner.received, i + 1);
            assert_int_equal(owner.checksum,
                             off == 0 ? cases[i].checksum : VIRTIO_NET_CHECKSUM_UNKNOWN);
            if (owner.checksum == VIRTIO_NET_CHECKSUM_PARTIAL) {
                assert_int_equal(owner.checksum_start, 34);
                assert_int_equal(owner.checksum_offset, 16);
            }
        }
        owner_finish(&owner);
    }
}

/* 5.1.6.4: a device that places the checksum outside the frame has not verified it. */
static void partial_checksums_lie_in_the_frame(void **state)
{
    static const struct {
        uint16_t start;
        uint16_t offset;
        bool inside;
    } cases[] = {
        {0, 0, true},       {58, 0, true},      {0, 58, true},           {42, 16, true},
        {59, 0, false},     {0, 59, false},     {43, 16, false},         {60, 0, false},
        {0xffff, 0, false}, {0, 0xffff, false}, {0xffff, 0xffff, false}, {0xfffe, 2, false},
    };

    (void)state;
    owner_start_with(&owner, FAKE_MMIO, 0, 0, 0);
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t frame[60];

        for (unsigned j = 0; j < 60; j++) {
            frame[j] = (uint8_t)(j < 4 ? i >> (8 * j) : i * 37u + j * 11u + 1u);
        }
        assert_true(fake_receive_partial(frame, 60, 1, cases[i].start, cases[i].offset));
        owner_settle(&owner);
        assert_int_equal(owner.received, i + 1);
        assert_int_equal(owner.checksum, cases[i].inside ? VIRTIO_NET_CHECKSUM_PARTIAL
                                                         : VIRTIO_NET_CHECKSUM_UNKNOWN);
    }
    owner_finish(&owner);
}

/* The paper, 3.3: the number of buffers that the device holds is constant, whatever happens. */
static void empty_ring_is_constant(void **state)
{
    (void)state;
    for (uint16_t count = 1; count <= 16; count++) {
        owner_prepare(&owner, FAKE_MMIO, 0);
        owner.parameters.rx_buffers = count;
        owner_start(&owner);
        for (unsigned round = 0; round < 100; round++) {
            unsigned frames = 1 + round % count;

            for (unsigned i = 0; i < frames; i++) {
                assert_true(owner_inject(&owner, 64));
            }
            /* The handler itself already exposes the same number of new ones. */
            owner_interrupts(&owner);
            assert_int_equal(owner_statistics(&owner).rx_exposed, count);
            owner_settle(&owner);
            assert_int_equal(fake_available(0), count);
        }
        owner_finish(&owner);
    }
}

/* Bug of other drivers: a buffer that can't be replaced once is never replaced, until the ring
 * stays empty. */
static void ring_recovers_from_refill_failure(void **state)
{
    (void)state;
    owner_prepare(&owner, FAKE_MMIO, 0);
    owner.buffers_usable = 8;
    owner_start(&owner);
    for (unsigned i = 0; i < 8; i++) {
        assert_true(owner_inject(&owner, 64));
    }
    assert_false(owner_inject(&owner, 64)); /* no buffer is exposed */
    owner_interrupts(&owner);
    assert_int_equal(owner_statistics(&owner).rx_exposed, 0);
    assert_true(owner_statistics(&owner).rx_refill_failures != 0);
    owner_fetch_frames(&owner); /* returns the buffers ... */
    assert_int_equal(fake_available(0), 0);
    virtio_net_refill(owner.net); /* ... and tells the driver */
    assert_int_equal(fake_available(0), 8);
    /* The bottom half refills the ring too. */
    for (unsigned i = 0; i < 8; i++) {
        assert_true(owner_inject(&owner, 64));
    }
    owner_settle(&owner);
    assert_int_equal(fake_available(0), 8);
    assert_int_equal(owner.received, 16);
    owner_finish(&owner);
}

static void refill_notifies_only_if_asked(void **state)
{
    (void)state;
    for (unsigned off = 0; off < 2; off++) {
        uint64_t notifications;

        owner_start_with(&owner, FAKE_MMIO, 0, off != 0 ? VIRTIO_F_EVENT_IDX : 0, 0);
        owner.device.no_notifications = true;
        fake_ask_no_notification(0);
        notifications = owner.device.queue[0].notifications;
        assert_true(owner_inject(&owner, 64));
        owner_settle(&owner);
        assert_int_equal(owner.device.queue[0].notifications, notifications);
        owner.device.no_notifications = false;
        fake_ask_new_notification(0);
        assert_true(owner_inject(&owner, 64));
        owner_settle(&owner);
        assert_int_equal(owner.device.queue[0].notifications, notifications + 1);
        owner_finish(&owner);
    }
}

/* There is one signal for any number of descriptors; the transmit side comes first. */
static void one_signal_per_interrupt(void **state)
{
    struct virtio_net_statistics s;

    (void)state;
    owner_start_with(&owner, FAKE_MMIO, 0, 0, 4);
    for (unsigned i = 0; i < 10; i++) {
        assert_true(owner_send(&owner, 100, 1, false));
    }
    assert_int_equal(owner_statistics(&owner).tx_queued, 6);
    assert_int_equal(owner_device_send(&owner, 100), 4);
    for (unsigned i = 0; i < 8; i++) {
        assert_true(owner_inject(&owner, 64));
    }
    assert_int_equal(owner.signals, 0);
    owner_interrupts(&owner);
    assert_int_equal(owner.signals, 1);
    s = owner_statistics(&owner);
    assert_int_equal(s.interrupts, 1);
    assert_int_equal(s.descriptors_moved, 4 + 4 + 8);
    assert_int_equal(s.descriptors_moved_max, 16);
    assert_int_equal(s.tx_queued, 2);
    assert_int_equal(s.rx_queued, 8);
    /* More of both arrive before the bottom half runs, but interrupts are suppressed. */
    assert_int_equal(owner_device_send(&owner, 100), 4);
    assert_true(owner_inject(&owner, 64));
    assert_false(fake_raised());
    owner_bottom_half(&owner);
    assert_int_equal(owner.received, 9);
    assert_int_equal(owner.returned, 8);
    assert_int_equal(owner.signals, 1);
    owner_finish(&owner);
}

static void transmit_side_first(void **state)
{
    struct virtio_net_statistics s;

    (void)state;
    owner_prepare(&owner, FAKE_MMIO, 0);
    owner.parameters.tx_ring = 4;
    owner.parameters.interrupt_budget = 12;
    owner_start(&owner);
    for (unsigned i = 0; i < 6; i++) {
        assert_true(owner_send(&owner, 100, 1, false));
    }
    assert_int_equal(owner_device_send(&owner, 4), 4);
    for (unsigned i = 0; i < 8; i++) {
        assert_true(owner_inject(&owner, 64));
    }
    owner_interrupts(&owner);
    s = owner_statistics(&owner);
    assert_int_equal(s.tx_queued, 0); /* half of the budget: 4 taken from the ring and 2 added */
    assert_int_equal(s.rx_queued, 6);
    assert_int_equal(s.budget_exhausted, 1);
    owner_settle(&owner); /* the bottom half does the rest without an interrupt */
    assert_int_equal(owner.received, 8);
    assert_int_equal(owner_statistics(&owner).interrupts, 1);
    owner_finish(&owner);
}

/* The handler runs when 32 frames have been received. Returns the counters after it. */
static struct virtio_net_statistics interrupt_with_32_frames(uint16_t budget, bool deferred)
{
    owner_prepare(&owner, FAKE_PCI, 3);
    owner.parameters.deferred = deferred;
    owner.parameters.interrupt_budget = budget;
    owner.parameters.rx_buffers = 32;
    owner_start(&owner);
    for (unsigned i = 0; i < 32; i++) {
        assert_true(owner_inject(&owner, 64));
    }
    owner_interrupts(&owner);
    return owner_statistics(&owner);
}

static void deferred_handler_moves_nothing(void **state)
{
    struct virtio_net_statistics s;

    (void)state;
    s = interrupt_with_32_frames(2, true);
    assert_int_equal(s.descriptors_moved, 0);
    assert_int_equal(s.rx_queued, 0);
    assert_int_equal(owner.signals, 1);
    owner_settle(&owner);
    assert_int_equal(owner.received, 32);
    assert_int_equal(owner_statistics(&owner).interrupts, 1);
    owner_finish(&owner);
}

static uint32_t frames_before; /* received when the latest critical section ended */
static unsigned sections;
static unsigned frames_in_section_max;

static void count_section(void)
{
    struct virtio_net_statistics s;
    unsigned frames;

    fake_on_unlock = NULL; /* the counters are read under the lock */
    s = owner_statistics(&owner);
    frames = (unsigned)s.rx_frames - frames_before;
    frames_before = (uint32_t)s.rx_frames;
    frames_in_section_max = frames > frames_in_section_max ? frames : frames_in_section_max;
    sections++;
    fake_on_unlock = count_section;
}

/* The bottom half's critical sections: taking frames, exposing buffers and notifying the device are
 * not one of them. */
static void deferred_bottom_half_lets_interrupts_in(void **state)
{
    (void)state;
    for (unsigned deferred = 0; deferred < 2; deferred++) {
        (void)interrupt_with_32_frames(64, deferred != 0);
        frames_before = (uint32_t)owner_statistics(&owner).rx_frames;
        sections = 0;
        frames_in_section_max = 0;
        fake_on_unlock = count_section;
        (void)virtio_net_bottom_half(owner.net);
        fake_on_unlock = NULL;
        if (deferred != 0) {
            assert_int_equal(frames_in_section_max, 16);
            assert_in_range(sections, 5, 10);
        } else {
            assert_int_equal(sections, 1);
        }
        owner_settle(&owner);
        assert_int_equal(owner.received, 32);
        owner_finish(&owner);
    }
}

/* Another pair's failure, or a configuration change, stops the device between two sections. */
static void stop_the_device(void)
{
    fake_on_unlock = NULL;
    owner.device.status |= VIRTIO_STATUS_NEEDS_RESET;
    (void)virtio_net_configuration_interrupt(owner.net);
}

static void deferred_bottom_half_of_a_stopped_device(void **state)
{
    (void)state;
    owner_prepare(&owner, FAKE_MMIO, 0);
    owner.parameters.deferred = true;
    owner.parameters.rx_buffers = 32;
    owner_start(&owner);
    for (unsigned i = 0; i < 32; i++) {
        assert_true(owner_inject(&owner, 64));
    }
    fake_ask_notification(0);
    owner_interrupts(&owner);
    fake_on_unlock = stop_the_device;
    (void)virtio_net_bottom_half(owner.net);
    assert_null(fake_on_unlock);
    assert_non_null(virtio_net_broken(owner.net));
    assert_int_equal(owner_statistics(&owner).rx_frames, 0);
    assert_int_equal(owner.device.queue[0].notifications, 0); /* none since the reset */
    owner_finish(&owner);
}

static void handler_is_bounded(void **state)
{
    (void)state;
    for (uint16_t budget = 1; budget < 12; budget++) {
        struct virtio_net_statistics s = interrupt_with_32_frames(budget, false);

        assert_int_equal(s.descriptors_moved_max, budget);
        assert_int_equal(s.rx_queued, budget);
        assert_int_equal(s.budget_exhausted, 1);
        owner_settle(&owner);
        assert_int_equal(owner.received, 32);
        owner_finish(&owner);
    }
}

/* During a flood there is one interrupt until the bottom half has drained everything. */
static void flood(uint64_t features_off)
{
    unsigned injected = 0;

    owner_start_with(&owner, FAKE_PCI, 3, features_off, 0);
    assert_true(owner_inject(&owner, 64));
    for (unsigned i = 0; i < 5000; i++) {
        owner_interrupts(&owner);
        while (owner_inject(&owner, 64)) {
            injected++;
        }
        owner_fetch_frames(&owner);
        (void)virtio_net_bottom_half(owner.net);
    }
    assert_true(injected > 5000);
    assert_int_equal(owner_statistics(&owner).interrupts, 1);
    assert_true(owner.received > 5000);
    owner.signalled = true;
    owner_settle(&owner);
    assert_int_equal(owner.received, owner.injected);
    owner_finish(&owner);
}

static void flood_stays_out_of_interrupt_context(void **state)
{
    (void)state;
    flood(0);
    flood(VIRTIO_F_EVENT_IDX);
}

/* Starts with 63 packets that the device has sent and `frames` that it has received. */
static void both_directions_finished(uint16_t budget, unsigned frames)
{
    owner_prepare(&owner, FAKE_PCI, 3);
    owner.parameters.interrupt_budget = budget;
    owner.parameters.rx_buffers = 32;
    owner_start(&owner);
    fake_ask_notification(1);
    for (unsigned i = 0; i < 63; i++) {
        assert_true(owner_send(&owner, 100, 1, false));
    }
    virtio_net_flush(owner.net);
    assert_int_equal(owner_device_send(&owner, 100), 63);
    for (unsigned i = 0; i < frames; i++) {
        assert_true(owner_inject(&owner, 64));
    }
}

/* The handler collects sent packets first, but leaves half of the budget to received frames. Each
 * side gets the part that the other does not need. */
static void receive_keeps_half_of_the_budget(void **state)
{
    (void)state;
    for (uint16_t budget = 2; budget < 32; budget++) {
        struct virtio_net_statistics s;

        both_directions_finished(budget, 32);
        virtio_net_interrupt(owner.net);
        s = owner_statistics(&owner);
        assert_int_equal(s.rx_queued + s.tx_finished, budget);
        assert_in_range(s.rx_queued, budget / 2u, (budget + 1u) / 2u);
        (void)virtio_net_bottom_half(owner.net);
        s = owner_statistics(&owner);
        assert_int_equal(s.rx_queued, budget); /* the sides take turns in getting the odd one */
        assert_int_equal(s.tx_finished, budget);
        owner_settle(&owner);
        owner_finish(&owner);

        both_directions_finished(budget, 1);
        virtio_net_interrupt(owner.net);
        s = owner_statistics(&owner);
        assert_int_equal(s.rx_queued, 1);
        assert_int_equal(s.tx_finished, budget - 1u);
        owner_settle(&owner);
        owner_finish(&owner);
    }
}

/* With a budget of one descriptor, neither side waits for ever while the other has work. */
static void budget_of_one(void **state)
{
    struct virtio_net_statistics s;

    (void)state;
    both_directions_finished(1, 32);
    for (unsigned i = 0; i < 40; i++) {
        assert_true(virtio_net_bottom_half(owner.net));
    }
    s = owner_statistics(&owner);
    assert_int_equal(s.rx_queued, 20);
    assert_int_equal(s.tx_finished, 20);
    owner_settle(&owner);
    owner_finish(&owner);
}

static void spurious_interrupts(void **state)
{
    (void)state;
    for (uint16_t count = 0; count < 4; count++) {
        owner_start_with(&owner, FAKE_PCI, count, 0, 0);
        for (unsigned i = 0; i < 100; i++) {
            virtio_net_interrupt(owner.net);
        }
        assert_int_equal(owner_statistics(&owner).interrupts_spurious, 100);
        /* On a shared line the interrupts belong to other devices. With one vector each may mean a
         * configuration change. With more vectors the bottom half is signalled once, when there are
         * too many. */
        assert_int_equal(owner.signals, count == 0 ? 0 : count == 1 ? 100 : 1);
        assert_true(owner_inject(&owner, 64)); /* the next real interrupt is not lost */
        assert_true(fake_raised());
        owner_settle(&owner);
        assert_int_equal(owner.received, 1);
        owner_finish(&owner);
    }
}

/* With INTx the driver reads the cause, and does nothing more if the interrupt is another
 * device's. */
static void shared_line(void **state)
{
    (void)state;
    owner_start_with(&owner, FAKE_PCI, 0, 0, 0);
    assert_true(owner_inject(&owner, 64));
    owner.device.isr = 0;
    virtio_net_interrupt(owner.net);
    assert_int_equal(owner_statistics(&owner).rx_queued, 0);
    owner.device.isr = VIRTIO_CAUSE_QUEUE;
    virtio_net_interrupt(owner.net);
    assert_int_equal(owner_statistics(&owner).rx_queued, 1);
    assert_int_equal(owner.device.isr, 0);
    owner_finish(&owner);
}

/* A port may call the bottom half without a signal. */
static void bottom_half_without_a_signal(void **state)
{
    (void)state;
    owner_start_with(&owner, FAKE_PCI, 3, 0, 0);
    assert_false(virtio_net_bottom_half(owner.net));
    assert_true(owner_inject(&owner, 64));
    assert_true(virtio_net_bottom_half(owner.net)); /* there is a frame to fetch */
    owner_fetch_frames(&owner);
    assert_false(virtio_net_bottom_half(owner.net));
    owner_interrupts(&owner); /* the interrupt for this frame */
    assert_true(owner_inject(&owner, 64));
    assert_true(fake_raised());
    owner_settle(&owner);
    assert_int_equal(owner.received, 2);
    owner_finish(&owner);
}

/* The bottom half ends even if sent packets are not fetched. */
static void bottom_half_ends(void **state)
{
    unsigned rounds = 0;

    (void)state;
    owner_start_with(&owner, FAKE_PCI, 3, 0, 0);
    for (unsigned i = 0; i < 10; i++) {
        assert_true(owner_send(&owner, 100, 1, false));
    }
    virtio_net_flush(owner.net);
    assert_int_equal(owner_device_send(&owner, 10), 10);
    while (virtio_net_bottom_half(owner.net)) {
        assert_true(rounds++ < 3);
    }
    owner_finish(&owner);
}

static void counters(void **state)
{
    struct virtio_net_statistics s;

    (void)state;
    owner_start_with(&owner, FAKE_PCI, 3, 0, 0);
    assert_true(owner_send(&owner, 100, 2, false));
    assert_true(owner_send(&owner, 50, 1, false));
    virtio_net_flush(owner.net);
    assert_true(owner_inject(&owner, 64));
    assert_true(owner_inject(&owner, 65));
    owner_interrupts(&owner);
    s = owner_statistics(&owner);
    assert_int_equal(s.tx_frames, 2);
    assert_int_equal(s.tx_bytes, 150);
    assert_int_equal(s.tx_in_flight, 2);
    assert_int_equal(s.notifications_tx, 1);
    assert_int_equal(s.rx_frames, 2);
    assert_int_equal(s.rx_bytes, 129);
    assert_int_equal(s.rx_queued, 2);
    assert_int_equal(s.rx_buffers_taken, 10);
    assert_int_equal(s.interrupts, 1);
    assert_int_equal(s.signals, 1);
    owner_check_balance(&owner);
    owner_finish(&owner);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_arrive),
        cmocka_unit_test(received_checksums),
        cmocka_unit_test(partial_checksums_lie_in_the_frame),
        cmocka_unit_test(empty_ring_is_constant),
        cmocka_unit_test(ring_recovers_from_refill_failure),
        cmocka_unit_test(refill_notifies_only_if_asked),
        cmocka_unit_test(one_signal_per_interrupt),
        cmocka_unit_test(transmit_side_first),
        cmocka_unit_test(deferred_handler_moves_nothing),
        cmocka_unit_test(deferred_bottom_half_lets_interrupts_in),
        cmocka_unit_test(deferred_bottom_half_of_a_stopped_device),
        cmocka_unit_test(handler_is_bounded),
        cmocka_unit_test(flood_stays_out_of_interrupt_context),
        cmocka_unit_test(receive_keeps_half_of_the_budget),
        cmocka_unit_test(budget_of_one),
        cmocka_unit_test(spurious_interrupts),
        cmocka_unit_test(shared_line),
        cmocka_unit_test(bottom_half_without_a_signal),
        cmocka_unit_test(bottom_half_ends),
        cmocka_unit_test(counters),
    };

    fake_choose_ring(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
