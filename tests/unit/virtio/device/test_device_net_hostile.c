/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device's side of a network device, with chains and headers that a driver chooses: valid ones
 * at the limits, those that a correct driver does not write, and random ones.
 */
#include "fake.h"
#include "virtio/device_net.h"
#include "virtio/virtqueue.h"
#include <string.h>

#define SIZE     32u
#define HEADER   DEVICE_NET_HEADER_BYTES
#define BYTES    (HEADER + DEVICE_NET_FRAME_MAX + 64u)
#define ALL      DEVICE_NET_FEATURES
#define RECEIVE  DEVICE_NET_RECEIVE
#define TRANSMIT DEVICE_NET_TRANSMIT
#define CONTROL  DEVICE_NET_CONTROL

static struct fake_device device;
static struct virtqueue queues[DEVICE_NET_QUEUES];
static struct device_net net;
static struct device_chain chains[3];
static struct device_net_frame frames[3];
static struct device_net_segmentation segmentation;
/* The driver sends frames from `out`, and receives into `in`. */
static uint8_t out[BYTES], in[BYTES];
static const struct device_memory_region everything = {
    .start = FAKE_DMA_OFFSET + 4096,
    .bytes = UINT64_C(1) << 47,
    .here = (uint8_t *)4096,
};
static const struct device_memory memory = {.regions = &everything, .count = 1};

static void begin(uint64_t features)
{
    struct device_net_setup setup = {.features = features, .mtu = 1500, .mac = {2, 0, 0, 0, 0, 1}};

    fake_reset_device(&device, FAKE_MMIO, 0);
    for (unsigned i = 0; i < DEVICE_NET_QUEUES; i++) {
        struct virtqueue_options options = {.size = SIZE, .features = features};
        bool is_indirect = (features & VIRTIO_F_INDIRECT_DESC) != 0;

        options.indirect_tables = is_indirect ? SIZE : 0;
        options.indirect_entries = is_indirect ? SIZE : 0;
        struct virtio_queue_setup described = {0};

        assert_true(virtqueue_create(&queues[i], &options));
        virtqueue_describe(&queues[i], &described);
        setup.queues[i] = (struct device_queue_setup){
            .descriptors = described.descriptors,
            .driver_area = described.driver_area,
            .device_area = described.device_area,
            .size = described.size,
        };
    }
    memset(out, 0, sizeof(out));
    memset(in, 0xee, sizeof(in));
    assert_null(device_net_start(&net, &memory, &setup, false));
}

static void end(void)
{
    for (unsigned i = 0; i < DEVICE_NET_QUEUES; i++) {
        uint16_t position = 0;

        while (virtqueue_detach(&queues[i], &position) != NULL) {
        }
        virtqueue_destroy(&queues[i]);
    }
    assert_int_equal(fake_allocations, 0);
}

static struct virtqueue_segment segment(const uint8_t *at, uint32_t bytes)
{
    return (struct virtqueue_segment){virtio_platform_dma_address(at), bytes};
}

/* Makes a chain available that begins with `readable` bytes of `out`, in parts of at most `part`
 * bytes, followed by `writable` bytes at `to`. */
static void offer_parts(unsigned which, uint32_t readable, uint32_t part, uint8_t *to,
                        uint32_t writable)
{
    struct virtqueue_segment segments[SIZE];
    unsigned count = 0;

    for (uint32_t at = 0; at < readable; at += part) {
        segments[count++] = segment(&out[at], readable - at < part ? readable - at : part);
    }
    if (writable != 0) {
        segments[count] = segment(to, writable);
    }
    assert_true(virtqueue_add(&queues[which], segments, count, writable != 0, &queues[which]));
    (void)virtqueue_publish(&queues[which]);
}

static void offer(unsigned which, uint32_t readable, uint8_t *to, uint32_t writable)
{
    offer_parts(which, readable, BYTES, to, writable);
}

/* Publishes, and expects the driver to find a finished chain with so many bytes written. */
static void expect_used(unsigned which, uint32_t written)
{
    struct device_queue *const ends[] = {&net.receive, &net.transmit, &net.control};
    uint32_t bytes;

    (void)device_queue_publish(ends[which]);
    assert_non_null(virtqueue_take(&queues[which], &bytes));
    assert_int_equal(bytes, written);
}

static void expect_none_used(unsigned which)
{
    assert_null(virtqueue_take(&queues[which], &(uint32_t){0}));
}

static bool take(unsigned which)
{
    return device_net_take(&net, &chains[which], &frames[which]);
}

static void put16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

static void set_header(unsigned flags, unsigned gso, uint32_t gso_bytes, uint32_t start,
                       uint32_t offset)
{
    memset(out, 0, HEADER);
    out[0] = (uint8_t)flags;
    out[1] = (uint8_t)gso;
    put16(&out[4], gso_bytes);
    put16(&out[6], start);
    put16(&out[8], offset);
}

