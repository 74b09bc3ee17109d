/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the joining of segments before transmission. Each joined frame is segmented as by a device
 * (VIRTIO 1.3, 5.1.6.2.2), and the result must equal the original frames.
 */
#include "network_order.h"
#include "segmentation.h"
#include <libc/internet_checksum.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MSS    1000u
#define FRAMES 70u
#define ACK    0x10u
#define PSH    0x08u

static bool offers_4;
static bool offers_6;
static uint16_t pieces_max;

bool virtio_net_offers_gso(const struct virtio_net *net, enum virtio_net_gso type)
{
    (void)net;
    return type == VIRTIO_NET_GSO_TCPV4 ? offers_4 : type == VIRTIO_NET_GSO_TCPV6 && offers_6;
}

uint16_t virtio_net_segments_max(const struct virtio_net *net)
{
    (void)net;
    return pieces_max;
}

/* Makes a frame to send, in one piece or with its data in a second piece. */
struct frame {
    struct virtio_net_packet packet;
    uint8_t bytes[74 + MSS];
    uint8_t original[74 + MSS];
    uint32_t length;
    uint32_t header_bytes;
    bool version_6;
};

static struct frame frames[FRAMES];
static struct segmentation segmentation;

static void seal_ipv4(uint8_t *ip)
{
    uint16_t sum;

    put16(ip + 10, 0);
    sum = (uint16_t)~internet_checksum(ip, 20);
    memcpy(ip + 10, &sum, sizeof(sum));
}

static void make_ip(struct frame *frame, uint32_t data)
{
    uint8_t *ip = frame->bytes + 14;

    if (frame->version_6) {
        ip[0] = 0x60;
        put16(ip + 4, 20 + data);
        ip[6] = 6;
        ip[7] = 255;
        memset(ip + 8, 0x22, 32);
    } else {
        ip[0] = 0x45;
        put16(ip + 2, 40 + data);
        ip[8] = 255;
        ip[9] = 6;
        memset(ip + 12, 0x22, 8);
    }
}

static struct virtio_net_packet *make(unsigned i, bool version_6, uint32_t sequence, uint32_t data,
                                      uint8_t flags, bool apart)
{
    struct frame *frame = &frames[i];
    uint8_t *tcp = frame->bytes + 14 + (version_6 ? 40 : 20);

    memset(frame, 0, sizeof(*frame));
    frame->version_6 = version_6;
    memset(frame->bytes, 0x52, 12);
    put16(frame->bytes + 12, version_6 ? 0x86dd : 0x0800);
    make_ip(frame, data);
    put16(tcp, 7);
    put16(tcp + 2, 40000);
    put32(tcp + 4, sequence);
    put32(tcp + 8, 99);
    tcp[12] = 5 << 4;
    tcp[13] = flags;
    put16(tcp + 14, 5000);
    for (uint32_t k = 0; k < data; k++) {
        tcp[20 + k] = (uint8_t)(31 * (sequence + k));
    }
    frame->header_bytes = (uint32_t)(tcp - frame->bytes) + 20;
    frame->length = frame->header_bytes + data;
    if (!version_6) {
        put16(frame->bytes + 18, i); /* identification: a device increments the first frame's */
        seal_ipv4(frame->bytes + 14);
    }
    memcpy(frame->original, frame->bytes, frame->length);
    frame->packet.owner = frame;
    frame->packet.segment_count = apart ? 2 : 1;
    frame->packet.segment[0].memory = frame->bytes;
    frame->packet.segment[0].bytes = apart ? frame->header_bytes : frame->length;
    frame->packet.segment[1].memory = frame->bytes + frame->header_bytes;
    frame->packet.segment[1].bytes = data;
    return &frame->packet;
}

static bool join(struct virtio_net_packet *packet)
{
    return segmentation_join(&segmentation, NULL, packet);
}

static bool hold(struct virtio_net_packet *packet)
{
    return segmentation_hold(&segmentation, NULL, packet);
}

static int reset(void **state)
{
    (void)state;
    memset(&segmentation, 0, sizeof(segmentation));
    offers_4 = true;
    offers_6 = true;
    pieces_max = VIRTIO_NET_FRAME_SEGMENTS_MAX;
    return 0;
}

