/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests start and stop of the network driver: order, negotiation, configuration, failures (3.1.1,
 * 5.1.5). */
#include "owner.h"
#include <limits.h>
#include <string.h>

static struct owner owner;

static void expect_trace(const struct fake_write *expected, unsigned count)
{
    for (unsigned i = 0; i < count && i < owner.device.trace_count; i++) {
        if (owner.device.trace[i].where != expected[i].where ||
            owner.device.trace[i].value != expected[i].value) {
            fail_msg("write %u: %#x = %#x, expected %#x = %#x", i, owner.device.trace[i].where,
                     owner.device.trace[i].value, expected[i].where, expected[i].value);
        }
    }
    assert_int_equal(owner.device.trace_count, count);
}

static uint32_t low(uint64_t value)
{
    return (uint32_t)value;
}

static uint32_t high(uint64_t value)
{
    return (uint32_t)(value >> 32);
}

static void order_on_mmio(void **state)
{
    const uint64_t features = FAKE_FEATURES_ALL | fake_ring_features;
    const struct fake_queue *rx = &owner.device.queue[0];
    const struct fake_queue *tx = &owner.device.queue[1];

    (void)state;
    owner_prepare(&owner, FAKE_MMIO, 0);
    owner_start(&owner);
    const struct fake_write expected[] = {
        {0x070, 0},   /* reset */
        {0x070, 0x1}, /* ACKNOWLEDGE */
        {0x070, 0x3}, /* DRIVER */
        {0x014, 1},   /* offered features, to see whether there is an MTU */
        {0x014, 0},
        {0x014, 1}, /* negotiation */
        {0x014, 0},
        {0x024, 1},
        {0x020, high(features)},
        {0x024, 0},
        {0x020, low(features)},
        {0x070, 0xb}, /* FEATURES_OK */
        {0x030, 0},   /* sizes */
        {0x030, 1},
        {0x030, 0}, /* receive queue */
        {0x038, 8},
        {0x080, low(rx->ring.descriptors)},
        {0x084, high(rx->ring.descriptors)},
        {0x090, low(rx->ring.driver_area)},
        {0x094, high(rx->ring.driver_area)},
        {0x0a0, low(rx->ring.device_area)},
        {0x0a4, high(rx->ring.device_area)},
        {0x044, 1},
        {0x030, 1}, /* transmit queue */
        {0x038, 256},
        {0x080, low(tx->ring.descriptors)},
        {0x084, high(tx->ring.descriptors)},
        {0x090, low(tx->ring.driver_area)},
        {0x094, high(tx->ring.driver_area)},
        {0x0a0, low(tx->ring.device_area)},
        {0x0a4, high(tx->ring.device_area)},
        {0x044, 1},
        {0x070, 0xf}, /* DRIVER_OK */
        {0x050, 0},   /* not before this point: there are receive buffers */
    };
    expect_trace(expected, sizeof(expected) / sizeof(expected[0]));
    assert_true(high(rx->ring.descriptors) != 0);
    assert_int_equal(fake_available(0), 8);
    owner_finish(&owner);
    assert_int_equal(owner.device.status, 0);
}

static void order_on_pci(void **state)
{
    const uint64_t features = FAKE_FEATURES_ALL | fake_ring_features;
    const struct fake_queue *rx = &owner.device.queue[0];
    const struct fake_queue *tx = &owner.device.queue[1];

    (void)state;
    owner_prepare(&owner, FAKE_PCI, 3);
    owner_start(&owner);
    const struct fake_write expected[] = {
        {0x14, 0},
        {0x14, 0x1},
        {0x14, 0x3},
        {0x00, 1},
        {0x00, 0},
        {0x00, 1},
        {0x00, 0},
        {0x08, 1},
        {0x0c, high(features)},
        {0x08, 0},
        {0x0c, low(features)},
        {0x14, 0xb},
        {0x16, 0},
        {0x16, 1},
        {0x10, 0},
        {0x16, 0},
        {0x18, 8},
        {0x1a, 1},
        {0x20, low(rx->ring.descriptors)},
        {0x24, high(rx->ring.descriptors)},
        {0x28, low(rx->ring.driver_area)},
        {0x2c, high(rx->ring.driver_area)},
        {0x30, low(rx->ring.device_area)},
        {0x34, high(rx->ring.device_area)},
        {0x1c, 1},
        {0x16, 1},
        {0x18, 256},
        {0x1a, 2},
        {0x20, low(tx->ring.descriptors)},
        {0x24, high(tx->ring.descriptors)},
        {0x28, low(tx->ring.driver_area)},
        {0x2c, high(tx->ring.driver_area)},
        {0x30, low(tx->ring.device_area)},
        {0x34, high(tx->ring.device_area)},
        {0x1c, 1},
        {0x14, 0xf},
        {0x3004, 0},
    };
    expect_trace(expected, sizeof(expected) / sizeof(expected[0]));
    owner_finish(&owner);
}

