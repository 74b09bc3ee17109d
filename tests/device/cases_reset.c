/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices that are reset behind the driver's back. */
#include "cases.h"
#include "rules.h"

/* PCI configuration space */
#define COMMAND       0x04u
#define HEADER_BYTES  0x40u
#define SECONDARY_BUS 0x19u
#define CAPABILITIES  0x34u
#define BRIDGE        0x3eu
#define BRIDGE_RESET  0x40u

/* PCI Express capability */
#define EXPRESS          0x10u
#define DEVICE_CONTROL   0x08u
#define FUNCTION_RESET   0x8000u
#define CAPABILITIES_MAX 48u

/* As in test_device.py. */
enum way { SYSTEM_RESET, FUNCTION_LEVEL_RESET, BUS_RESET };

static uint32_t saved[HEADER_BYTES / 4];

static void save(struct virtio_pci_function *function)
{
    for (uint16_t offset = 0; offset < HEADER_BYTES; offset += 4) {
        saved[offset / 4] = virtio_platform_pci_read(function, offset, 4);
    }
}

/* As firmware, or whoever ordered the reset, sets the function up again. */
static void restore(const struct station *station)
{
    for (uint16_t offset = HEADER_BYTES - 4; offset >= COMMAND; offset = (uint16_t)(offset - 4)) {
        virtio_platform_pci_write(station->function, offset, 4, saved[offset / 4]);
    }
    if (station->transport->vectors != 0) {
        assert_int_equal(qtest_msix_enable(station->function, station->transport->vectors),
                         station->transport->vectors);
    }
}

static uint16_t express(struct virtio_pci_function *function)
{
    uint32_t at = virtio_platform_pci_read(function, CAPABILITIES, 1);

    for (unsigned i = 0; i < CAPABILITIES_MAX && at != 0; i++) {
        uint32_t header = virtio_platform_pci_read(function, (uint16_t)at, 2);

        if ((header & 0xffu) == EXPRESS) {
            return (uint16_t)at;
        }
        at = header >> 8;
    }
    fail_msg("no PCI Express capability");
    return 0;
}

/* The port that the device is behind. */
static struct virtio_pci_function *port_of(const struct station *station)
{
    struct virtio_pci_function *each;

    for (unsigned i = 0; (each = qtest_pci_function(i)) != NULL; i++) {
        if (each->bridge &&
            virtio_platform_pci_read(each, SECONDARY_BUS, 1) == station->function->bus) {
            return each;
        }
    }
    fail_msg("the device is behind no port");
    return NULL;
}

static bool is_reset(const struct station *station)
{
    return station->function != NULL
               ? virtio_platform_pci_read(station->function, COMMAND, 2) == 0
               : station->transport->operations->status(station->transport) == 0;
}

static void reset(const struct station *station, enum way way)
{
    struct virtio_pci_function *port;
    uint16_t at;

    switch (way) {
    case SYSTEM_RESET:
        monitor_execute(station->setting, "{\"execute\":\"system_reset\"}\n");
        break;
    case FUNCTION_LEVEL_RESET:
        at = (uint16_t)(express(station->function) + DEVICE_CONTROL);
        virtio_platform_pci_write(station->function, at, 2,
                                  virtio_platform_pci_read(station->function, at, 2) |
                                      FUNCTION_RESET);
        break;
    default:
        port = port_of(station);
        virtio_platform_pci_write(port, BRIDGE, 2, BRIDGE_RESET);
        virtio_platform_pci_write(port, BRIDGE, 2, 0);
        break;
    }
    for (uint64_t started = virtio_platform_now(); !is_reset(station);) {
        assert_true(virtio_platform_now() - started < STATION_PATIENCE);
        qtest_wait(1);
    }
}

static void fill(struct station *station)
{
    for (unsigned i = 0; i < 60; i++) {
        (void)station_send(station, 200 + i, 1 + i % 4);
        (void)station_inject(station, 300 + i);
        if (i % 20 == 0) {
            virtio_net_flush(station->net);
        }
    }
}

/* The driver goes on as if nothing had happened, with a device that does nothing any more. */
static void carry_on(struct station *station)
{
    for (unsigned i = 0; i < 20; i++) {
        (void)station_send(station, 100, 1);
        virtio_net_flush(station->net);
        station_serve(station, true);
        (void)virtio_net_link_up(station->net);
        (void)virtio_net_link_changed(station->net);
    }
}

static void come_back(struct station *station)
{
    station_stop(station);
    station_clear_wire(station);
    station_start(station);
    station_clear_wire(station);
    station_exchange(station, 50, 3);
}

/* 2.4.1: reset by somebody else in mid-traffic. Whatever the driver does until it hears of it does
 * no harm; then every buffer comes back once, and traffic with a restart. `count`: the way. */
static void hot_reset(struct station *station)
{
    enum way way = (enum way)station->setting->count;

    station_start(station);
    for (unsigned round = 0; round < 3; round++) {
        station_exchange(station, 10, 2);
        if (station->function != NULL) {
            save(station->function);
        }
        fill(station);
        reset(station, way);
        carry_on(station);
        if (station->function != NULL) {
            restore(station);
        }
        come_back(station);
    }
}

const struct device_case reset_cases[] = {
    {"hot_reset", hot_reset},
    {0},
};
