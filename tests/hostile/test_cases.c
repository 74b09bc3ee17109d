/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attacks of devices on other drivers, or possible ones: one case for each bug, with its source.
 * Each case ends when the owner has stopped the driver and created it again, and frames pass both
 * ways.
 */
#include "cases.h"
#include <string.h>

/* Starts a case with 8 receive buffers and large values for the other parameters. The device offers
 * everything but packed rings and the reset of one queue, which would avoid the broken state. */
static void begin(enum bus bus, unsigned vectors)
{
    cases_begin(bus, vectors, 0, WITHOUT_PACKED | WITHOUT_QUEUE_RESET);
}

/* Zephyr#113343, OSv#1450, RT-Thread#11326 #11327: an id beyond the queue indexes an array. */
static void used_id_out_of_range(void **state)
{
    static const uint32_t ids[] = {8, 9, 256, 0xffff, 0x10000, 0x80000000, 0xffffffff};

    (void)state;
    for (unsigned i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        begin(BUS_PCI, 3);
        traffic_lie(RECEIVE, ID_NOWHERE, ids[i]);
        cases_expect_broken("id");
        if (ids[i] < 256) {
            continue; /* these belong to the transmit ring */
        }
        begin(BUS_MMIO, 0);
        cases_send(1);
        traffic_lie(TRANSMIT, ID_NOWHERE, ids[i]);
        cases_expect_broken("id");
    }
}

/* MigTD#986: the device completes a slot that it was never given. */
static void used_id_never_issued(void **state)
{
    (void)state;
    begin(BUS_PCI, 3);
    cases_send(1);
    traffic_lie(TRANSMIT, ID_NOWHERE, 200);
    cases_expect_broken("no chain");
}

/* MigTD#986: a replayed id freed the slot twice. IncludeOS#738: a wrong buffer was returned. */
static void used_id_replayed(void **state)
{
    (void)state;
    begin(BUS_PCI, 3);
    cases_send(2);
    traffic_lie(TRANSMIT, DOUBLE, 0);
    cases_expect_broken("no chain");
    begin(BUS_PCI, 3);
    cases_send(2);
    traffic_return(TRANSMIT, 1, 0);
    assert_int_equal(owner_fetch_packets(10), 1);
    traffic_lie(TRANSMIT, ID_AGAIN, 0);
    assert_int_equal(owner_fetch_packets(10), 0);
    cases_expect_broken("chain");
}

/* DPDK: with IN_ORDER, a driver takes everything up to the returned id for finished. Here that is
 * more than the used index says. */
static void used_id_ahead_in_order(void **state)
{
    (void)state;
    for (uint32_t id = 1; id < 8; id++) {
        begin(BUS_PCI, 3);
        traffic_lie(RECEIVE, ID_NOWHERE, id);
        cases_expect_broken("in order");
    }
    begin(BUS_MMIO, 0);
    cases_send(3);
    device.lies |= LIE_RING;
    ring_push(&device.queue[TRANSMIT].ring, device.queue[TRANSMIT].held[2].id, 0, 1, 1);
    cases_expect_broken("in order");
}

/* MigTD#986: the id is a slot in the middle of a chain. */
static void used_id_in_the_middle(void **state)
{
    (void)state;
    begin(BUS_PCI, 3);
    cases_send(1);
    traffic_lie(TRANSMIT, ID_NOWHERE, device.queue[TRANSMIT].held[0].id + 1u);
    cases_expect_broken("");
}

/* RT-Thread#11327, MigTD#986, NuttX, DPDK, and Linux until 2025 trust a used length beyond the
 * buffer. OSv#1058, Firecracker#3905: a device sends more than fits. */
static void used_length_beyond_the_buffer(void **state)
{
    (void)state;
    for (uint32_t more = 0; more < 70000; more += 9991) {
        begin(BUS_PCI, 2);
        traffic_lie(RECEIVE, LONGER, more);
        cases_expect_broken("length");
    }
    begin(BUS_PCI, 3);
    traffic_lie(RECEIVE, HUGE, 0);
    cases_expect_broken("length");
}

/* kvmtool and bhyve return a transmitted frame with the number of bytes read as its length. The
 * device can't have written anything (VIRTIO 1.3, 2.7.8), so the packet is returned like any
 * other. */