static void test_features(void **state)
{
    static const uint64_t need[][2] = {
        {VIRTIO_NET_F_GUEST_TSO4, VIRTIO_NET_F_GUEST_CSUM},
        {VIRTIO_NET_F_GUEST_TSO6, VIRTIO_NET_F_GUEST_CSUM},
        {VIRTIO_NET_F_HOST_TSO4, VIRTIO_NET_F_CSUM},
        {VIRTIO_NET_F_HOST_TSO6, VIRTIO_NET_F_CSUM},
        {VIRTIO_NET_F_CTRL_RX, VIRTIO_NET_F_CTRL_VQ},
        {VIRTIO_NET_F_GUEST_ANNOUNCE, VIRTIO_NET_F_CTRL_VQ},
    };

    (void)state;
    assert_null(device_net_check_features(ALL, ALL));
    assert_null(device_net_check_features(ALL, VIRTIO_F_VERSION_1));
    assert_non_null(device_net_check_features(ALL, ALL & ~VIRTIO_F_VERSION_1));
    assert_non_null(device_net_check_features(ALL & ~VIRTIO_NET_F_MTU, ALL));
    assert_non_null(device_net_check_features(UINT64_MAX, ALL | VIRTIO_NET_F_MQ));
    for (unsigned i = 0; i < sizeof(need) / sizeof(need[0]); i++) {
        uint64_t accepted = VIRTIO_F_VERSION_1 | need[i][0];

        assert_non_null(device_net_check_features(ALL, accepted));
        assert_null(device_net_check_features(ALL, accepted | need[i][1]));
    }
}

/* Offers a frame of 100 bytes with the header in `out`. */
static void expect_frame(bool is_valid)
{
    uint64_t bad = net.statistics.transmit_bad;

    offer(TRANSMIT, HEADER + 100, NULL, 0);
    assert_int_equal(take(0), is_valid);
    assert_int_equal(net.statistics.transmit_bad - bad, !is_valid);
    if (is_valid) {
        device_net_finish(&net);
    }
    expect_used(TRANSMIT, 0);
    assert_null(net.transmit.broken);
}

enum { NEEDS_CHECKSUM = 1, TCPV4 = 1, TCPV6 = 4 };

/* Begins with a TCP header of 20 bytes at 34. */
static void begin_tcp(uint64_t features)
{
    begin(features);
    out[HEADER + 34 + 12] = 0x50;
}

static void expect_header(unsigned flags, unsigned gso, uint32_t gso_bytes, uint32_t start,
                          uint32_t offset, bool is_valid)
{
    set_header(flags, gso, gso_bytes, start, offset);
    expect_frame(is_valid);
}

static void test_place_of_the_checksum(void **state)
{
    (void)state;
    begin(ALL);
    expect_frame(true);
    expect_header(NEEDS_CHECKSUM, 0, 0, 97, 1, true);
    assert_true(frames[0].checksum_partial);
    expect_header(NEEDS_CHECKSUM, 0, 0, 98, 1, false);
    expect_header(NEEDS_CHECKSUM, 0, 0, 0xffff, 0xffff, false);
    expect_header(0xfe, 0, 0, 0xffff, 0xffff, true); /* 5.1.6.2.2: other flags are ignored */
    assert_false(frames[0].checksum_partial || frames[0].checksum_valid);
    end();
}

static void test_segmentation_header(void **state)
{
    (void)state;
    begin_tcp(ALL);
    expect_header(NEEDS_CHECKSUM, TCPV4, 10, 34, 16, true);
    assert_int_equal(frames[0].gso, DEVICE_NET_GSO_TCPV4);
    assert_int_equal(frames[0].header_bytes, 54);
    put16(&out[2], 0xffff); /* hdr_len */
    expect_frame(true);
    assert_int_equal(frames[0].header_bytes, 54);
    expect_header(NEEDS_CHECKSUM, TCPV4, 0, 34, 16, false);
    expect_header(0, TCPV4, 10, 34, 16, false);
    expect_header(NEEDS_CHECKSUM, TCPV4, 10, 34, 6, false);
    expect_header(NEEDS_CHECKSUM, TCPV4, 10, 81, 16, false); /* no whole TCP header */
    out[HEADER + 80 + 12] = 0x50;
    expect_header(NEEDS_CHECKSUM, TCPV4, 10, 80, 16, false); /* no data */
    for (unsigned gso = 0; gso < 256; gso++) {
        expect_header(NEEDS_CHECKSUM, gso, 10, 34, 16, gso == 0 || gso == TCPV4 || gso == TCPV6);
    }
    out[HEADER + 34 + 12] = 0x4f;
    expect_header(NEEDS_CHECKSUM, TCPV4, 10, 34, 16, false);
    end();
}

static void test_headers_without_features(void **state)
{
    (void)state;
    begin_tcp(ALL & ~(VIRTIO_NET_F_CSUM | VIRTIO_NET_F_HOST_TSO4 | VIRTIO_NET_F_HOST_TSO6));
    expect_header(NEEDS_CHECKSUM, 0, 0, 34, 16, false);
    end();
    begin_tcp(ALL & ~VIRTIO_NET_F_HOST_TSO4);
    expect_header(NEEDS_CHECKSUM, TCPV4, 10, 34, 16, false);
    expect_header(NEEDS_CHECKSUM, TCPV6, 10, 34, 16, true);
    end();
    begin_tcp(ALL & ~VIRTIO_NET_F_HOST_TSO6);
    expect_header(NEEDS_CHECKSUM, TCPV6, 10, 34, 16, false);
    expect_header(NEEDS_CHECKSUM, TCPV4, 10, 34, 16, true);
    end();
}

