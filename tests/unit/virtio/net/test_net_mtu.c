/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests which MTU of a device the driver uses, and for what reason not (5.1.4.1, 5.1.4.2). */
#include "owner.h"
#include "virtio/features.h"
#include <string.h>

#define HEADER    12u
#define ETHERNET  14u
#define BLOCK     1918u /* a receive buffer of the lwIP port; its frames have an MTU of up to 1892 */
#define LARGE_MTU 9000u /* the largest that the lwIP port uses */
#define FEW       8u
#define ENOUGH    35u /* of these buffers hold the largest frame (65562 bytes) */

#define TOO_SMALL "VIRTIO allows none below 68"
#define NO_ROOM   "its frames do not fit into the receive buffers"
#define LARGER    "no larger one is used here"

static struct owner owner;

static void offer(uint16_t mtu, uint64_t features)
{
    owner_prepare(&owner, FAKE_PCI, 3);
    owner.device.offered |= features;
    owner.device.config[10] = (uint8_t)mtu;
    owner.device.config[11] = (uint8_t)(mtu >> 8);
}

/* The owner that the lwIP port is. */
static void use_large(void)
{
    owner.parameters.receive_bytes = BLOCK;
    owner.buffer_capacity = BLOCK;
    owner.parameters.rx_buffers = FEW;
    owner.parameters.rx_buffers_max = OWNER_BUFFERS;
    owner.parameters.mtu_max = LARGE_MTU;
}

static bool negotiated(uint64_t feature)
{
    return (virtio_net_features(owner.net) & feature) != 0;
}

/* `offered`: what virtio_net_mtu_unused() returns, with `reason`. */
static void expect(uint16_t mtu, const char *reason, uint16_t offered)
{
    uint16_t told = 1;
    const char *unused = virtio_net_mtu_unused(owner.net, &told);

    assert_int_equal(virtio_net_mtu(owner.net), mtu);
    assert_int_equal(told, offered);
    if (reason == NULL) {
        assert_null(unused);
    } else {
        assert_string_equal(unused, reason);
    }
}

/* No frame is sent that is larger than the MTU (5.1.4.2). */
static void expect_limit(void)
{
    uint32_t largest = virtio_net_mtu(owner.net) + ETHERNET;

    assert_true(owner_send(&owner, largest, 1, false));
    assert_false(owner_send(&owner, largest + 1, 1, false));
}

struct setting {
    uint16_t offered;
    uint16_t used;
    const char *reason;
    bool merged; /* several buffers are needed for it */
};

static void test_settings(const struct setting *settings, unsigned count, bool large,
                          uint64_t features)
{
    for (unsigned i = 0; i < count; i++) {
        const struct setting *setting = &settings[i];

        offer(setting->offered, features);
        if (large) {
            use_large();
        }
        owner_start(&owner);
        expect(setting->used, setting->reason, setting->offered);
        expect_limit();
        assert_true(negotiated(VIRTIO_NET_F_MRG_RXBUF) == setting->merged);
        assert_int_equal(owner_statistics(&owner).rx_exposed, setting->merged ? ENOUGH : FEW);
        owner_finish(&owner);
    }
}

#define TEST_SETTINGS(settings, large, features) \
    test_settings(settings, sizeof(settings) / sizeof((settings)[0]), large, features)

/* An owner that asks for nothing has buffers for 1500 bytes, whatever the device can do. */
static void without_a_large_mtu(void **state)
{
    static const struct setting settings[] = {
        {0, 1500, TOO_SMALL, false},  {67, 1500, TOO_SMALL, false},  {68, 68, NULL, false},
        {1499, 1499, NULL, false},    {1500, 1500, NULL, false},     {1501, 1500, NO_ROOM, false},
        {9000, 1500, NO_ROOM, false}, {65535, 1500, NO_ROOM, false},
    };

    (void)state;
    TEST_SETTINGS(settings, false, 0);
    TEST_SETTINGS(settings, false, VIRTIO_NET_F_MRG_RXBUF);
}

static void of_frames_in_one_buffer(void **state)
{
    static const struct setting settings[] = {
        {0, 1500, TOO_SMALL, false},   {67, 1500, TOO_SMALL, false}, {68, 68, NULL, false},
        {1499, 1499, NULL, false},     {1500, 1500, NULL, false},    {1501, 1501, NULL, false},
        {1892, 1892, NULL, false},     {1893, 1500, NO_ROOM, false}, {9000, 1500, NO_ROOM, false},
        {65535, 1500, NO_ROOM, false},
    };

    (void)state;
    TEST_SETTINGS(settings, true, 0);
}

/* The buffers hold the largest frame, not only one of the MTU: a device that gets a larger one
 * could wait for ever. */
static void of_frames_in_several_buffers(void **state)
{
    static const struct setting settings[] = {
        {0, 1500, TOO_SMALL, false}, {67, 1500, TOO_SMALL, false}, {68, 68, NULL, false},
        {1499, 1499, NULL, false},   {1500, 1500, NULL, false},    {1501, 1501, NULL, false},
        {1892, 1892, NULL, false},   {1893, 1893, NULL, true},     {8999, 8999, NULL, true},
        {9000, 9000, NULL, true},    {9001, 9000, LARGER, true},   {65535, 9000, LARGER, true},
    };

    (void)state;
    TEST_SETTINGS(settings, true, VIRTIO_NET_F_MRG_RXBUF);
}