static void used_length_of_a_transmitted_frame(void **state)
{
    (void)state;
    for (uint32_t more = 0; more < 70000; more += 9991) {
        for (enum bus bus = BUS_MMIO; bus <= BUS_PCI; bus++) {
            begin(bus, bus == BUS_PCI ? 3 : 0);
            for (unsigned i = 0; i < 3; i++) {
                cases_send(1);
                traffic_lie(TRANSMIT, i < 2 ? LONGER : HUGE, more);
                assert_int_equal(owner_fetch_packets(10), 1);
            }
            assert_null(virtio_net_broken(owner_net()));
            assert_int_equal(pool_packets_held(), 0);
            program_finish();
        }
    }
}

/* RT-Thread#11327: the length minus the header underflows. RT-Thread#11726: the buffer of a frame
 * that is not delivered leaks, until none is left. */
static void used_length_below_the_header(void **state)
{
    (void)state;
    begin(BUS_PCI, 3);
    for (uint32_t i = 0; i < 26 * 4; i++) {
        traffic_lie(RECEIVE, SHORTER, i % 26);
        owner_settle();
        assert_int_equal(pool_buffers_held(), 8);
    }
    assert_int_equal(owner_frames_received(), 0);
    assert_null(virtio_net_broken(owner_net()));
    program_finish();
}

/* Solo5#98: a full ring looks empty if indices are taken modulo its size. */
static void used_index_a_lap_ahead(void **state)
{
    static const uint32_t jumps[] = {8, 9, 16, 256, 0x7fff, 0x8000, 0xfff8, 0xffff};

    (void)state;
    for (unsigned i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++) {
        begin(BUS_PCI, 3);
        traffic_lie(RECEIVE, INDEX_JUMPS, jumps[i] + (jumps[i] == 8));
        cases_expect_broken("index");
    }
    begin(BUS_PCI, 3);
    traffic_lie(TRANSMIT, INDEX_JUMPS, 1); /* nothing was sent at all */
    (void)owner_fetch_packets(1);
    cases_expect_broken("index");
}

/* MigTD#799 #935 #989, and others that follow `next` or free `addr` in shared memory: the device
 * rewrites the descriptors of chains that it holds. The driver needs their links only without
 * IN_ORDER and without indirect tables. */
static void descriptors_rewritten(void **state)
{
    static const unsigned without[] = {0, WITHOUT_IN_ORDER, WITHOUT_INDIRECT,
                                       WITHOUT_IN_ORDER | WITHOUT_INDIRECT};
    static const uint32_t values[] = {0, 3, 255, 0xffff};

    (void)state;
    for (unsigned kind = 0; kind < 4 * 4; kind++) {
        cases_begin(BUS_PCI, 3, 0, WITHOUT_PACKED | WITHOUT_QUEUE_RESET | without[kind / 4]);
        cases_send(5);
        for (uint32_t i = 0; i < 8 * 256; i++) {
            traffic_poke(TRANSMIT, 3 * 2 * i, values[kind % 4]);
            traffic_poke(RECEIVE, 3 * 2 * i, i);
        }
        traffic_return(TRANSMIT, 5, 3);
        assert_int_equal(owner_fetch_packets(10), 5);
        assert_null(virtio_net_broken(owner_net()));
        for (unsigned rounds = 0; rounds < 32; rounds++) { /* rewrites each descriptor again */
            cases_send(5);
            traffic_return(TRANSMIT, 5, 0);
            assert_int_equal(owner_fetch_packets(10), 5);
        }
        program_finish();
    }
}

/* IncludeOS#1968, RT-Thread#11726: the receive ring runs empty while there is no memory, and is
 * never filled again. */
static void empty_ring_is_refilled(void **state)
{
    (void)state;
    begin(BUS_PCI, 3);
    pool_limit_buffers(0);
    for (unsigned i = 0; i < 10; i++) {
        traffic_receive(0, 8, 60, 0);
        owner_interrupt(1);
    }
    pool_limit_buffers(30);
    owner_bottom_half(true);
    owner_settle();
    assert_int_equal(pool_buffers_held(), 8);
    traffic_receive(0, 8, 60, 0);
    owner_settle();
    assert_int_equal(owner_frames_received(), 16);
    program_finish();
}

/* IncludeOS#101 #820: the handler does not end during a flood, and no interrupt comes
 * afterwards. */