static void expect_size(uint32_t bytes, bool is_valid)
{
    offer_parts(TRANSMIT, bytes, bytes > 100 ? 8192 : 1 + bytes / 10, NULL, 0);
    assert_int_equal(take(0), is_valid);
    if (is_valid) {
        assert_int_equal(frames[0].bytes, bytes - HEADER);
        device_net_finish(&net);
    }
    expect_used(TRANSMIT, 0);
}

static void test_sizes(void **state)
{
    (void)state;
    begin(ALL & ~VIRTIO_NET_F_MTU);
    for (uint32_t bytes = 1; bytes < 100; bytes++) {
        expect_size(bytes, bytes >= HEADER + DEVICE_NET_FRAME_MIN);
    }
    expect_size(HEADER + DEVICE_NET_FRAME_MAX, true);
    expect_size(HEADER + DEVICE_NET_FRAME_MAX + 1, false);
    offer_parts(TRANSMIT, HEADER + 100, HEADER, NULL, 0); /* the header has a segment of its own */
    assert_true(take(0));
    assert_ptr_equal(frames[0].segments[0].memory, &out[HEADER]);
    assert_int_equal(frames[0].segments[0].bytes, HEADER);
    assert_int_equal(frames[0].count, 9);
    device_net_finish(&net);
    expect_used(TRANSMIT, 0);
    offer(TRANSMIT, HEADER + 100, in, 1); /* with a writable segment */
    assert_false(take(0));
    expect_used(TRANSMIT, 0);
    assert_int_equal(in[0], 0xee);
    end();
    begin(ALL);
    expect_size(HEADER + 1514, true);
    expect_size(HEADER + 1515, false);
    out[HEADER + 12] = 0x81;
    expect_size(HEADER + 1518, true);
    expect_size(HEADER + 1519, false);
    end();
}

/* Bad chains between others are finished in order. */
static void test_order(void **state)
{
    (void)state;
    begin(ALL);
    for (unsigned i = 0; i < 6; i++) { /* 1, 2 and 5 are bad */
        offer(TRANSMIT, i == 1 || i == 2 || i == 5 ? HEADER : HEADER + 20 + i, NULL, 0);
    }
    assert_true(take(0) && take(1) && take(2));
    assert_false(device_net_take(&net, &net.chain, &(struct device_net_frame){0}));
    assert_int_equal(frames[2].bytes, 24);
    assert_int_equal(device_queue_in_flight(&net.transmit), 6);
    device_net_return(&net); /* with the bad one behind it */
    assert_int_equal(net.statistics.transmit_bad, 2);
    assert_int_equal(device_queue_in_flight(&net.transmit), 4);
    assert_true(take(2));
    assert_int_equal(frames[2].bytes, 24);
    assert_false(device_net_take(&net, &net.chain, &(struct device_net_frame){0}));
    device_net_finish(&net);
    assert_int_equal(device_queue_in_flight(&net.transmit), 3);
    device_net_finish(&net);
    assert_int_equal(device_queue_in_flight(&net.transmit), 2);
    device_net_finish(&net);
    assert_int_equal(device_queue_in_flight(&net.transmit), 0);
    for (unsigned i = 0; i < 6; i++) {
        expect_used(TRANSMIT, 0);
    }
    assert_int_equal(net.statistics.transmitted, 3);
    assert_int_equal(net.statistics.transmit_bad, 3);
    end();
}

static const struct device_segment frame_segments[] = {{&out[100], 5}, {&out[105], 1495}};

/* Returns a frame of `bytes`, at most 1500, whose bytes are their places. */
static struct device_net_frame made_frame(uint32_t bytes)
{
    for (uint32_t i = 0; i < 1500; i++) {
        out[100 + i] = (uint8_t)i;
    }
    return (struct device_net_frame){.segments = frame_segments, .count = 2, .bytes = bytes};
}

static void expect_bytes(const uint8_t *at, uint32_t from, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        assert_int_equal(at[i], (uint8_t)(from + i));
    }
}

static void expect_delivery(const struct device_net_frame *frame, enum device_net_delivery delivery)
{
    assert_int_equal(device_net_deliver(&net, frame), delivery);
}

static void test_one_buffer(void **state)
{
    struct device_net_frame frame = made_frame(1500);
    static const uint8_t plain[HEADER] = {[10] = 1};
    static const uint8_t valid[HEADER] = {[0] = 2, [10] = 1};

    (void)state;
    begin(ALL & ~VIRTIO_NET_F_MRG_RXBUF);
    frame = made_frame(1500);
    expect_delivery(&frame, DEVICE_NET_NO_BUFFERS);
    offer(RECEIVE, 0, in, HEADER + 1499);
    expect_delivery(&frame, DEVICE_NET_TOO_LARGE);
    assert_int_equal(in[0], 0xee);
    frame.bytes = 1499;
    expect_delivery(&frame, DEVICE_NET_DELIVERED);
    assert_memory_equal(in, plain, HEADER);
    expect_bytes(&in[HEADER], 0, 1499);
    expect_used(RECEIVE, HEADER + 1499);
    offer(RECEIVE, 64, in, 2000); /* with readable segments, which are not used */
    frame.checksum_valid = true;
    expect_delivery(&frame, DEVICE_NET_DELIVERED);
    assert_memory_equal(in, valid, HEADER);
    expect_used(RECEIVE, HEADER + 1499);
    offer(RECEIVE, 0, in, HEADER - 1); /* never large enough */
    frame.bytes = 14;
    expect_delivery(&frame, DEVICE_NET_TOO_LARGE);
    offer(RECEIVE, 0, in, 2000);
    expect_delivery(&frame, DEVICE_NET_TOO_LARGE);
    assert_int_equal(net.statistics.received, 2);
    assert_int_equal(net.statistics.receive_dropped, 4);
    end();
}

