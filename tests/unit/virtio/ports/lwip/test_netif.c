/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the lwIP interface: a start that fails at any step leaks nothing, and no command waits for
 * the device while the network's lock is held.
 */
#include "core_lock.h"
#include "netif_private.h"
#include "netif_world.h"
#include <stdlib.h>

static struct virtio_netif *create(const char **reason)
{
    const struct virtio_netif_parameters parameters = {.priority = 1};
    struct virtio_netif *interface = virtio_netif_create(&world_device, &parameters, reason);

    assert_false(world.locked);
    return interface;
}

static void failed_start_leaks_nothing(void **state)
{
    (void)state;
    for (enum step failing = 0; failing < STEPS; failing++) {
        const char *reason = NULL;

        world_begin(failing, false);
        assert_null(create(&reason));
        assert_non_null(reason);
        assert_int_equal(world.drivers, 0);
        assert_false(world.connected);
        assert_int_equal(world.interfaces, 0);
        assert_int_equal(world.timeouts, 0);
        assert_int_equal(world.semaphores, 0);
        assert_false(world.release_set);
        assert_int_equal(world.allocations, 0);
    }
}

/* 2.4.1: memory that the device may still write to is not reused. */
static void memory_is_left_to_an_unresponsive_device(void **state)
{
    static const enum step steps[] = {DRIVER, INTERFACE, THREAD};

    (void)state;
    for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        const char *reason;
        void *lost;

        world_begin(steps[i], true);
        assert_null(create(&reason));
        assert_int_equal(world.allocations, 1); /* the receive pool */
        assert_false(world.connected);
        assert_int_equal(world.interfaces, 0);
        lost = world.net.exposed;
        free(lost);
    }
}

static void destroy(struct virtio_netif *interface)
{
    free(interface->blocks_memory);
    free(interface->packets_memory);
    free(interface);
}

/* The bottom half sends filters and announcements, without the network's lock. */
static void commands_without_the_lock(void **state)
{
    ip6_addr_t group = {.addr = {0, 0, 0, 0x01020304}};
    struct virtio_netif *interface;
    const char *reason;

    (void)state;
    world_begin(STEPS, false);
    interface = create(&reason);
    assert_non_null(interface);
    assert_int_equal(world.commands, 0);
    world_run_bottom_half();
    assert_int_equal(world.groups, 1); /* all nodes */
    assert_true(world.promiscuous_off);

    world.commands = 0;
    world_run_bottom_half();
    assert_int_equal(world.commands, 0);

    network_lock();
    for (unsigned i = 0; i < 3; i++) {
        group.addr[3]++;
        assert_int_equal(
            interface->netif.mld_mac_filter(&interface->netif, &group, NETIF_ADD_MAC_FILTER),
            ERR_OK);
    }
    network_unlock();
    assert_int_equal(world.commands, 0);
    world.promiscuous_off = false;
    world_run_bottom_half();
    assert_int_equal(world.groups, 4);
    assert_int_equal(world.commands, 2); /* the group table, and VIRTIO_NET_ALL_MULTICAST off */
    assert_false(world.promiscuous_off);

    network_lock();
    assert_int_equal(
        interface->netif.mld_mac_filter(&interface->netif, &group, NETIF_DEL_MAC_FILTER), ERR_OK);
    network_unlock();
    world_run_bottom_half();
    assert_int_equal(world.groups, 3);

    world.announce = true;
    world.changed = true;
    world.wakes = 1;
    world_run_bottom_half();
    assert_int_equal(world.announcements, 1); /* no IPv4 address yet */
    destroy(interface);
}

static struct virtio_netif *create_with(uint16_t mtu, uint16_t offered, const char *unused)
{
    struct virtio_netif *interface;
    const char *reason;

    world_begin(STEPS, false);
    world.mtu = mtu;
    world.mtu_offered = offered;
    world.mtu_unused = unused;
    interface = create(&reason);
    assert_non_null(interface);
    assert_int_equal(interface->netif.mtu, mtu);
    assert_int_equal(interface->netif.mtu6, mtu);
    return interface;
}

