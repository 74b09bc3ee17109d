/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases about the control queue, and about the device rather than its frames. */
#include "cases.h"
#include "frames.h"
#include "rules.h"
#include <string.h>

#define FRAMES_INSIDE 5u /* less than the number of exposed buffers */

static const uint8_t other[6] = {0x52, 0x54, 0x00, 0x77, 0x77, 0x01};
static const uint8_t group[6] = {0x33, 0x33, 0x00, 0x00, 0x00, 0x42};
static const uint8_t all[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static bool agreed(const struct station *station, uint64_t features)
{
    return (station->setting->expect & features) == features;
}

/* Checks whether the station receives a frame for this address, by the next frame for the station
 * itself (NULL). */
static void expect_receives(struct station *station, const uint8_t *address, const uint8_t *own,
                            bool receives)
{
    frame_address_to(address);
    assert_true(station_inject(station, 100));
    if (!receives) {
        /* The next frame has the next number, so the address of the first frame to arrive
         * decides. */
        station->injected--;
        frame_address_to(own);
        assert_true(station_inject(station, 100));
    }
    station_until(station, station->received == station->injected);
    frame_address_to(own);
}

static void set_mode(struct station *station, enum virtio_net_receive_mode mode, bool on)
{
    uint64_t feature =
        mode <= VIRTIO_NET_ALL_MULTICAST ? VIRTIO_NET_F_CTRL_RX : VIRTIO_NET_F_CTRL_RX_EXTRA;

    assert_int_equal(virtio_net_set_receive_mode(station->net, mode, on),
                     agreed(station, feature) ? VIRTIO_NET_DONE : VIRTIO_NET_NOT_SENT);
}

/* 5.1.6.5.1: sets each receive mode and checks the arriving frames. Before the first command the
 * device receives everything. */
static void receive_modes(struct station *station)
{
    bool basic = agreed(station, VIRTIO_NET_F_CTRL_RX);
    bool extra = agreed(station, VIRTIO_NET_F_CTRL_RX_EXTRA);

    station_start(station);
    expect_receives(station, other, NULL, true);
    set_mode(station, VIRTIO_NET_PROMISCUOUS, false);
    expect_receives(station, other, NULL, !basic);
    expect_receives(station, group, NULL, !basic);
    expect_receives(station, all, NULL, true);
    if (basic) {
        monitor_expect(station->setting, "{\"execute\":\"query-rx-filter\"}\n",
                       "\"promiscuous\": false");
    }
    set_mode(station, VIRTIO_NET_ALL_MULTICAST, true);
    expect_receives(station, group, NULL, true);
    expect_receives(station, other, NULL, !basic);
    set_mode(station, VIRTIO_NET_NO_MULTICAST, true);
    expect_receives(station, group, NULL, !basic || !extra);
    set_mode(station, VIRTIO_NET_NO_MULTICAST, false);
    set_mode(station, VIRTIO_NET_ALL_UNICAST, true);
    expect_receives(station, other, NULL, !basic || extra);
    set_mode(station, VIRTIO_NET_NO_BROADCAST, true);
    expect_receives(station, all, NULL, !basic || !extra);
    set_mode(station, VIRTIO_NET_NO_BROADCAST, false);
    set_mode(station, VIRTIO_NET_ALL_UNICAST, false);
    set_mode(station, VIRTIO_NET_ALL_MULTICAST, false);
    expect_receives(station, group, NULL, !basic);
    set_mode(station, VIRTIO_NET_PROMISCUOUS, true);
    expect_receives(station, other, NULL, true);
    station_exchange(station, 50, 3);
}

/* 5.1.6.5.2: the tables add to the station's own address; new tables replace old ones. */
static void filter_tables(struct station *station)
{
    uint8_t table[VIRTIO_NET_FILTER_MAX][6];
    bool basic = agreed(station, VIRTIO_NET_F_CTRL_RX);
    enum virtio_net_answer done = basic ? VIRTIO_NET_DONE : VIRTIO_NET_NOT_SENT;

    station_start(station);
    set_mode(station, VIRTIO_NET_PROMISCUOUS, false);
    for (uint8_t i = 0; i < VIRTIO_NET_FILTER_MAX; i++) {
        memcpy(table[i], i < 3 ? other : group, 6);
        table[i][5] = i;
    }
    assert_int_equal(virtio_net_set_filter(station->net, (const uint8_t(*)[6])table, 3, 20), done);
    expect_receives(station, table[1], NULL, true);
    expect_receives(station, table[22], NULL, true);
    expect_receives(station, table[23], NULL, !basic);
    assert_int_equal(virtio_net_set_filter(station->net, (const uint8_t(*)[6])table, 1, 0), done);
    expect_receives(station, table[0], NULL, true);
    expect_receives(station, table[1], NULL, !basic);
    expect_receives(station, table[22], NULL, !basic);
    assert_int_equal(virtio_net_set_filter(station->net, (const uint8_t(*)[6])table, 3, 61), done);
    assert_int_equal(virtio_net_set_filter(station->net, (const uint8_t(*)[6])table, 3, 62),
                     VIRTIO_NET_NOT_SENT);
    station_exchange(station, 50, 3);
}

/* 5.1.6.5.2: the station gets another MAC address. */
static void own_address(struct station *station)
{
    bool can = agreed(station, VIRTIO_NET_F_CTRL_MAC_ADDR | VIRTIO_NET_F_CTRL_RX);
    uint8_t found[6];

    station_start(station);
    set_mode(station, VIRTIO_NET_PROMISCUOUS, false);
    assert_int_equal(virtio_net_set_mac(station->net, other),
                     can ? VIRTIO_NET_DONE : VIRTIO_NET_NOT_SENT);
    if (can) {
        assert_true(virtio_net_mac(station->net, found));
        assert_memory_equal(found, other, 6);
        monitor_expect(station->setting, "{\"execute\":\"query-rx-filter\"}\n",
                       "\"main-mac\": \"52:54:00:77:77:01\"");
        expect_receives(station, other, other, true);
        expect_receives(station, group, other, false);
    }
    frame_address_to(can ? other : NULL);
    station_exchange(station, 50, 3);
    frame_address_to(NULL);
}

/* Like expect_receives(), for a frame of this VLAN. */
static void expect_vlan(struct station *station, uint16_t vlan, bool receives)
{
    assert_true(station_inject_tagged(station, 100, vlan));
    if (!receives) {
        station->injected--;
        assert_true(station_inject(station, 100));
    }
    station_until(station, station->received == station->injected);
    assert_int_equal(station->frame_kind.tagged, receives);
}

/* 5.1.6.5.3: frames of the VLANs in the filter arrive, others do not; without the filter all
 * arrive. */
static void vlans(struct station *station)
{
    static const uint16_t ids[] = {0, 2, 1, 31, 32, 1000, 4094};
    const unsigned count = sizeof(ids) / sizeof(ids[0]);
    bool filter = agreed(station, VIRTIO_NET_F_CTRL_VLAN);
    enum virtio_net_answer done = filter ? VIRTIO_NET_DONE : VIRTIO_NET_NOT_SENT;

    station_start(station);
    /* Promiscuous mode would disable the filter. */
    set_mode(station, VIRTIO_NET_PROMISCUOUS, false);
    /* QEMU starts with all VLANs in the filter instead of none (from 8.2 to 10.0). */
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(virtio_net_receive_vlan(station->net, ids[i], false), done);
        expect_vlan(station, ids[i], !filter);
    }
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(virtio_net_receive_vlan(station->net, ids[i], true), done);
        for (unsigned j = 0; j < count; j++) {
            expect_vlan(station, ids[j], !filter || j <= i);
        }
    }
    expect_receives(station, NULL, NULL, true);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(virtio_net_receive_vlan(station->net, ids[i], false), done);
        expect_vlan(station, ids[i], !filter);
    }
    assert_int_equal(virtio_net_receive_vlan(station->net, 4095, true), VIRTIO_NET_NOT_SENT);
    station_exchange(station, 50, 3);
}

