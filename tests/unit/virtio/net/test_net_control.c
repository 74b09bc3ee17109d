/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests commands of the control queue (VIRTIO 1.3, 5.1.6.5), and possible answers of the device. */
#include "owner.h"
#include "virtio/net_control.h"
#include <limits.h>
#include <string.h>

static struct owner owner;

static const uint8_t addresses[3][6] = {
    {0x02, 1, 2, 3, 4, 5}, {0x33, 0x33, 0, 0, 0, 1}, {0x01, 0x00, 0x5e, 0, 0, 251}};

static void prepare(uint64_t features)
{
    owner_prepare(&owner, FAKE_PCI, 3);
    owner.device.offered |= features;
    owner.parameters.vlan_filter = true;
    fake_control_begin(2);
}

static void start(uint64_t features)
{
    prepare(features);
    owner_start(&owner);
    assert_true((owner.device.queue[2].enabled) == ((features & VIRTIO_NET_F_CTRL_VQ) != 0));
    assert_int_equal(fake_control.commands, 0);
}

static void expect_command(const uint8_t *bytes, uint32_t count)
{
    assert_int_equal(fake_control.last_bytes, count);
    assert_memory_equal(fake_control.last, bytes, count);
}

#define EXPECT(call, ...)                                                 \
    do {                                                                  \
        assert_int_equal(call, VIRTIO_NET_DONE);                          \
        expect_command((const uint8_t[]){__VA_ARGS__},                    \
                       (uint32_t)sizeof((const uint8_t[]){__VA_ARGS__})); \
    } while (0)