static void test_several_buffers(void **state)
{
    struct device_net_frame frame;

    (void)state;
    begin(ALL);
    frame = made_frame(100);
    offer(RECEIVE, 0, in, 12);
    offer(RECEIVE, 0, in + 12, 40);
    offer(RECEIVE, 0, in + 52, 59);
    expect_delivery(&frame, DEVICE_NET_NO_BUFFERS); /* one byte too few */
    (void)device_queue_publish(&net.receive);
    expect_none_used(RECEIVE);
    offer(RECEIVE, 0, in + 111, 50);
    expect_delivery(&frame, DEVICE_NET_DELIVERED);
    assert_int_equal(in[10], 4);
    assert_int_equal(in[11], 0);
    expect_bytes(&in[12], 0, 100);
    assert_int_equal(in[112], 0xee);
    expect_used(RECEIVE, 12);
    expect_used(RECEIVE, 40);
    expect_used(RECEIVE, 59);
    expect_used(RECEIVE, 1);
    expect_none_used(RECEIVE);
    offer(RECEIVE, 0, in, 50);
    offer(RECEIVE, 0, in + 50, 11); /* smaller than a header */
    expect_delivery(&frame, DEVICE_NET_NO_BUFFERS);
    assert_non_null(strstr(net.receive.broken, "smaller than the header"));
    expect_delivery(&frame, DEVICE_NET_NO_BUFFERS);
    end();
}

/* Makes a chain of 16 buffers of `bytes` bytes available. */
static void expose(uint8_t *to, uint32_t bytes)
{
    struct virtqueue_segment segments[16];

    for (unsigned i = 0; i < 16; i++) {
        segments[i] = segment(&to[i * bytes], bytes);
    }
    assert_true(virtqueue_add(&queues[RECEIVE], segments, 0, 16, &queues[RECEIVE]));
    (void)virtqueue_publish(&queues[RECEIVE]);
}

/* The driver has 17 descriptors a chain, and an indirect one among them, except for the first. */
static void test_buffers_of_one_byte(void **state)
{
    struct device_net_frame frame = made_frame(36);

    (void)state;
    begin(VIRTIO_F_VERSION_1 | VIRTIO_NET_F_MRG_RXBUF | VIRTIO_F_INDIRECT_DESC);
    for (unsigned i = 0; i < 16; i++) {
        expose(&in[16 * i], 1);
    }
    expect_delivery(&frame, DEVICE_NET_DELIVERED);
    for (unsigned i = 0; i < 3; i++) {
        expect_used(RECEIVE, 16);
    }
    frame = made_frame(100);
    expect_delivery(&frame, DEVICE_NET_NO_BUFFERS);
    assert_int_equal(device_queue_in_flight(&net.receive), 0);
    assert_null(net.receive.broken);
    frame = made_frame(36);
    expect_delivery(&frame, DEVICE_NET_DELIVERED);
    end();
}

/* A long frame may be in more descriptors. */
static void test_descriptors_of_a_long_frame(void **state)
{
    struct device_net_frame frame = made_frame(1500);

    (void)state;
    begin(VIRTIO_F_VERSION_1 | VIRTIO_NET_F_MRG_RXBUF | VIRTIO_F_INDIRECT_DESC);
    for (unsigned i = 0; i < 4; i++) {
        expose(&in[16 * 24 * i], 24);
    }
    expect_delivery(&frame, DEVICE_NET_DELIVERED);
    end();
}

/* The header can be spread over segments of a byte. */
static void test_divided_header(void **state)
{
    struct virtqueue_segment segments[20];
    struct device_net_frame frame;

    (void)state;
    begin(ALL);
    frame = made_frame(14);
    frame.checksum_partial = true;
    frame.checksum_start = 0x0102;
    frame.checksum_offset = 0x0304;
    for (unsigned i = 0; i < 20; i++) {
        segments[i] = segment(&in[i], 1);
    }
    assert_true(virtqueue_add(&queues[RECEIVE], segments, 0, 20, in));
    (void)virtqueue_publish(&queues[RECEIVE]);
    offer(RECEIVE, 0, in + 20, 100);
    expect_delivery(&frame, DEVICE_NET_DELIVERED);
    assert_memory_equal(in, ((const uint8_t[]){1, 0, 0, 0, 0, 0, 2, 1, 4, 3, 2, 0}), HEADER);
    expect_bytes(&in[HEADER], 0, 14);
    end();
}

