/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases about devices that are reset without the driver's knowledge, or removed while it runs. */
#include "cases.h"
#include "rules.h"
#include <stdio.h>
#include <string.h>

/* PCI configuration space */
#define COMMAND       0x04u
#define HEADER_BYTES  0x40u
#define SECONDARY_BUS 0x19u
#define CAPABILITIES  0x34u
#define BRIDGE        0x3eu
#define BRIDGE_RESET  0x40u
#define GONE          0xffffu

/* PCI Express capability */
#define EXPRESS          0x10u
#define DEVICE_CONTROL   0x08u
#define FUNCTION_RESET   0x8000u
#define SLOT_CONTROL     0x18u
#define SLOT_POWER_OFF   0x0400u
#define SLOT_LIGHTS      0x0300u
#define SLOT_LIGHT_ON    0x0100u
#define CAPABILITIES_MAX 48u

/* Registers that ACPI's methods access on q35 (docs/specs/acpi_pci_hotplug in QEMU's sources). */
#define ACPI_SLOTS   (QTEST_PORT + 0xcc0)
#define ACPI_REMOVED (ACPI_SLOTS + 0x04)
#define ACPI_EJECT   (ACPI_SLOTS + 0x08)
#define ACPI_BUS     (ACPI_SLOTS + 0x10)
#define ACPI_BUSES   256u

/* The numbers are those of test_device.py. */
enum way { SYSTEM_RESET, FUNCTION_LEVEL_RESET, BUS_RESET };

static uint32_t saved[HEADER_BYTES / 4];

static void save(struct virtio_pci_function *function)
{
    for (uint16_t offset = 0; offset < HEADER_BYTES; offset += 4) {
        saved[offset / 4] = virtio_platform_pci_read(function, offset, 4);
    }
}

/* Configures the function again, as firmware or the party that ordered the reset does. */
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

/* Returns the port in front of the device. */
static struct virtio_pci_function *port_of(const struct station *station)
{
    struct virtio_pci_function *each;

    for (unsigned i = 0; (each = qtest_pci_function(i)) != NULL; i++) {
        if (each->bridge &&
            virtio_platform_pci_read(each, SECONDARY_BUS, 1) == station->function->bus) {
            return each;
        }
    }
    fail_msg("there is no port in front of the device");
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

/* The driver continues unaware of the reset, although the device does nothing any more. */
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

/* 2.4.1: another party resets the device in mid-traffic. The driver's actions until it notices do
 * no harm. Then every buffer comes back once, and a restart restores traffic. `count`: the way. */
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

static void set_slot(struct virtio_pci_function *port, uint32_t bits)
{
    uint16_t at = (uint16_t)(express(port) + SLOT_CONTROL);
    uint32_t control = virtio_platform_pci_read(port, at, 2) & ~(SLOT_POWER_OFF | SLOT_LIGHTS);

    virtio_platform_pci_write(port, at, 2, control | bits);
}

/* Uses ACPI's registers, which control the slots of q35 by default although the ports have
 * registers of their own. Returns false if no request is pending there. */
static bool eject_by_acpi(void)
{
    bool found = false;

    if (qtest_attached()->pci_ports != 0) {
        return false; /* not an x86 machine */
    }
    for (uint32_t bus = 0; bus < ACPI_BUSES; bus++) {
        uint32_t slots;

        qtest_write(ACPI_BUS, 4, bus);
        slots = qtest_read(ACPI_REMOVED, 4);
        if (slots != 0 && slots != UINT32_MAX) {
            qtest_write(ACPI_EJECT, 4, slots);
            found = true;
        }
    }
    return found;
}

static void await_slot(const struct station *station, bool empty)
{
    for (uint64_t started = virtio_platform_now();
         (virtio_platform_pci_read(station->function, 0, 2) == GONE) != empty;) {
        assert_true(virtio_platform_now() - started < STATION_PATIENCE);
        qtest_wait(1);
    }
}

/* The device is removed in mid-traffic and another one is inserted. Meanwhile registers read as all
 * ones, or as 0. The driver keeps the old device's buffers until a device confirms a reset
 * (2.4.1). */
static void hot_plug(struct station *station)
{
    struct virtio_pci_function *port = port_of(station);
    char command[1024];
    bool looks_reset;
    bool by_acpi;

    (void)snprintf(command, sizeof(command), "{\"execute\":\"device_add\",\"arguments\":%s}\n",
                   station->setting->plug);
    station_start(station);
    for (unsigned round = 0; round < 3; round++) {
        station_exchange(station, 10, 2);
        save(station->function);
        fill(station);
        monitor_execute(station->setting,
                        "{\"execute\":\"device_del\",\"arguments\":{\"id\":\"nic0\"}}\n");
        /* Acts as the operating system when it is asked to release the devices in its slots. */
        by_acpi = eject_by_acpi();
        if (!by_acpi) {
            set_slot(port, SLOT_POWER_OFF | SLOT_LIGHTS);
        }
        monitor_await(station->setting, "\"device\": \"nic0\"");
        await_slot(station, true);
        carry_on(station);
        /* x86 reads 0 where no device is, which looks like a confirmed reset. */
        looks_reset = station->transport->operations->status(station->transport) == 0;
        virtio_net_watch(station->net);
        assert_non_null(virtio_net_broken(station->net));
        assert_non_null(strstr(virtio_net_broken(station->net), looks_reset ? "reset" : "gone"));
        assert_int_equal(virtio_net_stop(station->net), looks_reset);
        monitor_execute(station->setting, command);
        if (!by_acpi) {
            set_slot(port, SLOT_LIGHT_ON);
        }
        await_slot(station, false);
        restore(station);
        come_back(station);
    }
}

const struct device_case reset_cases[] = {
    {"hot_reset", hot_reset},
    {"hot_plug", hot_plug},
    {0},
};