static void commands_as_the_device_sees_them(void **state)
{
    uint8_t mac[6];

    (void)state;
    start(FAKE_FEATURES_CONTROL);
    EXPECT(virtio_net_set_receive_mode(owner.net, VIRTIO_NET_PROMISCUOUS, false), 0, 0, 0);
    EXPECT(virtio_net_set_receive_mode(owner.net, VIRTIO_NET_ALL_MULTICAST, true), 0, 1, 1);
    EXPECT(virtio_net_set_receive_mode(owner.net, VIRTIO_NET_ALL_UNICAST, true), 0, 2, 1);
    EXPECT(virtio_net_set_receive_mode(owner.net, VIRTIO_NET_NO_BROADCAST, true), 0, 5, 1);
    EXPECT(virtio_net_set_filter(owner.net, addresses, 1, 2), 1, 0, 1, 0, 0, 0, 0x02, 1, 2, 3, 4, 5,
           2, 0, 0, 0, 0x33, 0x33, 0, 0, 0, 1, 0x01, 0x00, 0x5e, 0, 0, 251);
    EXPECT(virtio_net_set_filter(owner.net, addresses, 0, 0), 1, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    EXPECT(virtio_net_set_mac(owner.net, addresses[0]), 1, 1, 0x02, 1, 2, 3, 4, 5);
    assert_true(virtio_net_mac(owner.net, mac));
    assert_memory_equal(mac, addresses[0], 6);
    EXPECT(virtio_net_receive_vlan(owner.net, 0x123, true), 2, 0, 0x23, 0x01);
    EXPECT(virtio_net_receive_vlan(owner.net, 4094, false), 2, 1, 0xfe, 0x0f);
    assert_int_equal(fake_control.readable, 2);
    /* Wraps the ring more than once. */
    for (unsigned i = 0; i < 100; i++) {
        EXPECT(virtio_net_receive_vlan(owner.net, (uint16_t)i, true), 2, 0, (uint8_t)i, 0);
    }
    owner_finish(&owner);
}

static void the_largest_filter(void **state)
{
    static const uint8_t many[VIRTIO_NET_FILTER_MAX][6] = {{0x01, 2}};

    (void)state;
    start(FAKE_FEATURES_CONTROL);
    assert_int_equal(virtio_net_set_filter(owner.net, many, 0, VIRTIO_NET_FILTER_MAX),
                     VIRTIO_NET_DONE);
    assert_int_equal(fake_control.last_bytes, 2 + 8 + 6 * VIRTIO_NET_FILTER_MAX);
    assert_int_equal(virtio_net_set_filter(owner.net, many, 1, VIRTIO_NET_FILTER_MAX),
                     VIRTIO_NET_NOT_SENT);
    assert_int_equal(virtio_net_set_filter(owner.net, many, UINT_MAX, 2), VIRTIO_NET_NOT_SENT);
    assert_int_equal(virtio_net_set_filter(owner.net, many, 0, UINT_MAX), VIRTIO_NET_NOT_SENT);
    assert_int_equal(virtio_net_receive_vlan(owner.net, 4095, true), VIRTIO_NET_NOT_SENT);
    assert_int_equal(fake_control.commands, 1);
    owner_finish(&owner);
}

/* 5.1.6.5: the driver sends only commands that were negotiated. */
static void no_command_without_its_feature(void **state)
{
    static const uint64_t features[] = {
        VIRTIO_NET_F_CTRL_RX,   VIRTIO_NET_F_CTRL_RX_EXTRA,  VIRTIO_NET_F_CTRL_MAC_ADDR,
        VIRTIO_NET_F_CTRL_VLAN, VIRTIO_NET_F_GUEST_ANNOUNCE, VIRTIO_NET_F_CTRL_VQ,
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
        uint64_t has = FAKE_FEATURES_CONTROL & ~features[i];
        bool queue = (has & VIRTIO_NET_F_CTRL_VQ) != 0;
        uint64_t sent[5];

        start(has);
        owner.device.config[6] = 3;
        sent[0] = virtio_net_set_receive_mode(owner.net, VIRTIO_NET_PROMISCUOUS, true);
        sent[1] = virtio_net_set_receive_mode(owner.net, VIRTIO_NET_NO_UNICAST, true);
        sent[2] = virtio_net_set_filter(owner.net, addresses, 1, 1);
        sent[3] = virtio_net_set_mac(owner.net, addresses[0]);
        sent[4] = virtio_net_receive_vlan(owner.net, 1, true);
        assert_int_equal(sent[0] == VIRTIO_NET_DONE, queue && i != 0);
        assert_int_equal(sent[1] == VIRTIO_NET_DONE, queue && i != 1);
        assert_int_equal(sent[2] == VIRTIO_NET_DONE, queue && i != 0);
        assert_int_equal(sent[3] == VIRTIO_NET_DONE, queue && i != 0 && i != 2);
        assert_int_equal(sent[4] == VIRTIO_NET_DONE, queue && i != 3);
        assert_int_equal(virtio_net_announce_asked(owner.net), queue && i != 4);
        owner_finish(&owner);
    }
}

/* With the filter the device drops frames of VLANs, so the driver negotiates it only on request. */
static void vlan_filter_only_on_request(void **state)
{
    (void)state;
    prepare(FAKE_FEATURES_CONTROL);
    owner.parameters.vlan_filter = false;
    owner_start(&owner);
    assert_true((virtio_net_features(owner.net) & VIRTIO_NET_F_CTRL_VLAN) == 0);
    owner_finish(&owner);
}

static void refusals(void **state)
{
    static const struct {
        uint8_t answer;
        uint32_t written;
    } cases[] = {{1, 1}, {0xff, 1}, {0, 0}, {1, 0}};

    (void)state;
    start(FAKE_FEATURES_CONTROL);
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t mac[6];

        fake_control.answer = cases[i].answer;
        fake_control.written = cases[i].written;
        assert_int_equal(virtio_net_set_mac(owner.net, addresses[0]), VIRTIO_NET_REFUSED);
        assert_true(virtio_net_mac(owner.net, mac));
        assert_memory_not_equal(mac, addresses[0], 6);
    }
    fake_control.answer = 0;
    fake_control.written = 1;
    assert_int_equal(virtio_net_set_mac(owner.net, addresses[0]), VIRTIO_NET_DONE);
    fake_control.unwritten = true; /* memory holds the previous answer */
    assert_int_equal(virtio_net_set_mac(owner.net, addresses[1]), VIRTIO_NET_REFUSED);
    owner_finish(&owner);
}