static void vectors(void **state)
{
    static const uint16_t expected[5][3] = {
        {0xffff, 0xffff, 0xffff}, {0, 0, 0}, {0, 1, 1}, {0, 1, 2}, {0, 1, 2}};

    (void)state;
    for (uint16_t count = 0; count < 5; count++) {
        owner_prepare(&owner, FAKE_PCI, count);
        owner_start(&owner);
        assert_int_equal(owner.device.config_vector, expected[count][0]);
        assert_int_equal(owner.device.queue[0].vector, expected[count][1]);
        assert_int_equal(owner.device.queue[1].vector, expected[count][2]);
        owner_finish(&owner);
    }
}

static void expect_failure(const char *what)
{
    const char *reason = owner_try_start(&owner);

    assert_non_null(reason);
    assert_non_null(strstr(reason, what));
    assert_true(owner.device.status == 0 || (owner.device.status & VIRTIO_STATUS_FAILED) != 0 ||
                owner.device.stuck_in_reset);
    for (unsigned i = 0; i < OWNER_BUFFERS; i++) {
        assert_false(owner.buffers[i].with_driver);
    }
    owner_release(&owner);
}

static void refused_vectors(void **state)
{
    (void)state;
    for (uint16_t granted = 0; granted < 3; granted++) {
        const char *reason = NULL;

        owner_prepare(&owner, FAKE_PCI, 3);
        owner.transport = fake_probe(&owner.mmio, &owner.pci);
        owner.device.vectors_granted = granted;
        assert_null(virtio_net_create(owner.transport, &owner.parameters,
                                      &(struct virtio_net_operations){0}, &owner, &reason));
        assert_non_null(strstr(reason, "vector"));
        owner_release(&owner);
    }
}

#define SEGMENTATION (VIRTIO_NET_F_HOST_TSO4 | VIRTIO_NET_F_HOST_TSO6)

/* Returns true if a driver may accept the features: segmentation requires the checksum, commands
 * require the control queue, announcements require the status that requests them (5.1.3.1). */
static uint64_t consistent(uint64_t features)
{
    if ((features & VIRTIO_NET_F_CSUM) == 0) {
        features &= ~SEGMENTATION;
    }
    if ((features & VIRTIO_NET_F_CTRL_VQ) == 0) {
        features &= ~FAKE_FEATURES_CONTROL;
    }
    return (features & VIRTIO_NET_F_STATUS) != 0 ? features
                                                 : features & ~VIRTIO_NET_F_GUEST_ANNOUNCE;
}

static void one_feature_at_a_time(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t feature = VIRTIO_FEATURE(bit);
        uint64_t known = FAKE_FEATURES_ALL | VIRTIO_F_ACCESS_PLATFORM | VIRTIO_F_RING_PACKED |
                         VIRTIO_F_IN_ORDER | VIRTIO_F_ORDER_PLATFORM | VIRTIO_F_RING_RESET |
                         VIRTIO_NET_F_SPEED_DUPLEX |
                         (FAKE_FEATURES_CONTROL & ~VIRTIO_NET_F_CTRL_VLAN);

        /* Offered alone: accepted if the driver knows it. */
        owner_prepare(&owner, FAKE_MMIO, 0);
        owner.device.offered = feature | VIRTIO_F_VERSION_1;
        owner_start(&owner);
        assert_true(virtio_net_features(owner.net) ==
                    (consistent(feature & known) | VIRTIO_F_VERSION_1));
        assert_true(owner.device.accepted == virtio_net_features(owner.net));
        owner_finish(&owner);
        /* All features are offered; the driver refuses this one. */
        owner_prepare(&owner, FAKE_PCI, 3);
        owner.device.offered = ~UINT64_C(0);
        owner.parameters.features_off = feature;
        owner_start(&owner);
        assert_true(owner.device.accepted == (consistent(known & ~feature) | VIRTIO_F_VERSION_1));
        owner_finish(&owner);
    }
}

static void missing_version_1(void **state)
{
    (void)state;
    owner_prepare(&owner, FAKE_MMIO, 0);
    owner.device.offered &= ~VIRTIO_F_VERSION_1;
    expect_failure("VERSION_1");
    assert_int_equal(owner.device.status, 0x83);
}

