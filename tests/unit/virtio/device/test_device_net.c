/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device's side of a network device, with this library's driver at the other end: the content
 * of all frames in both directions, the driver's commands, and lives of the device that end at any
 * place.
 */
#include "owner.h"
#include "virtio/device_net.h"
#include "virtio/net_control.h"
#include <string.h>

#define HEADER    VIRTIO_NET_HEADER_BYTES
#define BUFFERS   48u /* enough for the largest frame */
#define FRAMES    6000u
#define IN_FLIGHT 8u
#define LARGEST   (VIRTIO_NET_GSO_FRAME_MAX + HEADER)

static struct owner owner;
static struct device_net net;
/* All memory of the process. The sanitizer sees each access that is not to the driver's. */
static const struct device_memory_region everything = {
    .start = FAKE_DMA_OFFSET + 4096,
    .bytes = UINT64_C(1) << 47,
    .here = (uint8_t *)4096,
};
static const struct device_memory memory = {.regions = &everything, .count = 1};

static uint32_t drawn(void)
{
    static uint64_t seed = 1;

    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33);
}

static void start_device(bool resumed)
{
    struct device_net_setup setup = {
        .features = owner.device.accepted, .mtu = 1500, .status = DEVICE_NET_LINK_UP};

    for (unsigned i = 0; i < DEVICE_NET_QUEUES; i++) {
        const struct ring *ring = &owner.device.queue[i].ring;

        setup.queues[i] = (struct device_queue_setup){
            .descriptors = ring->descriptors,
            .driver_area = ring->driver_area,
            .device_area = ring->device_area,
            .size = owner.device.queue[i].enabled ? (uint16_t)ring->size : 0,
        };
    }
    memcpy(setup.mac, owner.device.config, sizeof(setup.mac));
    assert_null(device_net_check_features(owner.device.offered, setup.features));
    assert_null(device_net_start(&net, &memory, &setup, resumed));
}

static void interrupt(uint8_t cause)
{
    owner.device.isr |= cause;
    owner.device.raised[0] = true;
}

static void publish(struct device_queue *queue)
{
    if (device_queue_publish(queue)) {
        interrupt(VIRTIO_CAUSE_QUEUE);
    }
}

static void execute_commands(unsigned index)
{
    if (index == DEVICE_NET_CONTROL) {
        if (device_net_control(&net)) {
            owner.device.config[6] = (uint8_t)device_net_status(&net);
        }
        publish(&net.control);
        assert_true(device_queue_enable(&net.control));
    }
}

static void start(uint64_t features_off)
{
    owner_prepare(&owner, FAKE_MMIO, 0);
    owner.device.offered = DEVICE_NET_FEATURES;
    owner.device.on_notify = execute_commands;
    owner.parameters.features_off = features_off;
    owner.parameters.rx_buffers = BUFFERS;
    owner_start(&owner);
    start_device(false);
}

/* The first four bytes of a frame are its number, from which the others follow (owner.c). */
static uint8_t pattern(uint32_t number, uint32_t position)
{
    return (uint8_t)(position < 4 ? number >> (8 * position) : number * 37u + position * 11u + 1u);
}

/* Copies the frame from its segments. */
static const uint8_t *gather(const struct device_net_frame *frame)
{
    static uint8_t bytes[LARGEST];
    uint32_t at = 0;

    for (unsigned i = 0; i < frame->count; i++) {
        assert_true(frame->segments[i].bytes <= sizeof(bytes) - at);
        memcpy(&bytes[at], frame->segments[i].memory, frame->segments[i].bytes);
        at += frame->segments[i].bytes;
    }
    assert_int_equal(at, frame->bytes);
    return bytes;
}