static void no_answer(void **state)
{
    uint64_t before;

    (void)state;
    start(FAKE_FEATURES_CONTROL);
    fake_control.silent = true;
    before = fake_clock;
    assert_int_equal(virtio_net_receive_vlan(owner.net, 7, true), VIRTIO_NET_NO_ANSWER);
    assert_in_range(fake_clock - before, 1000000000, 2000000000);
    /* The device still holds the command: the driver does not change it, and does not wait
     * again. */
    before = fake_clock;
    assert_int_equal(virtio_net_receive_vlan(owner.net, 8, true), VIRTIO_NET_NO_ANSWER);
    assert_int_equal(fake_clock, before);
    assert_int_equal(fake_control.commands, 1);
    assert_int_equal(fake_memory(&fake_control.chain.segment[1])[0], 7);
    /* Frames move as before. */
    assert_true(owner_inject(&owner, 60));
    owner_settle(&owner);
    assert_int_equal(owner.received, 1);
    assert_null(virtio_net_broken(owner.net));
    /* The answer finally arrives. */
    fake_control.silent = false;
    fake_control_answer();
    assert_int_equal(virtio_net_receive_vlan(owner.net, 9, true), VIRTIO_NET_DONE);
    assert_int_equal(fake_control.commands, 2);
    owner_finish(&owner);
}

static void stopped_during_a_command(void **state)
{
    (void)state;
    start(FAKE_FEATURES_CONTROL);
    fake_control.silent = true;
    assert_int_equal(virtio_net_receive_vlan(owner.net, 7, true), VIRTIO_NET_NO_ANSWER);
    owner.device.stuck_in_reset = true;
    assert_false(owner_stop(&owner));
    assert_int_equal(virtio_net_receive_vlan(owner.net, 7, true), VIRTIO_NET_NOT_SENT);
    virtio_net_free(owner.net);
    fake_memory(&fake_control.chain.segment[2])[0] = 0; /* not freed: a sanitizer would see it */
    owner.device.stuck_in_reset = false;
    owner_finish(&owner);
}

/* kvmtool reports the length of the whole command as written, bhyve that of its answer. */
static void lengths_beyond_the_answer(void **state)
{
    static const uint32_t lengths[] = {2, 5, 65, 0x80000001, 0xffffffff};

    (void)state;
    start(FAKE_FEATURES_CONTROL);
    for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        fake_control.written = lengths[i];
        fake_control.answer = 0;
        assert_int_equal(virtio_net_receive_vlan(owner.net, 7, true), VIRTIO_NET_DONE);
        fake_control.answer = 1;
        assert_int_equal(virtio_net_receive_vlan(owner.net, 7, true), VIRTIO_NET_REFUSED);
    }
    assert_null(virtio_net_broken(owner.net));
    owner_finish(&owner);
}

/* 5.1.6.1: the driver ignores the used length of a legacy device's control queue, but not the
 * answer. */
static void length_of_a_legacy_device(void **state)
{
    (void)state;
    start(FAKE_FEATURES_CONTROL);
    owner.transport->legacy = true;
    fake_control.written = 0;
    assert_int_equal(virtio_net_receive_vlan(owner.net, 7, true), VIRTIO_NET_DONE);
    fake_control.unwritten = true;
    assert_int_equal(virtio_net_receive_vlan(owner.net, 7, true), VIRTIO_NET_REFUSED);
    owner.transport->legacy = false;
    owner_finish(&owner);
}