static void features_refused(void **state)
{
    (void)state;
    owner_prepare(&owner, FAKE_PCI, 0);
    owner.device.refuse_features = true;
    expect_failure("features");
    assert_int_equal(owner.device.status, 0x83);
}

/* CTRL_RX or MQ without CTRL_VQ would make the driver send commands without a control queue. */
static void features_withdrawn_between_two_reads(void **state)
{
    (void)state;
    owner_prepare(&owner, FAKE_PCI, 0);
    owner.device.offered |= VIRTIO_NET_F_CTRL_VQ | VIRTIO_NET_F_CTRL_RX;
    owner.device.withdrawn = VIRTIO_NET_F_CTRL_VQ;
    expect_failure("changed during the negotiation");
    assert_int_equal(owner.device.status & 0x84, 0x80); /* FAILED, never DRIVER_OK */
}

static void not_a_network_device(void **state)
{
    (void)state;
    owner_prepare(&owner, FAKE_MMIO, 0);
    owner.device.device_id = 2;
    expect_failure("network");
    assert_int_equal(owner.device.trace_count, 0);
}

static void queue_missing(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        owner_prepare(&owner, FAKE_MMIO, 0);
        owner.device.queue[i].size_max = 0;
        expect_failure("queue");
    }
}

/* 4.2.3.2, 4.1.5.1.3 */
static void queue_in_use_before(void **state)
{
    (void)state;
    for (enum fake_bus bus = FAKE_MMIO; bus <= FAKE_PCI; bus++) {
        owner_prepare(&owner, bus, 0);
        owner.device.ready_stuck = true;
        expect_failure("in use");
        assert_false(owner.device.queue[0].enabled);
    }
}

static void reset_never_completes(void **state)
{
    (void)state;
    owner_prepare(&owner, FAKE_MMIO, 0);
    owner.device.stuck_in_reset = true;
    owner.device.status = 1;
    expect_failure("reset");
}

static void reset_takes_a_while(void **state)
{
    (void)state;
    owner_prepare(&owner, FAKE_PCI, 0);
    owner.device.reset_reads = 100;
    owner_start(&owner);
    owner_finish(&owner);
}

static void no_memory(void **state)
{
    unsigned left = 0;

    (void)state;
    for (;; left++) {
        owner_prepare(&owner, FAKE_MMIO, 0);
        fake_allocations_left = left;
        if (owner_try_start(&owner) == NULL) {
            break;
        }
        fake_allocations_left = UINT_MAX;
        owner_release(&owner);
    }
    assert_int_equal(left, 5); /* driver, two rings with their slots */
    fake_allocations_left = UINT_MAX;
    owner_finish(&owner);
}

static void no_receive_buffers_at_first(void **state)
{
    (void)state;
    owner_prepare(&owner, FAKE_MMIO, 0);
    owner.buffers_usable = 0;
    owner_start(&owner);
    assert_int_equal(fake_available(0), 0);
    assert_int_equal(owner.device.queue[0].notifications, 0);
    owner.buffers_usable = 5;
    virtio_net_refill(owner.net);
    assert_int_equal(fake_available(0), 5);
    owner_finish(&owner);
}

static void buffers_too_small_are_not_used(void **state)
{
    (void)state;
    owner_prepare(&owner, FAKE_MMIO, 0);
    owner.buffer_capacity = VIRTIO_NET_RECEIVE_BYTES - 1;
    owner_start(&owner);
    assert_int_equal(fake_available(0), 0);
    owner_finish(&owner);
}

static void ring_sizes(void **state)
{
    static const uint16_t cases[][5] = {
        /* maximum, rx_buffers, receive ring, tx_ring, transmit ring */
        {256, 0, 8, 0, 256},   {256, 1, 1, 1, 1},       {256, 9, 16, 100, 128},
        {4, 8, 4, 256, 4},     {100, 100, 64, 100, 64}, {32768, 40, 64, 1024, 1024},
        {65535, 8, 8, 0, 256},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        owner_prepare(&owner, FAKE_MMIO, 0);
        owner.device.queue[0].size_max = cases[i][0];
        owner.device.queue[1].size_max = cases[i][0];
        owner.parameters.rx_buffers = cases[i][1];
        owner.parameters.tx_ring = cases[i][3];
        owner_start(&owner);
        assert_int_equal(owner.device.queue[0].ring.size, cases[i][2]);
        assert_int_equal(owner.device.queue[1].ring.size, cases[i][4]);
        assert_true(fake_available(0) <= owner.device.queue[0].ring.size);
        owner_finish(&owner);
    }
}