static uint32_t big16(const uint8_t *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

/* Returns the ones' complement sum from `start` on, computed as RFC 1071 says. */
static uint16_t sum(const uint8_t *bytes, uint32_t start, uint32_t end)
{
    uint32_t result = 0;

    for (uint32_t i = start; i < end; i++) {
        result += (i - start) % 2 == 0 ? (uint32_t)bytes[i] << 8 : bytes[i];
        result = (result & 0xffff) + (result >> 16);
    }
    return (uint16_t)result;
}

/* Copies a received frame, gives its buffers back, and returns its length. */
static uint32_t collect(struct virtio_net_buffer *buffer, uint8_t *bytes)
{
    uint32_t at = 0;
    uint32_t skip = HEADER;

    while (buffer != NULL) {
        struct virtio_net_buffer *rest = buffer->rest;

        assert_true(buffer->frame_bytes <= LARGEST - at);
        memcpy(&bytes[at], buffer->memory + skip, buffer->frame_bytes);
        at += buffer->frame_bytes;
        owner_take_back(buffer);
        buffer = rest;
        skip = 0;
    }
    return at;
}

/* Frames to the driver, by number: length, and place of the checksum if it is partial. */
static uint32_t length_of(uint32_t number)
{
    return 14 + number * 7919u % 1501u;
}

static bool is_partial(uint32_t number)
{
    return number % 3 == 0 && length_of(number) >= 40;
}

static uint16_t start_of(uint32_t number)
{
    return (uint16_t)(4 + number % 13);
}

static uint16_t offset_of(uint32_t number)
{
    return (uint16_t)(number % 17);
}

/* Returns what the device has done with the frame. */
static enum device_net_delivery deliver(uint32_t number)
{
    static uint8_t bytes[1600];
    struct device_segment segments[5];
    uint32_t at = 0;
    struct device_net_frame frame = {
        .segments = segments,
        .count = 1 + number % 5,
        .bytes = length_of(number),
        .checksum_partial = is_partial(number),
        .checksum_start = start_of(number),
        .checksum_offset = offset_of(number),
    };

    for (uint32_t i = 0; i < frame.bytes; i++) {
        bytes[i] = pattern(number, i);
    }
    for (unsigned i = 0; i < frame.count; i++) {
        segments[i].memory = &bytes[at];
        segments[i].bytes = i + 1 == frame.count ? frame.bytes - at : 1 + (number + i) % 3;
        at += segments[i].bytes;
    }
    return device_net_deliver(&net, &frame);
}

static void check_received(struct virtio_net_buffer *buffer)
{
    static uint8_t bytes[LARGEST];
    uint32_t number = owner.received++;
    uint32_t place = (uint32_t)start_of(number) + offset_of(number);
    bool takes_partial = (owner.device.accepted & VIRTIO_NET_F_GUEST_CSUM) != 0;

    assert_int_equal(buffer->checksum, is_partial(number) && takes_partial
                                           ? VIRTIO_NET_CHECKSUM_PARTIAL
                                           : VIRTIO_NET_CHECKSUM_UNKNOWN);
    if (buffer->checksum == VIRTIO_NET_CHECKSUM_PARTIAL) {
        assert_int_equal(buffer->checksum_start, start_of(number));
        assert_int_equal(buffer->checksum_offset, offset_of(number));
    }
    assert_int_equal(collect(buffer, bytes), length_of(number));
    if (is_partial(number) && !takes_partial) { /* complete: the sum without it is its inverse */
        uint32_t checksum = big16(&bytes[place]);

        bytes[place] = pattern(number, place);
        bytes[place + 1] = pattern(number, place + 1);
        assert_int_equal(checksum, sum(bytes, start_of(number), length_of(number)) ^ 0xffff);
    }
    for (uint32_t i = 0; i < length_of(number); i++) {
        if (bytes[i] != pattern(number, i)) {
            fail_msg("frame %u differs at byte %u", number, i);
        }
    }
}

/* Does what the driver's interrupts and its bottom half have to do. */
static void settle(void (*receive)(struct virtio_net_buffer *))
{
    struct virtio_net_buffer *buffer;

    while (fake_raised() || owner.signalled) {
        owner_interrupts(&owner);
        owner.signalled = false;
        do {
            while ((buffer = virtio_net_receive(owner.net)) != NULL) {
                receive(buffer);
            }
            owner_fetch_packets(&owner);
        } while (virtio_net_bottom_half(owner.net));
    }
    assert_null(virtio_net_broken(owner.net));
}

/* The device's position in the frames from the driver. */
static uint32_t next_taken, finished, published;

static void check_taken(const struct device_net_frame *frame)
{
    const struct owner_packet *sent = &owner.packets[next_taken % OWNER_PACKETS];
    const uint8_t *bytes = gather(frame);

    assert_true(sent->with_driver && sent->number == next_taken);
    assert_int_equal(frame->bytes, sent->bytes);
    assert_int_equal(frame->gso, DEVICE_NET_GSO_NONE);
    assert_int_equal(frame->checksum_partial, sent->packet.checksum_partial);
    if (frame->checksum_partial) {
        uint16_t inverse = sum(bytes, frame->checksum_start, frame->bytes) ^ 0xffff;

        assert_int_equal(frame->checksum_start, sent->packet.checksum_start);
        assert_int_equal(frame->checksum_offset, sent->packet.checksum_offset);
        assert_int_equal(device_net_checksum(frame), inverse == 0 ? 0xffff : inverse);
    }
    for (uint32_t i = 0; i < frame->bytes; i++) {
        if (bytes[i] != pattern(next_taken, i)) {
            fail_msg("frame %u differs at byte %u", next_taken, i);
        }
    }
    next_taken++;
}

static void send_burst(void)
{
    bool checksums = (owner.device.accepted & VIRTIO_NET_F_CSUM) != 0;

    for (unsigned burst = drawn() % 6; burst != 0; burst--) {
        const struct owner_packet *place = &owner.packets[owner.sent % OWNER_PACKETS];
        bool has_partial = checksums && drawn() % 2 == 0;
        uint32_t bytes = 40 + drawn() % 1475;
        unsigned segments = 1 + drawn() % 6;

        if (place->with_driver || !owner_send(&owner, bytes, segments, has_partial)) {
            break;
        }
    }
    virtio_net_flush(owner.net);
}

/* Takes some frames, finishes some, and gives some back. */
static void move_transmitted(void)
{
    static struct device_chain chains[IN_FLIGHT];
    struct device_net_frame frame;

    while (next_taken - finished < IN_FLIGHT && drawn() % 8 != 0 &&
           device_net_take(&net, &chains[next_taken % IN_FLIGHT], &frame)) {
        check_taken(&frame);
        if (drawn() % 8 == 0) {
            device_net_return(&net);
            next_taken--;
        }
    }
    while (finished != next_taken && drawn() % 4 != 0) {
        device_net_finish(&net);
        finished++;
    }
    if (drawn() % 2 == 0) {
        publish(&net.transmit);
        published = finished;
    }
}

/* The device ends, and begins again. It can't know whether its last interrupt was sent. */
static void revive(void)
{
    if (drawn() % 2 == 0 && device_queue_publish(&net.transmit)) {
        published = finished;
    }
    published = net.transmit.published == net.transmit.finished ? finished : published;
    start_device(true);
    finished = published;
    next_taken = published;
    interrupt(VIRTIO_CAUSE_QUEUE);
}

static void exchange(uint64_t features_off, bool dies)
{
    uint32_t delivered = 0; /* and published */
    uint32_t lives = 0;

    start(features_off);
    next_taken = finished = published = 0;
    while (owner.received < FRAMES || owner.sent < FRAMES) {
        uint32_t number = delivered;

        send_burst();
        move_transmitted();
        for (unsigned burst = drawn() % 6; burst != 0; burst--) {
            enum device_net_delivery result = deliver(number);

            assert_true(result == DEVICE_NET_DELIVERED || result == DEVICE_NET_NO_BUFFERS);
            number += result == DEVICE_NET_DELIVERED;
        }
        if (dies && drawn() % 16 == 0) {
            revive(); /* frames that were not published are delivered again */
            lives++;
        } else {
            publish(&net.receive);
            delivered = number;
        }
        if (drawn() % 3 == 0) {
            settle(check_received);
        }
    }
    assert_true(!dies || lives > 100);
    assert_null(net.receive.broken);
    assert_null(net.transmit.broken);
    while (finished != owner.sent) {
        move_transmitted();
        settle(check_received);
    }
    publish(&net.transmit);
    assert_int_equal(net.statistics.transmit_bad, 0);
    settle(check_received);
    assert_int_equal(owner.received, delivered);
    owner_finish(&owner);
}

static const uint64_t features_off[] = {
    0,
    VIRTIO_NET_F_MRG_RXBUF,
    VIRTIO_NET_F_GUEST_CSUM | VIRTIO_F_IN_ORDER,
    VIRTIO_NET_F_CSUM | VIRTIO_F_EVENT_IDX | VIRTIO_NET_F_CTRL_VQ,
    VIRTIO_F_INDIRECT_DESC | VIRTIO_NET_F_MTU,
    ~(VIRTIO_F_VERSION_1 | VIRTIO_F_ACCESS_PLATFORM),
};

static void test_traffic(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(features_off) / sizeof(features_off[0]); i++) {
        exchange(features_off[i], false);
    }
}