/* Copies all bytes of a frame, in order. */
static uint32_t flatten(const struct virtio_net_packet *packet, uint8_t *bytes)
{
    uint32_t length = 0;

    for (; packet != NULL; packet = packet->rest) {
        for (unsigned i = 0; i < packet->segment_count; i++) {
            assert_int_not_equal(packet->segment[i].bytes, 0);
            memcpy(bytes + length, packet->segment[i].memory, packet->segment[i].bytes);
            length += packet->segment[i].bytes;
        }
    }
    return length;
}

/* Segments the frame like a device; the pieces must equal the original frames `i`, `i` + 1... */
static unsigned cut_and_compare(const struct virtio_net_packet *packet, unsigned i)
{
    static uint8_t whole[70000];
    uint32_t length = flatten(packet, whole);
    uint32_t header = packet->header_bytes;
    uint8_t *tcp = whole + header - 20;
    bool version_6 = packet->gso_type == VIRTIO_NET_GSO_TCPV6;
    uint8_t last_flags = tcp[13];
    unsigned count = 0;

    assert_int_equal((whole[14 + (version_6 ? 4 : 2)] << 8) | whole[14 + (version_6 ? 5 : 3)],
                     length - 14 - (version_6 ? 40 : 0));
    if (!version_6) {
        assert_int_equal(internet_checksum(whole + 14, 20), 0xffff);
    }
    for (uint32_t at = header; at < length; at += packet->gso_bytes, count++) {
        const struct frame *frame = &frames[i + count];
        uint32_t data = length - at < packet->gso_bytes ? length - at : packet->gso_bytes;

        put32(tcp + 4, (uint32_t)(1000 + at - header));
        tcp[13] = at + data < length ? (uint8_t)(last_flags & ~PSH) : last_flags;
        if (version_6) {
            put16(whole + 18, 20 + data);
        } else {
            put16(whole + 16, 40 + data);
            put16(whole + 18, i + count);
            seal_ipv4(whole + 14);
        }
        assert_int_equal(header + data, frame->length);
        assert_memory_equal(whole, frame->original, header);
        assert_memory_equal(whole + at, frame->original + header, data);
    }
    return count;
}

static void joined_frames_can_be_segmented_again(void **state)
{
    (void)state;
    for (unsigned variant = 0; variant < 8; variant++) {
        bool version_6 = (variant & 1) != 0;
        bool apart = (variant & 2) != 0;
        uint32_t last = (variant & 4) != 0 ? MSS : 1;
        struct virtio_net_packet *packet;

        assert_true(hold(make(0, version_6, 1000, MSS, ACK, apart)));
        for (unsigned i = 1; i < 20; i++) {
            assert_true(join(make(i, version_6, 1000 + i * MSS, i == 19 ? last : MSS,
                                  i == 19 ? ACK | PSH : ACK, apart)));
        }
        packet = segmentation_take(&segmentation);
        assert_ptr_equal(packet, &frames[0].packet);
        assert_int_equal(packet->gso_type, version_6 ? VIRTIO_NET_GSO_TCPV6 : VIRTIO_NET_GSO_TCPV4);
        assert_int_equal(packet->gso_bytes, MSS);
        assert_int_equal(packet->header_bytes, version_6 ? 74 : 54);
        assert_int_equal(cut_and_compare(packet, 0), 20);
        assert_null(segmentation_take(&segmentation));
    }
    assert_int_equal(segmentation.joined, 8 * 19);
}

/* A single segment is not changed. */
static void single_segment_is_unchanged(void **state)
{
    struct virtio_net_packet *packet;

    (void)state;
    assert_true(hold(make(0, false, 1000, MSS, ACK | PSH, false)));
    packet = segmentation_take(&segmentation);
    assert_int_equal(packet->gso_type, VIRTIO_NET_GSO_NONE);
    assert_null(packet->rest);
    assert_memory_equal(frames[0].bytes, frames[0].original, frames[0].length);
}