/* A device without VIRTIO_NET_F_MTU has no MTU to report. */
static void without_the_feature(void **state)
{
    (void)state;
    offer(9000, VIRTIO_NET_F_MRG_RXBUF);
    owner.device.offered &= ~VIRTIO_NET_F_MTU;
    use_large();
    owner_start(&owner);
    expect(1500, NULL, 0);
    assert_int_equal(owner_statistics(&owner).rx_exposed, FEW);
    owner_finish(&owner);
}

/* The number of exposed buffers stays within the owner's limit and the device's ring. */
static void without_room_for_buffers(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        bool fits = i >= 2;

        offer(9000, VIRTIO_NET_F_MRG_RXBUF);
        use_large();
        owner.parameters.rx_buffers_max = i == 0 ? ENOUGH - 1 : i == 2 ? ENOUGH : OWNER_BUFFERS;
        owner.device.queue[0].size_max = i == 1 ? 32 : i == 3 ? 64 : 256;
        owner_start(&owner);
        expect(fits ? 9000 : 1500, fits ? NULL : NO_ROOM, 9000);
        assert_int_equal(owner_statistics(&owner).rx_exposed, fits ? ENOUGH : FEW);
        owner_finish(&owner);
    }
}

/* More buffers than needed stay as they are. */
static void with_more_buffers(void **state)
{
    (void)state;
    offer(9000, VIRTIO_NET_F_MRG_RXBUF);
    use_large();
    owner.parameters.rx_buffers = ENOUGH + 5;
    owner_start(&owner);
    expect(9000, NULL, 9000);
    assert_int_equal(owner_statistics(&owner).rx_exposed, ENOUGH + 5);
    owner_finish(&owner);
}

static struct virtio_net_buffer *no_buffer(void *context)
{
    (void)context;
    return NULL;
}

/* A device whose configuration ends before the MTU (5.1.4). */
static void that_cannot_be_read(void **state)
{
    const struct virtio_net_operations none = {.receive_buffer = no_buffer};
    const char *reason = NULL;

    (void)state;
    owner_prepare(&owner, FAKE_MMIO, 0);
    assert_true(virtio_mmio_probe(&owner.mmio, FAKE_MMIO_BASE, 0x108, &reason));
    owner.net = virtio_net_create(&owner.mmio.transport, &owner.parameters, &none, &owner, &reason);
    assert_non_null(owner.net);
    expect(1500, "it cannot be read", 0);
    assert_true(virtio_net_stop(owner.net));
    virtio_net_free(owner.net);
    owner_release(&owner);
}

/* The device fills its next buffers with a frame of `bytes`. */
static void deliver(uint32_t bytes)
{
    uint32_t left = bytes + HEADER;
    unsigned buffers = (left + BLOCK - 1) / BLOCK;

    for (unsigned i = 0; i < buffers; i++) {
        uint32_t part = left < BLOCK ? left : BLOCK;
        struct ring_chain chain;
        uint8_t *memory;

        assert_true(fake_pop(0, &chain));
        memory = fake_memory(&chain.segment[0]);
        memset(memory, (int)(i + 1), part);
        if (i == 0) {
            memset(memory, 0, HEADER);
            memory[10] = (uint8_t)buffers;
        }
        fake_complete(0, &chain, part);
        left -= part;
    }
}

/* A frame of the MTU, one with a VLAN tag, and a larger one that the device should not deliver. */
static void large_frames_arrive(void **state)
{
    static const uint32_t sizes[] = {14, 9014, 9018, 65000, 1906, 1907};
    static const unsigned buffers[] = {1, 5, 5, 34, 1, 2};

    (void)state;
    offer(9000, VIRTIO_NET_F_MRG_RXBUF);
    use_large();
    owner_start(&owner);
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct virtio_net_buffer *frame;
        uint32_t bytes = 0;
        unsigned count = 0;

        deliver(sizes[i]);
        owner_move(&owner);
        frame = virtio_net_receive(owner.net);
        assert_non_null(frame);
        while (frame != NULL) {
            struct virtio_net_buffer *rest = frame->rest;

            bytes += frame->frame_bytes;
            count++;
            owner_take_back(frame);
            frame = rest;
        }
        assert_int_equal(bytes, sizes[i]);
        assert_int_equal(count, buffers[i]);
        owner_settle(&owner);
        assert_int_equal(owner_statistics(&owner).rx_exposed, ENOUGH);
    }
    owner_finish(&owner);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_large_mtu),          cmocka_unit_test(of_frames_in_one_buffer),
        cmocka_unit_test(of_frames_in_several_buffers), cmocka_unit_test(without_the_feature),
        cmocka_unit_test(without_room_for_buffers),     cmocka_unit_test(with_more_buffers),
        cmocka_unit_test(that_cannot_be_read),          cmocka_unit_test(large_frames_arrive),
    };

    fake_choose_ring(count, arguments);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