static void flood(void **state)
{
    const struct snare another = {
        .access = ACCESS_RING_READ, .effect = SNARE_ACT, .countdown = 1, .every = 1, .value = 0};
    unsigned before;

    (void)state;
    begin(BUS_PCI, 3);
    traffic_receive(0, 8, 60, 0);
    snare_set(&another); /* adds a frame before each access of the driver */
    for (unsigned i = 0; i < 20; i++) {
        owner_interrupt(1); /* bounded by owner.c */
        owner_bottom_half(false);
        (void)owner_fetch_frames(64);
    }
    snare_clear();
    owner_settle();
    before = owner_frames_received();
    traffic_receive(0, 1, 60, 0);
    assert_true(device.raised[1]);
    owner_settle();
    assert_int_equal(owner_frames_received(), before + 1);
    program_finish();
}

/* NetKVM#1624: a num_buffers out of range overruns an array. The case also sets hdr_len, gso_type
 * and csum_start: the driver relies on no length in a header. */
static void invalid_header_fields(void **state)
{
    (void)state;
    begin(BUS_PCI, 3);
    device.accepted &= ~VIRTIO_NET_F_MRG_RXBUF;
    for (uint32_t i = 1; i < 4000; i++) {
        traffic_receive(0, 1, 60, i * 2654435761u);
        owner_settle();
        assert_int_equal(owner_last_frame().bytes, 60);
    }
    assert_int_equal(owner_frames_received(), 3999);
    program_finish();
}

/* VIA: num_buffers changes while the driver reads it. Frames then end elsewhere, but no buffer
 * leaks. */
static void number_of_buffers_changes(void **state)
{
    static const uint32_t values[] = {0, 1, 2, 4, 5, 43, 44, 0xff};

    (void)state;
    for (uint32_t nth = 1; nth < 17; nth++) {
        for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
            const struct snare changes = {.access = ACCESS_BUFFER_READ,
                                          .effect = SNARE_REPLACE,
                                          .countdown = nth,
                                          .value = values[i]};

            cases_begin_merging(BUS_PCI, 3, 0, WITHOUT_QUEUE_RESET);
            snare_set(&changes);
            for (unsigned rounds = 0; rounds < 3; rounds++) {
                traffic_receive(0, 2, 4000, 0);
                traffic_receive(0, 3, 60, 0);
                owner_settle();
            }
            owner_check();
            program_finish();
        }
    }
    if (!snare_sees_memory()) {
        skip(); /* GCC has no instrumentation that reports the accesses */
    }
}

/* Zephyr#113343: cap_len, vendor lengths and offsets in the capability list are trusted. */
static void invalid_capabilities(void **state)
{
    (void)state;
    for (unsigned at = 0x34; at < 0x84; at++) {
        for (unsigned value = 0; value < 256; value += 5) {
            begin(BUS_PCI, 3);
            device.pci.config[at] = (uint8_t)value;
            (void)cases_start();
            program_finish();
        }
    }
    begin(BUS_PCI, 3);
    device.pci.config[0x41] = 0x40; /* in a circle */
    cases_expect_refused(cases_start(), "notification");
    begin(BUS_PCI, 3);
    device.pci.config[0x52] = 16; /* too short for a multiplier */
    cases_expect_refused(cases_start(), "notification");
}

/* MigTD#939: a structure outside its BAR is mapped anyway. */
static void structures_outside_the_bar(void **state)
{
    (void)state;
    begin(BUS_PCI, 3);
    device.bar_bytes[4] = 0x10;
    cases_expect_refused(cases_start(), "registers");
    begin(BUS_PCI, 3);
    memset(&device.pci.config[0x48], 0xff, 4);
    cases_expect_refused(cases_start(), "registers");
}

/* The device also chooses the place of the notification register (4.1.4.4). */
static void notification_outside(void **state)
{
    (void)state;
    begin(BUS_PCI, 3);
    device.queue[TRANSMIT].notify_offset = 0xffff;
    cases_expect_refused(cases_start(), "notification");
}

/* VIA (arXiv 2109.10660): a driver waits for the device without end. Here the configuration changes
 * at every read. */
static void generation_never_stable(void **state)
{
    const struct snare restless = {
        .access = ACCESS_GENERATION, .effect = SNARE_ADD, .countdown = 2, .every = 2, .value = 1};

    (void)state;
    for (unsigned bus = 0; bus < 2; bus++) {
        begin(bus != 0 ? BUS_PCI : BUS_MMIO, 0);
        snare_set(&restless);
        cases_expect_refused(cases_start(), "configuration");
    }
}

/* VIA: a driver waits for a reset without end. 2.4.1: memory that the device may still write is not
 * freed. */
