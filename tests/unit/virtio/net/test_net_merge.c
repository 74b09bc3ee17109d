/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests large received frames: when the driver accepts them, and frames that fill several buffers
 * (5.1.6.4). */
#include "owner.h"
#include "virtio/endian.h"
#include "virtio/features.h"
#include <string.h>

#define HEADER       12u
#define MERGED       (VIRTIO_NET_F_MRG_RXBUF)
#define SEGMENTATION (VIRTIO_NET_F_GUEST_TSO4 | VIRTIO_NET_F_GUEST_TSO6)
#define FEW          42u /* buffers of 1526 bytes that do not hold the largest frame */
#define ENOUGH       43u

static struct owner owner;

static void start(uint16_t buffers)
{
    owner_prepare(&owner, FAKE_PCI, 3);
    owner.device.offered |= MERGED | SEGMENTATION;
    owner.parameters.rx_buffers = buffers;
    owner_start(&owner);
}

/* 5.1.6.3.1. With fewer buffers QEMU waits until the frame fits. */
static void accepted_with_room_for_the_largest(void **state)
{
    (void)state;
    start(FEW);
    assert_int_equal(virtio_net_features(owner.net) & (MERGED | SEGMENTATION), 0);
    owner_finish(&owner);
    start(ENOUGH);
    assert_true((virtio_net_features(owner.net) & (MERGED | SEGMENTATION)) ==
                (MERGED | SEGMENTATION));
    owner_finish(&owner);
    owner_prepare(&owner, FAKE_MMIO, 0);
    owner.device.offered |= MERGED | SEGMENTATION;
    owner.parameters.rx_buffers = 64;
    owner.device.queue[0].size_max = 32; /* limits the number of exposed buffers */
    owner_start(&owner);
    assert_int_equal(virtio_net_features(owner.net) & (MERGED | SEGMENTATION), 0);
    owner_finish(&owner);
}

/* 5.1.3.1: segmentation requires the checksum. The driver accepts large frames only with mergeable
 * buffers. */
static void accepted_with_required_features(void **state)
{
    static const uint64_t missing[] = {VIRTIO_NET_F_GUEST_CSUM, VIRTIO_NET_F_MRG_RXBUF};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        owner_prepare(&owner, FAKE_PCI, 3);
        owner.device.offered |= MERGED | SEGMENTATION;
        owner.parameters.rx_buffers = 64;
        if (i < 2) {
            owner.device.offered &= ~missing[i % 2];
        } else {
            owner.parameters.features_off = missing[i % 2];
        }
        owner_start(&owner);
        assert_int_equal(virtio_net_features(owner.net) & SEGMENTATION, 0);
        owner_finish(&owner);
    }
}

/* The device fills the next buffer. If it is the first of a frame, num_buffers is `told`. */
static void fill_buffer(uint32_t bytes, int told, uint8_t value)
{
    struct ring_chain chain;
    uint8_t *memory;

    assert_true(fake_pop(0, &chain));
    memory = fake_memory(&chain.segment[0]);
    memset(memory, value, bytes);
    if (told >= 0) {
        memset(memory, 0, HEADER);
        memory[0] = 1; /* NEEDS_CSUM, as for a frame with segmentation */
        memory[1] = 1; /* GSO_TCPV4 */
        memory[10] = (uint8_t)told;
        memory[11] = (uint8_t)(told >> 8);
    }
    fake_complete(0, &chain, bytes);
}

static void expect_frame(unsigned buffers, uint32_t first_bytes, uint32_t last_bytes)
{
    struct virtio_net_buffer *frame = virtio_net_receive(owner.net);
    unsigned count = 0;

    assert_non_null(frame);
    assert_null(frame->next);
    assert_int_equal(frame->buffers, buffers);
    assert_int_equal(frame->checksum, VIRTIO_NET_CHECKSUM_PARTIAL);
    while (frame != NULL) {
        struct virtio_net_buffer *rest = frame->rest;
        const uint8_t *data = frame->memory + (count == 0 ? HEADER : 0);

        assert_int_equal(frame->frame_bytes, count == 0     ? first_bytes
                                             : rest == NULL ? last_bytes
                                                            : VIRTIO_NET_RECEIVE_BYTES);
        assert_int_equal(data[0], 1 + count);
        assert_int_equal(data[frame->frame_bytes - 1], 1 + count);
        owner_take_back(frame);
        frame = rest;
        count++;
    }
    assert_int_equal(count, buffers);
}

static void send_frame(unsigned buffers, uint32_t last_bytes)
{
    for (unsigned i = 0; i < buffers; i++) {
        uint32_t bytes = i + 1 == buffers && i != 0 ? last_bytes : VIRTIO_NET_RECEIVE_BYTES;

        fill_buffer(bytes, i == 0 ? (int)buffers : -1, (uint8_t)(1 + i));
    }
}