static void test_mtu(void **state)
{
    static struct device_segment large = {.memory = out, .bytes = 1514};
    struct device_net_frame frame = {.segments = &large, .count = 1, .bytes = 1514};

    (void)state;
    begin(ALL);
    for (unsigned i = 0; i < 4; i++) {
        offer(RECEIVE, 0, in, 2000);
    }
    expect_delivery(&frame, DEVICE_NET_DELIVERED);
    frame.bytes = large.bytes = 1515;
    expect_delivery(&frame, DEVICE_NET_TOO_LARGE);
    out[12] = 0x81;
    expect_delivery(&frame, DEVICE_NET_DELIVERED);
    frame.gso = DEVICE_NET_GSO_TCPV6; /* 5.1.4.1 is about frames that are not segmented */
    frame.bytes = large.bytes = 1900;
    frame.checksum_partial = true;
    frame.checksum_start = 54;
    frame.checksum_offset = 16;
    frame.gso_bytes = 0x0506;
    frame.header_bytes = 74;
    expect_delivery(&frame, DEVICE_NET_DELIVERED);
    assert_memory_equal(in, ((const uint8_t[]){1, 4, 74, 0, 6, 5, 54, 0, 16, 0, 1, 0}), HEADER);
    end();
    begin(ALL & ~(VIRTIO_NET_F_MTU | VIRTIO_NET_F_GUEST_TSO6));
    offer(RECEIVE, 0, in, 2000);
    expect_delivery(&frame, DEVICE_NET_UNSEGMENTED);
    frame.gso = DEVICE_NET_GSO_NONE;
    expect_delivery(&frame, DEVICE_NET_DELIVERED);
    end();
}