static void reset_never_confirmed(void **state)
{
    const struct snare stuck = {.access = ACCESS_STATUS,
                                .effect = SNARE_REPLACE,
                                .countdown = 1,
                                .every = 1,
                                .value = 0x4f};

    (void)state;
    begin(BUS_PCI, 3);
    cases_send(2);
    traffic_receive(0, 3, 60, 0);
    snare_set(&stuck);
    assert_false(owner_stop());
    assert_int_equal(pool_buffers_held(), 8);
    assert_int_equal(pool_packets_held(), 2);
    traffic_scribble(0x5a5a5a5a);
    assert_false(owner_destroy());
    snare_clear();
    assert_true(owner_destroy());
    snare_set(&stuck);
    assert_non_null(cases_start());
    program_finish();
}

/* After the start, which reads it five times, the status never reads 0. */
static const struct snare stuck_later = {
    .access = ACCESS_STATUS, .effect = SNARE_REPLACE, .countdown = 6, .every = 1, .value = 0x4f};

/* The device refuses the first queue, and then does not confirm the reset. It knows no memory of
 * the driver, which is freed: owner_create() checks it. Sometimes the device says that the queue is
 * in use already: then it uses other memory. */
static void reset_never_confirmed_without_queues(void **state)
{
    (void)state;
    begin(BUS_PCI, 3);
    assert_true(owner_destroy());
    device.queue[RECEIVE].notify_offset = 0xffff;
    snare_set(&stuck_later);
    cases_expect_refused(cases_start(), "notification");
}

static void reset_never_confirmed_with_a_queue_in_use(void **state)
{
    const struct snare in_use = {
        .access = ACCESS_QUEUE, .effect = SNARE_REPLACE, .countdown = 1, .every = 1, .value = 1};

    (void)state;
    begin(BUS_MMIO, 0);
    assert_true(owner_destroy());
    snare_set(&in_use);
    snare_set(&stuck_later);
    cases_expect_refused(cases_start(), "in use");
}

/* The device refuses FEATURES_OK (3.1.1), or does not offer VERSION_1. */
static void features_refused(void **state)
{
    const struct snare refuses = {
        .access = ACCESS_STATUS, .effect = SNARE_REPLACE, .countdown = 5, .value = 3};

    (void)state;
    begin(BUS_PCI, 3);
    assert_true(owner_destroy());
    snare_set(&refuses);
    cases_expect_refused(cases_start(), "features");
    begin(BUS_PCI, 3);
    device.offered &= ~VIRTIO_F_VERSION_1;
    cases_expect_refused(cases_start(), "VERSION_1");
}

/* VIA: values that are read twice. The MTU is valid at the check and invalid at the use. */
static void mtu_changes(void **state)
{
    (void)state;
    for (uint32_t nth = 1; nth < 16; nth++) {
        const struct snare grows = {
            .access = ACCESS_CONFIG, .effect = SNARE_REPLACE, .countdown = nth, .value = 0xfffe};

        begin(BUS_PCI, 3);
        assert_true(owner_destroy());
        snare_set(&grows);
        if (cases_start() == NULL) {
            owner_getters();
        }
        program_finish();
    }
}

/* The same for a device whose frames need several buffers, and for values that need them no more or
 * are never allowed. */
static void large_mtu_changes(void **state)
{
    static const uint32_t values[] = {0, 67, 68, 1500, 9000, 9001, 0xffff};

    (void)state;
    for (uint32_t nth = 1; nth < 16; nth++) {
        for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
            const struct snare changes = {.access = ACCESS_CONFIG,
                                          .effect = SNARE_REPLACE,
                                          .countdown = nth,
                                          .value = values[i]};

            cases_begin(BUS_PCI, 3, HEADER_LARGE_MTU, 0);
            assert_int_equal(virtio_net_mtu(owner_net()), LARGE_MTU);
            assert_true(owner_destroy());
            snare_set(&changes);
            if (cases_start() == NULL) {
                owner_getters();
            }
            program_finish();
        }
    }
}

/* VIA: ids and lengths that are read twice, checked the first time and used the second time. */
static void used_element_changes(void **state)
{
    static const uint32_t values[] = {0, 1, 7, 8, 600, 1526, 1527, 0xffff, 0x80000000, 0xffffffff};

    (void)state;
    for (uint32_t nth = 1; nth < 24; nth++) {
        for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
            const struct snare changes = {.access = ACCESS_RING_READ,
                                          .effect = SNARE_REPLACE,
                                          .countdown = nth,
                                          .value = values[i]};

            begin(BUS_PCI, 3);
            cases_send(3);
            traffic_return(TRANSMIT, 3, 1);
            traffic_receive(0, 3, 600, 0);
            snare_set(&changes);
            owner_settle();
            owner_check();
            program_finish();
        }
    }
    if (!snare_sees_memory()) {
        skip(); /* GCC has no instrumentation that reports the accesses */
    }
}