static void special_segments_are_not_held(void **state)
{
    static const uint8_t flags[] = {0x02, 0x12, 0x11, 0x14, 0x30, 0x50, 0x90, 0x08};

    (void)state;
    for (size_t i = 0; i < sizeof(flags); i++) { /* SYN, FIN, RST, URG, ECE, CWR, no ACK */
        assert_false(hold(make(0, false, 1000, MSS, flags[i], false)));
    }
    assert_false(hold(make(0, false, 1000, 0, ACK, false)));
    offers_4 = false;
    assert_false(hold(make(0, false, 1000, MSS, ACK, false)));
    assert_true(hold(make(0, true, 1000, MSS, ACK, false)));
    (void)segmentation_take(&segmentation);
    offers_4 = true;
    offers_6 = false;
    assert_false(hold(make(0, true, 1000, MSS, ACK, false)));
    assert_null(segmentation_take(&segmentation));
}

static void only_consecutive_segments_are_joined(void **state)
{
    struct virtio_net_packet *packet;

    (void)state;
    assert_false(join(make(1, false, 2000, MSS, ACK, false))); /* no frame precedes it */
    assert_true(hold(make(0, false, 1000, MSS, ACK, false)));
    assert_false(join(make(1, false, 1999, MSS, ACK, false)));
    assert_false(join(make(1, false, 2001, MSS, ACK, false)));
    assert_false(join(make(1, false, 1000, MSS, ACK, false))); /* a repetition */
    assert_false(join(make(1, true, 2000, MSS, ACK, false)));
    assert_false(join(make(1, false, 2000, MSS, 0x11, false))); /* FIN */
    packet = make(1, false, 2000, MSS, ACK, false);
    frames[1].bytes[34]++; /* another connection */
    assert_false(join(packet));
    packet = make(1, false, 2000, MSS, ACK, false);
    frames[1].bytes[45]++; /* another acknowledgement number */
    assert_false(join(packet));
    assert_memory_equal(frames[0].bytes, frames[0].original, frames[0].length);
    assert_true(join(make(1, false, 2000, MSS, ACK, false)));
}

/* gso_size is the size of the first segment: no segment may be longer, and only the last may be
 * shorter. */
static void size_is_that_of_the_first_segment(void **state)
{
    (void)state;
    assert_true(hold(make(0, false, 1000, 500, ACK, false)));
    assert_false(join(make(1, false, 1500, 501, ACK, false)));
    assert_true(join(make(1, false, 1500, 500, ACK, false)));
    assert_true(join(make(2, false, 2000, 499, ACK, false)));
    assert_false(join(make(3, false, 2499, 1, ACK, false)));
    assert_int_equal(cut_and_compare(segmentation_take(&segmentation), 0), 3);
}

static void joined_length_is_bounded(void **state)
{
    struct virtio_net_packet *packet;
    unsigned count = 1;

    (void)state;
    pieces_max = 5;
    assert_true(hold(make(0, false, 1000, MSS, ACK, true)));
    assert_true(join(make(1, false, 2000, MSS, ACK, false)));
    assert_true(join(make(2, false, 3000, MSS, ACK, true)));
    assert_false(join(make(3, false, 4000, MSS, ACK, true)));
    (void)segmentation_take(&segmentation);
    pieces_max = 1000;
    assert_true(hold(make(0, false, 1000, MSS, ACK, false)));
    while (join(make(count, false, 1000 + count * MSS, MSS, ACK, false))) {
        count++;
    }
    packet = segmentation_take(&segmentation);
    assert_int_equal(count, 65); /* 65 * 1000 + 40 <= 65535 */
    assert_int_equal(cut_and_compare(packet, 0), 65);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(joined_frames_can_be_segmented_again, reset),
        cmocka_unit_test_setup(single_segment_is_unchanged, reset),
        cmocka_unit_test_setup(special_segments_are_not_held, reset),
        cmocka_unit_test_setup(only_consecutive_segments_are_joined, reset),
        cmocka_unit_test_setup(size_is_that_of_the_first_segment, reset),
        cmocka_unit_test_setup(joined_length_is_bounded, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