/* UDP over IPv4 with a known checksum, also as the number 0 that must not be sent. */
static void test_checksum(void **state)
{
    static uint8_t bytes[] = {0xde, 0xad, 0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
    static const struct device_segment whole[] = {{bytes, 10}};
    static const struct device_segment parts[] = {
        {bytes, 3}, {bytes + 3, 1}, {bytes + 4, 1}, {bytes + 5, 5}};
    struct device_net_frame frame = {
        .segments = whole, .count = 1, .bytes = 10, .checksum_start = 2};

    (void)state;
    assert_int_equal(device_net_checksum(&frame), 0x220d); /* RFC 1071, 3: the sum is ddf2 */
    frame.segments = parts;
    frame.count = 4;
    assert_int_equal(device_net_checksum(&frame), 0x220d);
    bytes[2] = 0x22;
    bytes[3] = 0x0e;
    assert_int_equal(device_net_checksum(&frame), 0xffff);
}

/* Sends a command of `bytes` bytes from `out`. */
static void expect_answer(uint32_t bytes, uint8_t answer)
{
    in[0] = 0xee;
    offer_parts(CONTROL, bytes, 3, in, 2);
    (void)device_net_control(&net);
    expect_used(CONTROL, 1);
    assert_int_equal(in[0], answer);
    assert_int_equal(in[1], 0xee);
}

static void set_command(uint8_t class, uint8_t number, uint8_t first)
{
    memset(out, 0, sizeof(out));
    out[0] = class;
    out[1] = number;
    out[2] = first;
}

static void test_commands(void **state)
{
    (void)state;
    begin(ALL);
    for (unsigned class = 0; class < 256; class ++) {
        for (unsigned number = 0; number < 256; number++) {
            bool is_known = (class == 0 && number < 6) || (class == 3 && number == 0);

            set_command((uint8_t) class, (uint8_t)number, 1);
            expect_answer(3, !is_known);
        }
    }
    set_command(0, 0, 2); /* neither on nor off */
    expect_answer(3, 1);
    set_command(0, 0, 1);
    expect_answer(2, 1);
    expect_answer(4, 1);
    expect_answer(1, 1);
    set_command(1, 0, 0);
    expect_answer(2 + 4 + 4, 0);
    expect_answer(2 + 4 + 3, 1);
    expect_answer(2 + 4 + 5, 1);
    expect_answer(2, 1);
    set_command(1, 0, 1);
    expect_answer(2 + 4 + 6 + 4, 0);
    expect_answer(2 + 4 + 6 + 3, 1);
    expect_answer(2 + 4 + 5, 1);
    memset(&out[2], 0xff, 4);
    expect_answer(2 + 4 + 6 + 4, 1);
    memcpy(&out[2], (const uint8_t[]){0xab, 0xaa, 0xaa, 0x2a, 0, 0, 0}, 7);
    expect_answer(2 + 4 + 2 + 4, 1); /* 6 bytes for each entry are 2 modulo 2^32 */
    set_command(1, 1, 2);            /* CTRL_MAC_ADDR is not offered */
    expect_answer(8, 1);
    offer(CONTROL, 3, NULL, 0); /* no room for an answer */
    set_command(0, 0, 0);
    (void)device_net_control(&net);
    expect_used(CONTROL, 0);
    assert_true(net.filter.modes[0]); /* not executed */
    offer(CONTROL, 0, in, 1);
    (void)device_net_control(&net);
    expect_used(CONTROL, 1);
    assert_int_equal(in[0], 1);
    assert_null(net.control.broken);
    end();
    begin(ALL & ~(VIRTIO_NET_F_CTRL_RX | VIRTIO_NET_F_CTRL_RX_EXTRA | VIRTIO_NET_F_GUEST_ANNOUNCE));
    set_command(0, 1, 1);
    expect_answer(3, 1);
    set_command(0, 2, 1);
    expect_answer(3, 1);
    set_command(1, 0, 0);
    expect_answer(10, 1);
    set_command(3, 0, 0);
    expect_answer(2, 1);
    end();
}

/* Two commands at once are executed by two calls. */
static void test_one_command_a_call(void **state)
{
    (void)state;
    begin(ALL);
    set_command(0, 0, 1);
    offer_parts(CONTROL, 3, 3, in, 2);
    offer_parts(CONTROL, 3, 3, in, 2);
    (void)device_net_control(&net);
    assert_int_equal(net.statistics.commands + net.statistics.commands_refused, 1);
    expect_used(CONTROL, 1);
    expect_none_used(CONTROL);
    assert_false(device_queue_enable(&net.control));
    (void)device_net_control(&net);
    expect_used(CONTROL, 1);
    (void)device_net_control(&net);
    assert_int_equal(net.statistics.commands + net.statistics.commands_refused, 2);
    end();
}

/* A flood of bad chains ends a call. */
static void test_bad_chains_of_a_call(void **state)
{
    (void)state;
    begin(ALL);
    for (unsigned i = 0; i < SIZE - 1; i++) {
        offer(TRANSMIT, HEADER, NULL, 0);
    }
    offer(TRANSMIT, HEADER + 20, NULL, 0);
    assert_false(take(0));
    assert_int_equal(net.statistics.transmit_bad, DEVICE_NET_BAD_CHAINS_MAX);
    assert_int_equal(net.statistics.transmit_descriptors, DEVICE_NET_BAD_CHAINS_MAX);
    assert_true(take(0));
    assert_int_equal(net.statistics.transmit_bad, SIZE - 1);
    assert_int_equal(net.statistics.transmit_descriptors, SIZE);
    end();
}

/* A table that is larger than the device's lets all frames pass. */
static void test_large_table(void **state)
{
    static const uint8_t other[6] = {6, 6, 6, 6, 6, 6};
    const uint32_t count = DEVICE_NET_FILTER_MAX + 1;

    (void)state;
    begin(ALL);
    set_command(0, 0, 0);
    expect_answer(3, 0);
    assert_false(device_net_wants(&net, other));
    set_command(1, 0, (uint8_t)count);
    offer(CONTROL, 2 + 4 + 6 * count + 4, in, 1);
    (void)device_net_control(&net);
    expect_used(CONTROL, 1);
    assert_int_equal(in[0], 0);
    assert_true(device_net_wants(&net, other));
    set_command(1, 0, 0);
    expect_answer(10, 0);
    assert_false(device_net_wants(&net, other));
    end();
}

/* A queue that the driver has not enabled, and one that can't be used. */
static void test_start(void **state)
{
    struct device_net_setup setup = {.features = ALL};

    (void)state;
    assert_null(device_net_start(&net, &memory, &setup, false));
    assert_false(take(0));
    assert_false(device_net_control(&net));
    setup.queues[CONTROL].size = 3;
    assert_non_null(device_net_start(&net, &memory, &setup, false));
    assert_non_null(net.control.broken);
}

static uint8_t headers_of_ipv6[] = {
    [12] = 0x81, [16] = 0x86, 0xdd,     0x60,        [24] = 6, 64,       [41] = 1,
    [57] = 2,    [59] = 80,   [65] = 7, [70] = 0x80, 0x19,     [89] = 0,
};

/* IPv6 with a VLAN tag and TCP options. */
static void test_segments_of_ipv6(void **state)
{
    struct device_segment segments[2] = {{headers_of_ipv6, sizeof(headers_of_ipv6)}, {out, 250}};
    struct device_net_frame frame = {
        .segments = segments,
        .count = 2,
        .bytes = sizeof(headers_of_ipv6) + 250,
        .gso = DEVICE_NET_GSO_TCPV6,
        .gso_bytes = 100,
        .checksum_partial = true,
        .checksum_start = 58,
        .checksum_offset = 16,
    };
    struct device_net_frame part;

    (void)state;
    assert_int_equal(sizeof(headers_of_ipv6), 58 + 32);
    assert_true(device_net_segmentation_begin(&segmentation, &frame));
    for (unsigned i = 0; i < 3; i++) {
        uint32_t data = i == 2 ? 50 : 100;
        const uint8_t *headers;

        assert_true(device_net_segmentation_next(&segmentation, &part));
        headers = part.segments[0].memory;
        assert_int_equal(part.bytes, 90 + data);
        assert_int_equal(part.gso, DEVICE_NET_GSO_NONE);
        assert_int_equal(part.segments[0].bytes, 90);
        assert_ptr_equal(part.segments[1].memory, &out[(size_t)i * 100]);
        assert_int_equal(headers[23], 32 + data);
        assert_int_equal(headers[65], 7 + i * 100);
        assert_int_equal(headers[71], i == 2 ? 0x19 : 0x10);
        assert_int_equal(headers[74] << 8 | headers[75], 1 + 2 + 6 + 32 + data);
    }
    assert_false(device_net_segmentation_next(&segmentation, &part));
    frame.gso = DEVICE_NET_GSO_TCPV4;
    assert_false(device_net_segmentation_begin(&segmentation, &frame));
    frame.gso = DEVICE_NET_GSO_TCPV6;
    frame.checksum_start = 57;
    assert_false(device_net_segmentation_begin(&segmentation, &frame));
}

static uint8_t headers_of_ipv4[14 + 60 + 20];

/* Makes headers of a TCP segment over IPv4, with `words` of 4 bytes in the IP header. */
static struct device_net_frame ipv4_frame(struct device_segment *whole, unsigned words)
{
    static const uint8_t plain[14 + 20] = {[12] = 8, [14] = 0x45, [23] = 6};

    memset(headers_of_ipv4, 0, sizeof(headers_of_ipv4));
    memcpy(headers_of_ipv4, plain, sizeof(plain));
    headers_of_ipv4[14] = (uint8_t)(0x40 + words);
    headers_of_ipv4[14 + 4 * words + 12] = 0x50;
    *whole = (struct device_segment){headers_of_ipv4, sizeof(headers_of_ipv4)};
    return (struct device_net_frame){
        .segments = whole,
        .count = 1,
        .bytes = sizeof(headers_of_ipv4),
        .gso = DEVICE_NET_GSO_TCPV4,
        .gso_bytes = 1,
        .checksum_partial = true,
        .checksum_start = (uint16_t)(14 + 4 * words),
        .checksum_offset = 16,
    };
}

static void expect_changed(unsigned at, uint8_t value, bool can_divide)
{
    struct device_segment whole;
    struct device_net_frame frame = ipv4_frame(&whole, 6);

    headers_of_ipv4[at] = value;
    assert_int_equal(device_net_segmentation_begin(&segmentation, &frame), can_divide);
}

static void test_headers_of_segments(void **state)
{
    struct device_segment whole;
    struct device_net_frame frame = ipv4_frame(&whole, 14);

    (void)state;
    assert_true(device_net_segmentation_begin(&segmentation, &frame));
    frame.bytes = 14 + 4 * 14 + 20; /* no data */
    assert_false(device_net_segmentation_begin(&segmentation, &frame));
    frame = ipv4_frame(&whole, 15);
    frame.checksum_start = 14 + 4 * 14;
    headers_of_ipv4[frame.checksum_start + 12] = 0x50;
    assert_false(device_net_segmentation_begin(&segmentation, &frame));
    frame = ipv4_frame(&whole, 6);
    frame.bytes = 14 + UINT16_MAX;
    assert_true(device_net_segmentation_begin(&segmentation, &frame));
    frame.bytes++; /* more than IPv4 can say */
    assert_false(device_net_segmentation_begin(&segmentation, &frame));
    frame = ipv4_frame(&whole, 6);
    frame.gso_bytes = 0;
    assert_false(device_net_segmentation_begin(&segmentation, &frame));
    expect_changed(14, 0x46, true);
    expect_changed(14, 0x45, false);
    expect_changed(14, 0x66, false);
    expect_changed(13, 1, false);    /* EtherType */
    expect_changed(23, 17, false);   /* protocol */
    expect_changed(20, 0x20, false); /* a fragment */
    expect_changed(21, 1, false);
    expect_changed(20, 0x40, true); /* "don't fragment" */
    expect_changed(14 + 24 + 12, 0x40, false);
    expect_changed(14 + 24 + 12, 0xd0, true);
    expect_changed(14 + 24 + 12, 0xe0, false); /* no data */
}

/* Headers of up to DEVICE_NET_SEGMENT_HEADERS_MAX bytes are copied. */
static void test_long_headers(void **state)
{
    struct device_segment whole = {.memory = out, .bytes = 400};
    struct device_net_frame frame = {
        .segments = &whole,
        .count = 1,
        .bytes = 400,
        .gso = DEVICE_NET_GSO_TCPV6,
        .gso_bytes = 10,
        .checksum_partial = true,
        .checksum_start = DEVICE_NET_SEGMENT_HEADERS_MAX - 24,
        .checksum_offset = 16,
    };

    (void)state;
    memset(out, 0, sizeof(out));
    memcpy(&out[12], (const uint8_t[]){0x86, 0xdd, 0x60}, 3);
    out[frame.checksum_start + 12] = 0x60;
    assert_true(device_net_segmentation_begin(&segmentation, &frame));
    assert_int_equal(segmentation.headers, DEVICE_NET_SEGMENT_HEADERS_MAX);
    out[frame.checksum_start + 12] = 0x70;
    assert_false(device_net_segmentation_begin(&segmentation, &frame));
    frame.bytes = whole.bytes = DEVICE_NET_FRAME_MAX;
    frame.checksum_start = DEVICE_NET_FRAME_MAX - 100;
    assert_false(device_net_segmentation_begin(&segmentation, &frame));
}

static uint32_t drawn(void)
{
    static uint64_t seed = 1;

    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33);
}