static void test_lives(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(features_off) / sizeof(features_off[0]); i++) {
        exchange(features_off[i], true);
    }
}

/* A frame of TCP segments. */
#define TCP_START   34u
#define TCP_HEADERS (TCP_START + 20u)
#define MSS         1400u
#define DATA        64000u

static uint32_t data_received, segments_received;

/* Checks a TCP segment that is a frame, or part of the frame that was sent. */
static void check_segment(struct virtio_net_buffer *buffer)
{
    static uint8_t bytes[LARGEST];
    bool is_whole = (owner.device.accepted & VIRTIO_NET_F_GUEST_TSO4) != 0;
    bool has_partial = buffer->checksum == VIRTIO_NET_CHECKSUM_PARTIAL;
    uint32_t length = collect(buffer, bytes);
    uint32_t data = length - TCP_HEADERS;
    uint32_t rest = DATA - data_received;
    uint32_t pseudo = 6 + length - TCP_START + sum(bytes, 26, TCP_START);

    assert_int_equal(data, is_whole || rest < MSS ? rest : MSS);
    assert_int_equal(big16(&bytes[16]), length - 14);
    assert_int_equal(sum(bytes, 14, TCP_START), 0xffff);
    assert_int_equal(bytes[19], 7 + segments_received); /* identification */
    assert_int_equal(big16(&bytes[38]) << 16 | big16(&bytes[40]), 0xffffff00u + data_received);
    assert_int_equal(bytes[47], /* FIN, PSH, CWR */
                     0x10 | (data == rest ? 0x09 : 0) | (segments_received == 0 ? 0x80 : 0));
    if (has_partial) {
        assert_true(is_whole || (owner.device.accepted & VIRTIO_NET_F_GUEST_CSUM) != 0);
    } else {
        pseudo += sum(bytes, TCP_START, length);
        assert_int_equal((pseudo & 0xffff) + (pseudo >> 16), 0xffff);
    }
    for (uint32_t i = 0; i < data; i++) {
        assert_int_equal(bytes[TCP_HEADERS + i], pattern(0, TCP_HEADERS + data_received + i));
    }
    data_received += data;
    segments_received++;
}