/* Zephyr#117542, sDDF#769: the queue size exceeds the device's limit, or is no power of two. */
static void queue_sizes(void **state)
{
    static const uint16_t sizes[] = {0, 1, 2, 3, 5, 255, 257, 0x7fff, 0x8000, 0xffff};

    (void)state;
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (unsigned bus = 0; bus < 2; bus++) {
            begin(bus != 0 ? BUS_PCI : BUS_MMIO, 0);
            for (unsigned j = 0; j < QUEUES; j++) {
                device.queue[j].size_max = sizes[i];
            }
            assert_int_equal(cases_start() == NULL, sizes[i] != 0);
            for (unsigned j = 0; j < 2 && owner_net() != NULL; j++) {
                assert_true(device.queue[j].ring.size <= sizes[i]);
                assert_int_equal(device.queue[j].ring.size & (device.queue[j].ring.size - 1), 0);
            }
            program_finish();
        }
    }
}

/* Interrupts without a cause, or with any cause: a driver has to tolerate them (2.7.7, 4.1.4.5). */
static void interrupts_without_a_cause(void **state)
{
    (void)state;
    for (unsigned vectors = 0; vectors < 4; vectors++) {
        begin(BUS_PCI, vectors);
        for (unsigned i = 0; i < 1000; i++) {
            device.cause = (uint8_t)i;
            owner_interrupt(i % 3);
            if (i % 16 == 0) {
                owner_settle();
            }
        }
        assert_null(virtio_net_broken(owner_net()));
        traffic_receive(0, 3, 60, 0);
        owner_settle();
        assert_int_equal(owner_frames_received(), 3);
        program_finish();
    }
}

/* The device sets DEVICE_NEEDS_RESET (2.1.2), from which none of the drivers read recovers. */
static void device_needs_reset(void **state)
{
    (void)state;
    begin(BUS_PCI, 3);
    cases_send(3);
    device.lies |= LIE_CONFIG;
    device.status |= VIRTIO_STATUS_NEEDS_RESET;
    device_raise(device.config_vector, VIRTIO_CAUSE_CONFIG);
    owner_settle();
    cases_expect_broken("reset");
}

/* The device keeps writing to buffers that it has returned. That damages the owner's memory, but
 * not the driver. */
static void buffers_written_after_return(void **state)
{
    (void)state;
    begin(BUS_PCI, 3);
    for (unsigned i = 0; i < 100; i++) {
        traffic_receive(0, 4, 100, 0);
        traffic_scribble(i * 0x01234567u);
        owner_interrupt(1);
        traffic_scribble(~(i * 0x01234567u));
        owner_bottom_half(true);
    }
    assert_null(virtio_net_broken(owner_net()));
    assert_int_equal(owner_frames_received(), 400);
    program_finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(used_id_out_of_range),
        cmocka_unit_test(used_id_never_issued),
        cmocka_unit_test(used_id_replayed),
        cmocka_unit_test(used_id_ahead_in_order),
        cmocka_unit_test(used_id_in_the_middle),
        cmocka_unit_test(used_length_beyond_the_buffer),
        cmocka_unit_test(used_length_of_a_transmitted_frame),
        cmocka_unit_test(used_length_below_the_header),
        cmocka_unit_test(used_index_a_lap_ahead),
        cmocka_unit_test(descriptors_rewritten),
        cmocka_unit_test(empty_ring_is_refilled),
        cmocka_unit_test(flood),
        cmocka_unit_test(invalid_header_fields),
        cmocka_unit_test(number_of_buffers_changes),
        cmocka_unit_test(invalid_capabilities),
        cmocka_unit_test(structures_outside_the_bar),
        cmocka_unit_test(notification_outside),
        cmocka_unit_test(generation_never_stable),
        cmocka_unit_test(reset_never_confirmed),
        cmocka_unit_test(reset_never_confirmed_without_queues),
        cmocka_unit_test(reset_never_confirmed_with_a_queue_in_use),
        cmocka_unit_test(features_refused),
        cmocka_unit_test(mtu_changes),
        cmocka_unit_test(large_mtu_changes),
        cmocka_unit_test(used_element_changes),
        cmocka_unit_test(queue_sizes),
        cmocka_unit_test(interrupts_without_a_cause),
        cmocka_unit_test(device_needs_reset),
        cmocka_unit_test(buffers_written_after_return),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