static void frames_of_any_number_of_buffers(void **state)
{
    (void)state;
    start(ENOUGH);
    for (unsigned buffers = 1; buffers <= ENOUGH; buffers++) {
        send_frame(buffers, 1 + buffers);
        owner_interrupts(&owner);
        (void)virtio_net_bottom_half(owner.net);
        expect_frame(buffers, VIRTIO_NET_RECEIVE_BYTES - HEADER, 1 + buffers);
        assert_null(virtio_net_receive(owner.net));
        owner_settle(&owner);
        assert_int_equal(owner_statistics(&owner).rx_exposed, ENOUGH);
    }
    assert_int_equal(owner_statistics(&owner).rx_frames, ENOUGH);
    owner_finish(&owner);
}

/* A frame is complete when its last buffer has arrived, however the buffers are spread over the
 * driver's calls. */
static void buffers_that_come_one_by_one(void **state)
{
    (void)state;
    start(ENOUGH);
    for (unsigned i = 0; i < 5; i++) {
        assert_null(virtio_net_receive(owner.net));
        fill_buffer(VIRTIO_NET_RECEIVE_BYTES, i == 0 ? 5 : -1, (uint8_t)(1 + i));
        owner_interrupts(&owner);
        owner_check_balance(&owner);
        (void)virtio_net_bottom_half(owner.net);
        owner_check_balance(&owner);
    }
    expect_frame(5, VIRTIO_NET_RECEIVE_BYTES - HEADER, VIRTIO_NET_RECEIVE_BYTES);
    owner_settle(&owner);
    /* A frame stays incomplete: its buffers come back when the driver stops. */
    fill_buffer(VIRTIO_NET_RECEIVE_BYTES, 4, 1);
    fill_buffer(VIRTIO_NET_RECEIVE_BYTES, -1, 2);
    owner_settle(&owner);
    assert_null(virtio_net_receive(owner.net));
    owner_finish(&owner);
}

/* 5.1.6.4.1: a device sets a type only if it was negotiated, with a size, and with NEEDS_CSUM. */
static void types_of_segmentation(void **state)
{
    static const struct {
        uint8_t flags, type;
        uint16_t bytes;
        enum virtio_net_gso expected;
    } cases[] = {
        {1, 0, 0, VIRTIO_NET_GSO_NONE},       {1, 0, 9, VIRTIO_NET_GSO_NONE},
        {1, 1, 1448, VIRTIO_NET_GSO_TCPV4},   {1, 4, 0x1234, VIRTIO_NET_GSO_TCPV6},
        {1, 1, 0, VIRTIO_NET_GSO_NONE},       {1, 3, 100, VIRTIO_NET_GSO_NONE}, /* UDP */
        {1, 0x81, 1448, VIRTIO_NET_GSO_NONE}, /* ECN, which was not negotiated */
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct virtio_net_buffer *frame;
        struct ring_chain chain;
        uint8_t *memory;

        start(ENOUGH);
        assert_true(fake_pop(0, &chain));
        memory = fake_memory(&chain.segment[0]);
        memset(memory, 0, HEADER + 60);
        memory[0] = cases[i].flags;
        memory[1] = cases[i].type;
        memcpy(memory + 4, &(uint16_t){virtio_le16(cases[i].bytes)}, 2);
        memory[10] = 1;
        fake_complete(0, &chain, HEADER + 60);
        owner_interrupts(&owner);
        (void)virtio_net_bottom_half(owner.net);
        frame = virtio_net_receive(owner.net);
        assert_non_null(frame);
        assert_int_equal(frame->gso_type, cases[i].expected);
        assert_int_equal(frame->gso_bytes, cases[i].bytes);
        owner_take_back(frame);
        owner_finish(&owner);
    }
}

static void invalid_num_buffers(void **state)
{
    static const int told[] = {0, ENOUGH + 1, 0xffff};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        start(ENOUGH);
        if (i < 3) {
            fill_buffer(100, told[i], 1);
        } else {
            fill_buffer(100, 3, 1);
            fill_buffer(0, -1, 2);
        }
        owner_settle(&owner);
        assert_non_null(virtio_net_broken(owner.net));
        assert_null(virtio_net_receive(owner.net));
        owner_finish(&owner);
    }
    /* Without MRG_RXBUF the field means nothing. */
    start(FEW);
    fill_buffer(100, 0xffff, 1);
    owner_move(&owner);
    expect_frame(1, 100 - HEADER, 0);
    owner_settle(&owner);
    owner_finish(&owner);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepted_with_room_for_the_largest),
        cmocka_unit_test(accepted_with_required_features),
        cmocka_unit_test(frames_of_any_number_of_buffers),
        cmocka_unit_test(buffers_that_come_one_by_one),
        cmocka_unit_test(types_of_segmentation),
        cmocka_unit_test(invalid_num_buffers),
    };

    fake_choose_ring(count, arguments);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