static void send_large(void)
{
    static const uint8_t headers[TCP_HEADERS] = {
        [12] = 8,    [14] = 0x45, [18] = 0,    [19] = 7,    [22] = 64, [23] = 6,
        [26] = 10,   [29] = 1,    [30] = 10,   [33] = 2,    [35] = 80, [38] = 0xff,
        [39] = 0xff, [40] = 0xff, [46] = 0x50, [47] = 0x99,
    };
    struct owner_packet *packet = owner_packet(&owner, TCP_HEADERS + DATA, 8);
    uint8_t *frame = packet->packet.segment[0].memory;

    memcpy(frame, headers, sizeof(headers));
    frame[16] = (TCP_HEADERS + DATA - 14) >> 8;
    frame[17] = (TCP_HEADERS + DATA - 14) & 0xff;
    frame[24] = (uint8_t)((sum(frame, 14, TCP_START) ^ 0xffff) >> 8);
    frame[25] = (uint8_t)(sum(frame, 14, TCP_START) ^ 0xff);
    packet->packet.gso_type = VIRTIO_NET_GSO_TCPV4;
    packet->packet.gso_bytes = MSS;
    packet->packet.header_bytes = TCP_HEADERS;
    packet->packet.checksum_partial = true;
    packet->packet.checksum_start = TCP_START;
    packet->packet.checksum_offset = 16;
    packet->with_driver = true;
    assert_true(virtio_net_transmit(owner.net, &packet->packet));
    owner.sent++;
    virtio_net_flush(owner.net);
}

/* The driver sends a large frame, which comes back to it, whole or in segments. */
static void return_large(uint64_t off)
{
    static struct device_net_segmentation segmentation;
    static struct device_chain chain;
    struct device_net_frame frame, segment;

    start(off);
    data_received = segments_received = 0;
    send_large();
    assert_true(device_net_take(&net, &chain, &frame));
    assert_int_equal(frame.gso, DEVICE_NET_GSO_TCPV4);
    assert_int_equal(frame.gso_bytes, MSS);
    assert_int_equal(frame.header_bytes, TCP_HEADERS);
    if (device_net_deliver(&net, &frame) == DEVICE_NET_UNSEGMENTED) {
        assert_true(device_net_needs_segmentation(&net, &frame));
        assert_true(device_net_segmentation_begin(&segmentation, &frame));
        while (device_net_segmentation_next(&segmentation, &segment)) {
            assert_int_equal(device_net_deliver(&net, &segment), DEVICE_NET_DELIVERED);
        }
    }
    publish(&net.receive);
    device_net_finish(&net);
    publish(&net.transmit);
    settle(check_segment);
    assert_int_equal(data_received, DATA);
    owner_finish(&owner);
}

static void test_large_frame(void **state)
{
    (void)state;
    return_large(0);
    assert_int_equal(segments_received, 1);
    return_large(VIRTIO_NET_F_GUEST_TSO4);
    assert_int_equal(segments_received, (DATA + MSS - 1) / MSS);
    return_large(VIRTIO_NET_F_GUEST_TSO4 | VIRTIO_NET_F_GUEST_TSO6 | VIRTIO_NET_F_GUEST_CSUM |
                 VIRTIO_NET_F_MRG_RXBUF);
    assert_int_equal(segments_received, (DATA + MSS - 1) / MSS);
}