/* 5.1.6.5.4: the device asks for announcements, and the driver acknowledges them. */
static void announce(struct station *station)
{
    bool can = agreed(station, VIRTIO_NET_F_GUEST_ANNOUNCE);

    station_start(station);
    for (uint32_t round = 1; round <= 3; round++) {
        monitor_execute(station->setting,
                        "{\"execute\":\"announce-self\",\"arguments\":{\"initial\":10,"
                        "\"max\":10,\"rounds\":1,\"step\":0}}\n");
        station_exchange(station, 20, 2);
        if (can) {
            station_until(station, station->announcements == round);
        }
        station_exchange(station, 20, 2);
        assert_int_equal(station->announcements, can ? round : 0);
    }
}

/* 5.1.4: the device reports its speed. `count`: Mb/s, 0 if it reports none. */
static void speed(struct station *station)
{
    bool full = false;

    station_start(station);
    assert_int_equal(virtio_net_speed(station->net, &full), station->setting->count);
    assert_int_equal(full, station->setting->count != 0);
}

static uint8_t *byte_at(uint64_t address)
{
    return qtest_memory(address, 1);
}

/* The device returns a chain that it was not given. */
static void forge_used(const struct rules_queue *queue)
{
    bool packed = (rules.accepted & VIRTIO_F_RING_PACKED) != 0;
    uint64_t slot = (uint64_t)(queue->used % queue->size);
    bool wrap = (queue->used / queue->size) % 2 == 0;
    uint64_t rest = UINT64_C(0xffff) << 32 | (wrap ? UINT64_C(0x8080) << 48 : 0);
    uint32_t id = 0xffff;
    uint16_t index = (uint16_t)(queue->used + 1u);

    if (packed) {
        memcpy(byte_at(queue->descriptors + 16 * slot + 8), &rest, sizeof(rest));
    } else {
        memcpy(byte_at(queue->device_area + 4 + 8 * slot), &id, sizeof(id));
        memcpy(byte_at(queue->device_area + 2), &index, sizeof(index));
    }
}