static void restart(void)
{
    world.broken = "it is to be restarted";
    world.lines = 0;
    world.wakes = 1;
    world_run_bottom_half();
    assert_null(world.broken);
}

/* The interface has the driver's MTU. One line says why it is not the device's; a restart repeats
 * it only if it has changed. */
static void mtu_of_the_device(void **state)
{
    static const uint16_t used[] = {68, 1499, 1500, 1501, 9000};
    struct virtio_netif *interface;

    (void)state;
    for (unsigned i = 0; i < sizeof(used) / sizeof(used[0]); i++) {
        interface = create_with(used[i], used[i], NULL);
        assert_int_equal(world.lines, 0);
        destroy(interface);
    }

    interface = create_with(1500, 9000, "no room");
    assert_int_equal(world.lines, 1);
    assert_string_equal(world.line, "net: MTU 9000 of the device is used as 1500: no room");
    restart();
    assert_int_equal(world.lines, 1);
    assert_string_equal(world.line, "net: the device was restarted");

    world.mtu = 9000;
    world.mtu_offered = 65535;
    world.mtu_unused = "it is too large";
    restart();
    assert_int_equal(interface->netif.mtu, 9000);
    assert_int_equal(world.lines, 2);
    world.mtu_unused = NULL;
    restart();
    assert_int_equal(world.lines, 1);
    destroy(interface);
}

static struct virtio_netif *create_with_alternative(uint16_t failures)
{
    const struct virtio_netif_parameters parameters = {
        .priority = 1, .alternative = {.failures = failures, .window = UINT64_C(10000000000)}};
    struct virtio_netif *interface;
    const char *reason;

    world_begin(STEPS, false);
    interface = virtio_netif_create(&world_device, &parameters, &reason);
    assert_non_null(interface);
    world_run_bottom_half();
    return interface;
}

/* The ordinary driver is replaced after so many failures, of a running driver or of its start. */
static void polled_driver_after_failures(void **state)
{
    struct virtio_netif *interface = create_with_alternative(3);

    (void)state;
    restart();
    restart();
    assert_int_equal(world.polled_runs, 0);
    assert_string_equal(virtio_netif_driver(interface), "virtio-net");
    restart();
    assert_int_equal(world.polled_runs, 1); /* it failed at once, and the ordinary one runs */
    assert_string_equal(world.line, "net: the device was restarted");
    destroy(interface);

    interface = create_with_alternative(3);
    world.fails = 2;
    restart();
    assert_int_equal(world.polled_runs, 1);
    destroy(interface);

    interface = create_with_alternative(0);
    for (unsigned i = 0; i < 50; i++) {
        restart();
    }
    assert_int_equal(world.polled_runs, 0);
    destroy(interface);
}

/* With a device that fails both drivers, they take turns, and the pauses grow. */
static void both_drivers_fail(void **state)
{
    struct virtio_netif *interface = create_with_alternative(1);

    (void)state;
    world.polled_fails = true;
    world.fails = 8;
    restart();
    assert_int_equal(world.polled_runs, 9);
    assert_int_equal(world.drivers, 1);
    assert_int_equal(interface->restarts, 18);
    assert_in_range(world.slept, 60000, 180000); /* 10, 20, ... 10000, 10000, ... ms */
    destroy(interface);
}

/* The ordinary driver that is tried again is replaced by its first failure. */
static void ordinary_driver_tried_again(void **state)
{
    struct virtio_netif *interface = create_with_alternative(2);

    (void)state;
    world.polled_worked = true;
    restart();
    restart();
    assert_int_equal(world.polled_runs, 1);
    restart();
    assert_int_equal(world.polled_runs, 2);
    destroy(interface);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failed_start_leaks_nothing),
        cmocka_unit_test(memory_is_left_to_an_unresponsive_device),
        cmocka_unit_test(commands_without_the_lock),
        cmocka_unit_test(mtu_of_the_device),
        cmocka_unit_test(polled_driver_after_failures),
        cmocka_unit_test(both_drivers_fail),
        cmocka_unit_test(ordinary_driver_tried_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