static void mac_address(void **state)
{
    uint8_t mac[6] = {9, 9, 9, 9, 9, 9};

    (void)state;
    owner_prepare(&owner, FAKE_MMIO, 0);
    owner.device.config_changes = 4; /* the driver notices torn reads */
    owner_start(&owner);
    assert_true(virtio_net_mac(owner.net, mac));
    assert_memory_equal(mac, owner.device.config, 6);
    owner_finish(&owner);

    owner_prepare(&owner, FAKE_MMIO, 0);
    owner.parameters.features_off = VIRTIO_NET_F_MAC;
    owner_start(&owner);
    mac[0] = 9;
    assert_false(virtio_net_mac(owner.net, mac));
    assert_int_equal(mac[0], 9);
    owner_finish(&owner);

    owner_prepare(&owner, FAKE_MMIO, 0);
    owner.device.config[0] = 0x53; /* a group address */
    owner_start(&owner);
    assert_false(virtio_net_mac(owner.net, mac));
    owner_finish(&owner);
}

static void configuration_always_changes(void **state)
{
    (void)state;
    owner_prepare(&owner, FAKE_PCI, 0);
    owner.device.config_changes = UINT_MAX;
    expect_failure("configuration");
}

static struct virtio_net_buffer *no_buffer(void *context)
{
    (void)context;
    return NULL;
}

/* The MAC address needs 6 bytes of configuration, the status 8, the MTU 12. If the configuration is
 * shorter, the driver does not accept the feature. */
static void configuration_too_short(void **state)
{
    (void)state;
    for (unsigned bytes = 0x100; bytes <= 0x10c; bytes++) {
        const char *reason = NULL;
        struct virtio_net_operations none = {.receive_buffer = no_buffer};
        struct virtio_net *net;

        owner_prepare(&owner, FAKE_MMIO, 0);
        assert_true(virtio_mmio_probe(&owner.mmio, FAKE_MMIO_BASE, bytes, &reason));
        net = virtio_net_create(&owner.mmio.transport, &owner.parameters, &none, &owner, &reason);
        assert_int_equal(net != NULL, bytes >= 0x108);
        if (net != NULL) {
            assert_int_equal((virtio_net_features(net) & VIRTIO_NET_F_MTU) != 0, bytes == 0x10c);
            assert_true(virtio_net_stop(net));
            virtio_net_free(net);
        }
        owner_release(&owner);
    }
}

static void set_mtu(uint16_t mtu)
{
    owner.device.config[10] = (uint8_t)mtu;
    owner.device.config[11] = (uint8_t)(mtu >> 8);
}

static void mtu_is_honoured(void **state)
{
    (void)state;
    owner_prepare(&owner, FAKE_MMIO, 0);
    set_mtu(1400);
    owner_start(&owner);
    assert_int_equal(virtio_net_mtu(owner.net), 1400);
    assert_true(owner_send(&owner, 1414, 1, false));
    assert_false(owner_send(&owner, 1415, 1, false));
    owner_finish(&owner);
}

static void mtu_that_does_not_fit_is_not_accepted(void **state)
{
    static const uint16_t cases[] = {0, 67, 1501, 9000, 65535};

    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        owner_prepare(&owner, FAKE_PCI, 0);
        set_mtu(cases[i]);
        owner_start(&owner);
        assert_int_equal(virtio_net_mtu(owner.net), 1500);
        assert_true((owner.device.accepted & VIRTIO_NET_F_MTU) == 0);
        owner_finish(&owner);
    }
    owner_prepare(&owner, FAKE_PCI, 0);
    set_mtu(2000);
    owner.parameters.receive_bytes = 2026;
    owner.buffer_capacity = 2026;
    owner_start(&owner);
    assert_int_equal(virtio_net_mtu(owner.net), 2000);
    owner_finish(&owner);
}