/* Returns `usual` seven times of eight, otherwise a number below `limit`. */
static uint32_t drawn_or(uint32_t usual, uint32_t limit)
{
    uint32_t other = drawn() % limit;

    return drawn() % 8 == 0 ? other : usual;
}

/* Writes a header and the beginning of a frame, often with valid values. */
static void draw_frame(void)
{
    static const uint8_t types[] = {0, 1, 4, 3};
    uint32_t start = drawn_or(34, 300);
    uint32_t offset = drawn_or(16, 300);
    uint32_t flags = drawn_or(1, 4);
    uint32_t type = drawn() % 4;
    uint32_t gso_bytes = drawn() % 2000;

    for (unsigned i = 0; i < 100; i++) {
        out[i] = (uint8_t)drawn();
    }
    set_header(flags, types[type], gso_bytes, start, offset);
    out[HEADER + 12] = 8;
    out[HEADER + 13] = 0;
    out[HEADER + 14] = (uint8_t)drawn_or(0x45, 256);
    out[HEADER + 20] = 0;
    out[HEADER + 21] = 0;
    out[HEADER + 23] = 6;
}

static void offer_drawn_frame(void)
{
    uint32_t bytes = 1 + drawn() % 3000;
    uint32_t part = 1 + bytes / (1 + drawn() % 20);
    uint32_t writable = drawn_or(0, 2);

    draw_frame();
    offer_parts(TRANSMIT, bytes, part, in, writable);
}