static const uint8_t own[6] = {0x52, 0x54, 0x00, 0x12, 0x34, 0x56};
static const uint8_t station[6] = {0x02, 1, 2, 3, 4, 5};
static const uint8_t group[6] = {0x33, 0x33, 0, 0, 0, 1};
static const uint8_t broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static void expect_wanted(bool has_own, bool has_station, bool has_group, bool has_broadcast)
{
    assert_int_equal(device_net_wants(&net, own), has_own);
    assert_int_equal(device_net_wants(&net, station), has_station);
    assert_int_equal(device_net_wants(&net, group), has_group);
    assert_int_equal(device_net_wants(&net, broadcast), has_broadcast);
}

static void set_mode(enum virtio_net_receive_mode mode, bool on)
{
    assert_int_equal(virtio_net_set_receive_mode(owner.net, mode, on), VIRTIO_NET_DONE);
}

static void test_filters(void **state)
{
    uint8_t many[DEVICE_NET_FILTER_MAX][6] = {{0}};

    (void)state;
    start(0);
    expect_wanted(true, true, true, true);
    set_mode(VIRTIO_NET_PROMISCUOUS, false);
    expect_wanted(true, false, false, true);
    set_mode(VIRTIO_NET_ALL_MULTICAST, true);
    expect_wanted(true, false, true, true);
    set_mode(VIRTIO_NET_NO_MULTICAST, true);
    expect_wanted(true, false, false, true);
    set_mode(VIRTIO_NET_ALL_UNICAST, true);
    expect_wanted(true, true, false, true);
    set_mode(VIRTIO_NET_NO_UNICAST, true);
    set_mode(VIRTIO_NET_NO_BROADCAST, true);
    expect_wanted(false, false, false, false);
    set_mode(VIRTIO_NET_PROMISCUOUS, true);
    expect_wanted(true, true, true, true);
    assert_int_equal(net.statistics.commands, 7);
    start_device(true);
    expect_wanted(true, true, true, true);
    set_mode(VIRTIO_NET_PROMISCUOUS, false);
    memcpy(many[DEVICE_NET_FILTER_MAX - 2], station, sizeof(station));
    memcpy(many[DEVICE_NET_FILTER_MAX - 1], group, sizeof(group));
    assert_int_equal(
        virtio_net_set_filter(owner.net, (const uint8_t(*)[6])many, DEVICE_NET_FILTER_MAX - 1, 1),
        VIRTIO_NET_DONE);
    expect_wanted(true, true, true, true);
    assert_int_equal(virtio_net_set_filter(owner.net, &group, 0, 1), VIRTIO_NET_DONE);
    expect_wanted(true, false, true, true);
    assert_int_equal(virtio_net_set_filter(owner.net, &group, 0, 0), VIRTIO_NET_DONE);
    expect_wanted(true, false, false, true);
    owner_finish(&owner);
}

static void change_configuration(void)
{
    owner.device.config[6] = (uint8_t)device_net_status(&net);
    interrupt(VIRTIO_CAUSE_CONFIG);
    owner_interrupts(&owner);
}

static void test_status(void **state)
{
    (void)state;
    start(0);
    assert_true(virtio_net_link_up(owner.net));
    assert_false(device_net_set_link(&net, true));
    assert_true(device_net_set_link(&net, false));
    change_configuration();
    assert_true(virtio_net_link_changed(owner.net));
    assert_false(virtio_net_link_up(owner.net));
    assert_false(virtio_net_announce_asked(owner.net));
    assert_true(device_net_set_link(&net, true));
    assert_true(device_net_announce(&net));
    assert_false(device_net_announce(&net));
    change_configuration();
    assert_true(virtio_net_link_changed(owner.net));
    assert_true(virtio_net_announce_asked(owner.net));
    assert_int_equal(device_net_status(&net), DEVICE_NET_LINK_UP);
    assert_int_equal(owner.device.config[6], DEVICE_NET_LINK_UP); /* before the answer */
    assert_false(virtio_net_announce_asked(owner.net));
    owner_finish(&owner);
    start(VIRTIO_NET_F_GUEST_ANNOUNCE);
    assert_false(device_net_announce(&net));
    owner_finish(&owner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_traffic),     cmocka_unit_test(test_lives),
        cmocka_unit_test(test_large_frame), cmocka_unit_test(test_filters),
        cmocka_unit_test(test_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