/* Called at a notification: completes a chain that the device does not hold. */
static void answer_with_a_wrong_id(unsigned index)
{
    if (index == fake_control.index) {
        fake_push(index, 300, 1);
    }
}

static void frames_move(void)
{
    uint32_t received = owner.received;

    assert_true(owner_inject(&owner, 60));
    owner_settle(&owner);
    assert_int_equal(owner.received, received + 1);
}

/* VIRTIO_F_RING_RESET: a broken control queue is reset alone and works again. If it breaks twice
 * within a second, the device is broken, as with the other queues. */
static void broken_control_queue_is_reset(void **state)
{
    (void)state;
    prepare(FAKE_FEATURES_CONTROL | VIRTIO_F_RING_RESET);
    owner_start(&owner);
    fake_clock += 10 * UINT64_C(1000000000);
    for (unsigned round = 1; round <= 3; round++) {
        owner.device.on_notify = answer_with_a_wrong_id;
        assert_int_equal(virtio_net_receive_vlan(owner.net, 7, true), VIRTIO_NET_NO_ANSWER);
        assert_null(virtio_net_broken(owner.net));
        assert_int_equal(owner.device.queue[2].resets, round);
        assert_int_equal(owner.device.queue[0].resets + owner.device.queue[1].resets, 0);
        assert_int_equal(owner_statistics(&owner).queue_resets, round);
        owner.device.on_notify = fake_control_notify;
        EXPECT(virtio_net_receive_vlan(owner.net, 9, true), 2, 0, 9, 0);
        frames_move();
        fake_clock += 2 * UINT64_C(1000000000);
    }
    owner.device.on_notify = answer_with_a_wrong_id;
    assert_int_equal(virtio_net_receive_vlan(owner.net, 7, true), VIRTIO_NET_NO_ANSWER);
    assert_int_equal(virtio_net_receive_vlan(owner.net, 7, true), VIRTIO_NET_NO_ANSWER);
    assert_non_null(strstr(virtio_net_broken(owner.net), "id"));
    assert_true(owner.signalled);
    owner_finish(&owner);
}

/* An answer arrives too late and has an invalid id; the next command detects that. */
static void invalid_late_answer(void **state)
{
    (void)state;
    prepare(FAKE_FEATURES_CONTROL | VIRTIO_F_RING_RESET);
    owner_start(&owner);
    fake_clock += 10 * UINT64_C(1000000000);
    fake_control.silent = true;
    assert_int_equal(virtio_net_receive_vlan(owner.net, 7, true), VIRTIO_NET_NO_ANSWER);
    assert_int_equal(owner.device.queue[2].resets, 0);
    fake_push(2, 300, 1);
    assert_int_equal(virtio_net_receive_vlan(owner.net, 8, true), VIRTIO_NET_NO_ANSWER);
    assert_int_equal(owner.device.queue[2].resets, 1);
    fake_control.silent = false;
    assert_int_equal(virtio_net_receive_vlan(owner.net, 9, true), VIRTIO_NET_DONE);
    assert_int_equal(fake_control.commands, 2);
    owner_finish(&owner);
}

/* Without the feature the owner has to restart the whole device. */
static void broken_control_queue_stops_the_device(void **state)
{
    (void)state;
    start(FAKE_FEATURES_CONTROL);
    owner.device.on_notify = answer_with_a_wrong_id;
    assert_int_equal(virtio_net_receive_vlan(owner.net, 7, true), VIRTIO_NET_NO_ANSWER);
    assert_non_null(strstr(virtio_net_broken(owner.net), "id"));
    assert_true(owner.signalled);
    assert_int_equal(owner_statistics(&owner).broken, 1);
    assert_int_equal(virtio_net_receive_vlan(owner.net, 7, true), VIRTIO_NET_NOT_SENT);
    owner_finish(&owner);
}