static void offer_drawn_buffers(void)
{
    struct virtqueue_segment segments[2];

    do {
        uint32_t first = 1 + drawn() % 7;

        segments[0] = segment(in, first);
        segments[1] = segment(in, drawn_or(3000, 3000) + 11);
    } while (virtqueue_add(&queues[RECEIVE], segments, 0, 2, in));
    (void)virtqueue_publish(&queues[RECEIVE]);
}

static void offer_drawn_command(void)
{
    uint8_t class = (uint8_t)(drawn() % 4);
    uint8_t number = (uint8_t)(drawn() % 7);
    uint8_t first = (uint8_t)(drawn() % 3);

    set_command(class, number, first);
    offer(CONTROL, 1 + drawn() % 40, in, 1);
}

static void deliver_or_divide(const struct device_net_frame *frame, uint32_t *divided)
{
    struct device_net_frame part;
    uint32_t bytes = 0;

    if (device_net_deliver(&net, frame) != DEVICE_NET_UNSEGMENTED ||
        !device_net_segmentation_begin(&segmentation, frame)) {
        return;
    }
    for (unsigned i = 0; i < 70000 && device_net_segmentation_next(&segmentation, &part); i++) {
        bytes += part.bytes - segmentation.headers;
        if (i < 10) {
            (void)device_net_deliver(&net, &part);
        }
    }
    assert_int_equal(bytes, frame->bytes - segmentation.headers);
    (*divided)++;
}

/* Whatever the driver writes, the device accesses no memory but buffers, and goes on. */
static void random_driver(uint64_t features)
{
    uint32_t divided = 0;

    begin(features);
    for (unsigned round = 0; round < 4000; round++) {
        offer_drawn_frame();
        offer_drawn_buffers();
        if (take(0)) {
            deliver_or_divide(&frames[0], &divided);
            device_net_finish(&net);
        }
        expect_used(TRANSMIT, 0);
        offer_drawn_command();
        (void)device_net_control(&net);
        expect_used(CONTROL, 1);
        (void)device_queue_publish(&net.receive);
        while (virtqueue_take(&queues[RECEIVE], &(uint32_t){0}) != NULL) {
        }
        assert_null(queues[RECEIVE].broken);
    }
    assert_null(net.receive.broken);
    assert_true(net.statistics.transmitted > 500 && net.statistics.transmit_bad > 500);
    assert_true(net.statistics.received > 50);
    assert_true(divided > 50 || (features & VIRTIO_NET_F_GUEST_TSO4) != 0);
    end();
}

static void test_random_driver(void **state)
{
    const uint64_t large = VIRTIO_NET_F_GUEST_TSO4 | VIRTIO_NET_F_GUEST_TSO6;

    (void)state;
    random_driver(ALL & ~VIRTIO_F_INDIRECT_DESC);
    random_driver(ALL & ~(large | VIRTIO_NET_F_MRG_RXBUF));
    random_driver(ALL & ~(large | VIRTIO_NET_F_GUEST_CSUM | VIRTIO_NET_F_MTU));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_features),
        cmocka_unit_test(test_place_of_the_checksum),
        cmocka_unit_test(test_segmentation_header),
        cmocka_unit_test(test_headers_without_features),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_order),

        cmocka_unit_test(test_one_buffer),
        cmocka_unit_test(test_several_buffers),
        cmocka_unit_test(test_buffers_of_one_byte),
        cmocka_unit_test(test_descriptors_of_a_long_frame),
        cmocka_unit_test(test_divided_header),
        cmocka_unit_test(test_mtu),
        cmocka_unit_test(test_checksum),
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_one_command_a_call),
        cmocka_unit_test(test_bad_chains_of_a_call),
        cmocka_unit_test(test_large_table),
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_segments_of_ipv6),
        cmocka_unit_test(test_headers_of_segments),
        cmocka_unit_test(test_long_headers),
        cmocka_unit_test(test_random_driver),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
