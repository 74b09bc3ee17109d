/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases about starting, configuring and restarting. */
#include "cases.h"
#include "rules.h"
#include <string.h>

/* With 8 receive buffers and a transmit ring of 256 entries. */
#define DRIVER_MEMORY ((size_t)49152)

static struct station *current;
static unsigned config_reads;
static unsigned changes_left;
static bool link_is_up;

/* The driver is stopped and started many times, with traffic in between; nothing leaks. */
static void restart(struct station *station)
{
    for (unsigned round = 0; round < 10; round++) {
        station_start(station);
        station_exchange(station, 20, 3);
        station_stop(station);
    }
    station_start(station);
}

/* The driver adopts the device's MTU and obeys it. */
static void mtu(struct station *station)
{
    uint16_t expected = station->setting->mtu;

    station_start(station);
    assert_int_equal(virtio_net_mtu(station->net), expected);
    assert_false(station_send(station, expected + 15u, 1));
    assert_true(station_send(station, expected + 14u, 1));
    virtio_net_flush(station->net);
    station_until(station, station->arrived == station->sent);
}

/* The driver has the device's address, or none if it refuses VIRTIO_NET_F_MAC. */
static void mac(struct station *station)
{
    static const uint8_t expected[6] = {0x52, 0x54, 0x00, 0x12, 0x34, 0x56};
    uint8_t found[6] = {0};
    bool agreed = (station->setting->expect & VIRTIO_NET_F_MAC) != 0;

    station_start(station);
    assert_int_equal(virtio_net_mac(station->net, found), agreed);
    assert_int_equal(memcmp(found, expected, 6) == 0, agreed);
}

/* The cable is pulled and put back several times; the driver reports each change. */
static void link(struct station *station)
{
    station_start(station);
    station_exchange(station, 10, 1);
    for (unsigned round = 0; round < 5; round++) {
        for (int up = 0; up <= 1; up++) {
            uint32_t before = station->link_changes;

            monitor_set_link(station->setting, up != 0);
            station_until(station, station->link_changes != before &&
                                       virtio_net_link_up(station->net) == (up != 0));
        }
        station_exchange(station, 10, 2);
    }
}

/* The link is down when the driver starts. */
static void starts_without_link(struct station *station)
{
    monitor_set_link(station->setting, false);
    station_start(station);
    assert_int_equal(virtio_net_link_up(station->net),
                     (station->setting->expect & VIRTIO_NET_F_STATUS) == 0);
    monitor_set_link(station->setting, true);
    station_until(station, virtio_net_link_up(station->net));
    station_exchange(station, 20, 2);
}

/* Changes the configuration while the driver reads it. */
static void change_configuration(enum rules_register what, const struct qtest_access *access)
{
    (void)access;
    if (what != REGISTER_CONFIG) {
        return;
    }
    config_reads++;
    if (changes_left != 0) {
        changes_left--;
        link_is_up = !link_is_up;
        monitor_set_link(current->setting, link_is_up);
    }
}

/* 2.5.1: the driver reads a field again if it changes during the read. QEMU counts generations only
 * after DRIVER_OK. */
static void configuration_changes(struct station *station)
{
    current = station;
    station_start(station);
    for (unsigned changes = 0; changes < 6; changes++) {
        config_reads = 0;
        link_is_up = true;
        changes_left = changes;
        rules_on_access = change_configuration;
        (void)virtio_net_link_up(station->net);
        rules_on_access = NULL;
        assert_int_equal(changes_left, 0);
        assert_true(config_reads > changes);
        assert_int_equal(virtio_net_link_up(station->net), link_is_up);
        monitor_set_link(station->setting, true);
        assert_true(virtio_net_link_up(station->net));
    }
    changes_left = 1000; /* it changes at every read, and the driver gives up */
    rules_on_access = change_configuration;
    (void)virtio_net_link_up(station->net);
    rules_on_access = NULL;
    assert_true(changes_left > 900);
    monitor_set_link(station->setting, true);
    station_exchange(station, 20, 2);
}

/* A device that insists on a feature that the driver refuses clears FEATURES_OK. The driver reports
 * that, sets FAILED, resets the device, and can start again with the feature (3.1.1, 2.1.2). */
static void features_not_accepted(struct station *station)
{
    const char *reason;

    station->parameters.features_off |= VIRTIO_F_ACCESS_PLATFORM;
    reason = station_try_start(station);
    assert_non_null(reason);
    assert_non_null(strstr(reason, "features"));
    station->parameters.features_off &= ~VIRTIO_F_ACCESS_PLATFORM;
    station_start(station);
    station_exchange(station, 20, 2);
}

/* FAILED is set, whoever wrote it; the next start begins with a reset (2.1.2). */
static void restart_after_failed(struct station *station)
{
    station_start(station);
    station_exchange(station, 20, 2);
    virtio_transport_add_status(station->transport, VIRTIO_STATUS_FAILED);
    station_stop(station);
    station_start(station);
    station_exchange(station, 20, 2);
}

/* A driver has vanished and left the device running; its successor resets the device (3.1.1). */
static void takes_over(struct station *station)
{
    struct virtio_transport *transport = station->transport;

    transport->operations->set_status(transport, 0);
    while (transport->operations->status(transport) != 0) {
        virtio_platform_pause();
    }
    virtio_transport_add_status(transport, VIRTIO_STATUS_ACKNOWLEDGE);
    virtio_transport_add_status(transport, VIRTIO_STATUS_DRIVER);
    station_start(station);
    station_exchange(station, 20, 2);
}

/* 2.7: the driver's memory depends on its needs, not on the maximum size of the device's queues (a
 * bug of other drivers). */
static void memory(struct station *station)
{
    size_t before = qtest_allocated();
    size_t buffers = 8u * (size_t)VIRTIO_NET_RECEIVE_BYTES;

    station_start(station);
    assert_int_equal(station_statistics(station).rx_buffers_taken, 8);
    if (!station->transport->queue_size_fixed) { /* 2.7.2, 4.1.5.1.3.1: legacy PCI fixes the size */
        assert_in_range(qtest_allocated() - before, 1, DRIVER_MEMORY - buffers);
    }
    station_exchange(station, 50, 3);
}

const struct device_case start_cases[] = {
    {"restart", restart},
    {"memory", memory},
    {"mtu", mtu},
    {"mac", mac},
    {"link", link},
    {"starts_without_link", starts_without_link},
    {"configuration_changes", configuration_changes},
    {"features_not_accepted", features_not_accepted},
    {"restart_after_failed", restart_after_failed},
    {"takes_over", takes_over},
    {0},
};