static void link_status(void **state)
{
    (void)state;
    for (uint16_t vector_count = 0; vector_count < 4; vector_count++) {
        owner_prepare(&owner, FAKE_PCI, vector_count);
        owner.device.config[6] = 0;
        owner_start(&owner);
        assert_false(virtio_net_link_up(owner.net));
        assert_false(virtio_net_link_changed(owner.net));
        owner.device.config[6] = 1;
        owner.device.generation++;
        fake_config_interrupt();
        owner_settle(&owner);
        assert_int_equal(owner.link_changes, 1);
        assert_true(virtio_net_link_up(owner.net));
        owner.device.config_changes = 1000; /* the status can't be read: the last value stays */
        assert_true(virtio_net_link_up(owner.net));
        owner.device.config_changes = 0;
        owner_finish(&owner);
    }
    owner_prepare(&owner, FAKE_MMIO, 0);
    owner.device.config[6] = 0;
    owner.parameters.features_off = VIRTIO_NET_F_STATUS;
    owner_start(&owner);
    assert_true(virtio_net_link_up(owner.net)); /* without the status the link counts as up */
    owner_finish(&owner);
}

static void needs_reset_is_noticed(void **state)
{
    (void)state;
    for (enum fake_bus bus = FAKE_MMIO; bus <= FAKE_PCI; bus++) {
        bool line = bus == FAKE_MMIO;

        owner_prepare(&owner, bus, line ? 0 : 3);
        owner_start(&owner);
        owner.device.status |= VIRTIO_STATUS_NEEDS_RESET;
        fake_config_interrupt();
        owner_interrupts(&owner);
        /* The driver does not leave the line to a device that may never release it. */
        assert_int_equal(owner.device.status == 0, line);
        owner_settle(&owner);
        assert_non_null(virtio_net_broken(owner.net));
        assert_false(owner_send(&owner, 100, 1, false));
        owner_finish(&owner);
    }
}

static void stop_and_start_again(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        owner_prepare(&owner, FAKE_PCI, 3);
        owner_start(&owner);
        assert_true(owner_send(&owner, 100, 2, false));
        assert_true(owner_inject(&owner, 60));
        assert_true(virtio_net_stop(owner.net));
        assert_true(virtio_net_stop(owner.net)); /* has no effect */
        owner_fetch_packets(&owner);
        assert_false(virtio_net_transmit(owner.net, &owner_packet(&owner, 60, 1)->packet));
        virtio_net_flush(owner.net);
        virtio_net_refill(owner.net);
        virtio_net_interrupt(owner.net);
        assert_false(virtio_net_bottom_half(owner.net));
        owner_finish(&owner);
    }
}

/* 2.4.1: memory that the device may still write to is not freed. */
static void stop_without_confirmation(void **state)
{
    struct virtio_net_statistics s;

    (void)state;
    owner_prepare(&owner, FAKE_MMIO, 0);
    owner.parameters.tx_ring = 4;
    owner_start(&owner);
    for (unsigned i = 0; i < 6; i++) {
        assert_true(owner_send(&owner, 100, 1, false));
    }
    assert_true(owner_inject(&owner, 60));
    owner_interrupts(&owner);
    owner.device.stuck_in_reset = true;
    assert_false(owner_stop(&owner));
    s = owner_statistics(&owner);
    assert_int_equal(s.rx_exposed, 8);
    assert_int_equal(s.tx_in_flight, 4);
    assert_int_equal(s.tx_queued, 0);
    assert_int_equal(s.tx_returned, 2);
    virtio_net_free(owner.net); /* does not free memory that the device holds */
    assert_true(fake_allocations != 0);
    owner.device.stuck_in_reset = false;
    owner_finish(&owner);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_on_mmio),
        cmocka_unit_test(order_on_pci),
        cmocka_unit_test(vectors),
        cmocka_unit_test(refused_vectors),
        cmocka_unit_test(one_feature_at_a_time),
        cmocka_unit_test(missing_version_1),
        cmocka_unit_test(features_refused),
        cmocka_unit_test(features_withdrawn_between_two_reads),
        cmocka_unit_test(not_a_network_device),
        cmocka_unit_test(queue_missing),
        cmocka_unit_test(queue_in_use_before),
        cmocka_unit_test(reset_never_completes),
        cmocka_unit_test(reset_takes_a_while),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(no_receive_buffers_at_first),
        cmocka_unit_test(buffers_too_small_are_not_used),
        cmocka_unit_test(ring_sizes),
        cmocka_unit_test(mac_address),
        cmocka_unit_test(configuration_always_changes),
        cmocka_unit_test(configuration_too_short),
        cmocka_unit_test(mtu_is_honoured),
        cmocka_unit_test(mtu_that_does_not_fit_is_not_accepted),
        cmocka_unit_test(link_status),
        cmocka_unit_test(needs_reset_is_noticed),
        cmocka_unit_test(stop_and_start_again),
        cmocka_unit_test(stop_without_confirmation),
    };

    fake_choose_ring(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