static void small_and_missing_queues(void **state)
{
    static const struct {
        uint16_t size;
        enum virtio_net_answer answer;
    } cases[] = {{1, VIRTIO_NET_NO_ANSWER}, {2, VIRTIO_NET_NO_ANSWER}, {4, VIRTIO_NET_DONE}};

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        prepare(FAKE_FEATURES_CONTROL);
        owner.device.queue[2].size_max = cases[i].size;
        owner_start(&owner);
        assert_int_equal(virtio_net_receive_vlan(owner.net, 7, true), cases[i].answer);
        owner_finish(&owner);
    }
    prepare(FAKE_FEATURES_CONTROL);
    owner.device.queue[2].size_max = 0;
    assert_non_null(strstr(owner_try_start(&owner), "queue"));
    owner_release(&owner);
}

static void no_memory(void **state)
{
    unsigned left = 0;

    (void)state;
    for (;; left++) {
        prepare(FAKE_FEATURES_CONTROL);
        fake_allocations_left = left;
        if (owner_try_start(&owner) == NULL) {
            break;
        }
        fake_allocations_left = UINT_MAX;
        owner_release(&owner);
    }
    /* The allocations of a driver without a control queue, its ring, its slots, the command. With a
     * pool also the slots of both directions, and their records. */
    assert_int_equal(left, fake_pool == NULL ? 8 : 12);
    fake_allocations_left = UINT_MAX;
    owner_finish(&owner);
}

/* 5.1.6.5.4 */
static void announcing(void **state)
{
    (void)state;
    start(FAKE_FEATURES_CONTROL);
    assert_false(virtio_net_announce_asked(owner.net));
    owner.device.config[6] = 3; /* link up, announcement requested */
    fake_config_interrupt();
    owner_settle(&owner);
    assert_int_equal(owner.link_changes, 1);
    assert_true(virtio_net_announce_asked(owner.net));
    expect_command((const uint8_t[]){3, 0}, 2);
    owner.device.config[6] = 1;
    assert_false(virtio_net_announce_asked(owner.net));
    assert_int_equal(fake_control.commands, 1);
    owner_finish(&owner);
}

static void speed(void **state)
{
    bool full = false;

    (void)state;
    prepare(0);
    owner_start(&owner);
    assert_int_equal(virtio_net_speed(owner.net, &full), 0); /* without the feature */
    owner_finish(&owner);
    prepare(VIRTIO_NET_F_SPEED_DUPLEX);
    owner_start(&owner);
    assert_int_equal(virtio_net_speed(owner.net, &full), 0); /* unknown to the device */
    memcpy(&owner.device.config[12], (uint8_t[5]){0x10, 0x27, 0, 0, 1}, 5);
    assert_int_equal(virtio_net_speed(owner.net, &full), 10000);
    assert_true(full);
    owner.device.config[16] = 0;
    assert_int_equal(virtio_net_speed(owner.net, &full), 10000);
    assert_false(full);
    owner.device.config_changes = UINT_MAX;
    assert_int_equal(virtio_net_speed(owner.net, &full), 0);
    owner.device.config_changes = 0;
    assert_true(owner_stop(&owner));
    assert_int_equal(virtio_net_speed(owner.net, &full), 0);
    owner_finish(&owner);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_as_the_device_sees_them),
        cmocka_unit_test(the_largest_filter),
        cmocka_unit_test(no_command_without_its_feature),
        cmocka_unit_test(vlan_filter_only_on_request),
        cmocka_unit_test(refusals),
        cmocka_unit_test(no_answer),
        cmocka_unit_test(stopped_during_a_command),
        cmocka_unit_test(lengths_beyond_the_answer),
        cmocka_unit_test(length_of_a_legacy_device),
        cmocka_unit_test(broken_control_queue_is_reset),
        cmocka_unit_test(invalid_late_answer),
        cmocka_unit_test(broken_control_queue_stops_the_device),
        cmocka_unit_test(small_and_missing_queues),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(announcing),
        cmocka_unit_test(speed),
    };

    fake_choose_ring(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