/* 2.6.1: the device seems to have broken the protocol in a queue. Either the queue is reset alone
 * or the device is broken. In both cases traffic resumes and no buffer is lost. */
static void queue_reset(struct station *station)
{
    bool alone = agreed(station, VIRTIO_F_RING_RESET) && station->function != NULL;
    unsigned resets = 0;

    station_start(station);
    /* Each queue only once, because a queue that breaks again at once counts as a broken device. */
    for (unsigned round = 0; round < 2; round++) {
        station_exchange(station, 10, 2);
        (void)rules_returned(round);
        forge_used(&rules.queue[round]);
        for (unsigned i = 0; i < 20; i++) {
            station->signalled = true;
            station_serve(station, true);
        }
        if (!alone) {
            assert_non_null(virtio_net_broken(station->net));
            station_stop(station);
            station_clear_wire(station);
            station_start(station);
            continue;
        }
        assert_null(virtio_net_broken(station->net));
        assert_int_equal(station_statistics(station).queue_resets, ++resets);
        station_clear_wire(station);
    }
    station_exchange(station, 50, 3);
}

/* Breaks a queue that holds frames: received ones that the driver has not read, or ones to transmit
 * that the device does not know yet. Then serves the station until the queue was reset. */
static void break_queue(struct station *station, unsigned number)
{
    unsigned returned = rules_returned(0);
    uint64_t started = virtio_platform_now();

    for (unsigned i = 0; i < FRAMES_INSIDE; i++) {
        assert_true(number == 0 ? station_inject(station, 400 + i)
                                : station_send(station, 100 + i, 1 + i % 3));
    }
    while (number == 0 && rules_returned(0) != returned + FRAMES_INSIDE) {
        assert_true(virtio_platform_now() - started < STATION_PATIENCE);
        qtest_wait(1);
    }
    while (station_statistics(station).queue_resets == 0) {
        assert_true(virtio_platform_now() - started < STATION_PATIENCE);
        (void)rules_returned(number);
        forge_used(&rules.queue[number]);
        station->signalled = true;
        station_serve(station, true);
    }
    assert_null(virtio_net_broken(station->net));
}

/* 2.6.1: one queue is reset in mid-traffic. Frames already received arrive, frames not sent come
 * back. The other queue loses nothing, and both continue. */
static void queue_reset_in_traffic(struct station *station)
{
    for (unsigned number = 0; number < 2; number++) {
        station_start(station);
        station_exchange(station, 20, 2);
        station->stale_arrivals = number == 0 ? 0 : UINT32_MAX; /* frames may be missing */
        break_queue(station, number);
        for (unsigned i = 0; i < 20; i++) {
            (void)station_send(station, 200 + i, 1 + i % 3);
            assert_true(station_inject(station, 300 + i));
        }
        virtio_net_flush(station->net);
        station_until(station, station->received == station->injected &&
                                   (number != 0 || station->arrived == station->sent));
        station->arrived = station->stale_arrivals = station->sent;
        station_exchange(station, 50, 3);
        assert_int_equal(station_statistics(station).queue_resets, 1);
        station_stop(station);
    }
    station_start(station);
}

const struct device_case control_cases[] = {
    {"receive_modes", receive_modes},
    {"filter_tables", filter_tables},
    {"own_address", own_address},
    {"vlans", vlans},
    {"announce", announce},
    {"speed", speed},
    {"queue_reset", queue_reset},
    {"queue_reset_in_traffic", queue_reset_in_traffic},
    {0},
};
