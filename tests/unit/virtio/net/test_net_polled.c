/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the polled driver: frames both ways past the wrap of the indices, each rule that a device
 * can break, devices that fail silently, and devices that write anything into the shared memory.
 */
#include "fake.h"
#include "virtio/endian.h"
#include "virtio/net_polled.h"
#include <stdlib.h>
#include <string.h>

#define RECEIVE      0u
#define TRANSMIT     1u
#define RING         VIRTIO_POLLED_ENTRIES
#define BUFFER_BYTES 1536u /* virtio/polled/polled_private.h */
#define FRAME_MAX    (BUFFER_BYTES - VIRTIO_NET_HEADER_BYTES)
#define CAPACITY     2000u
#define SECOND       UINT64_C(1000000000)

static struct fake_device device;
static struct virtio_mmio mmio;
static struct virtio_pci pci;
static struct virtio_polled *polled;

static const struct way {
    enum fake_bus bus;
    uint16_t vectors;
} ways[] = {{FAKE_MMIO, 0}, {FAKE_PCI, 0}, {FAKE_PCI, 1}, {FAKE_PCI, 3}};

#define WAYS (sizeof(ways) / sizeof(ways[0]))

static void prepare(const struct way *way)
{
    fake_reset_device(&device, way->bus, way->vectors);
    device.offered |= VIRTIO_F_ACCESS_PLATFORM | VIRTIO_F_ORDER_PLATFORM | FAKE_FEATURES_CONTROL;
    polled = virtio_polled_create(fake_pool);
    assert_non_null(polled);
}

static const char *try_start(void)
{
    const char *reason = NULL;

    return virtio_polled_start(polled, fake_probe(&mmio, &pci), &reason) ? NULL : reason;
}

static void start(const struct way *way)
{
    prepare(way);
    assert_null(try_start());
}

static struct virtio_net_statistics statistics(void)
{
    struct virtio_net_statistics s;

    virtio_polled_statistics(polled, &s);
    return s;
}

static void check_balance(void)
{
    struct virtio_net_statistics s = statistics();

    assert_int_equal(s.rx_buffers_taken, s.rx_buffers_returned + s.rx_exposed);
    assert_int_equal(s.tx_accepted, s.tx_returned + s.tx_in_flight);
    assert_int_equal(s.interrupts + s.signals, 0);
}

static void finish(void)
{
    check_balance();
    assert_true(virtio_polled_stop(polled));
    check_balance();
    assert_int_equal(statistics().rx_exposed + statistics().tx_in_flight, 0);
    virtio_polled_destroy(polled);
    assert_int_equal(fake_allocations, 0);
}

static bool transmit(const void *frame, uint32_t bytes)
{
    struct virtio_net_segment segment = {.memory = (uint8_t *)(uintptr_t)frame, .bytes = bytes};

    return virtio_polled_transmit(polled, &segment, 1);
}

/* The device takes the next frame and completes it. */
static void send_one(uint32_t bytes)
{
    uint8_t frame[CAPACITY];
    struct ring_chain chain;

    assert_int_equal(fake_transmit(frame, CAPACITY, true, &chain), bytes + VIRTIO_NET_HEADER_BYTES);
}

/* The device uses split rings with what both sides need, and interrupts for nothing. */
static void started_with_the_least(void **state)
{
    (void)state;
    for (unsigned i = 0; i < WAYS; i++) {
        uint8_t mac[6];

        start(&ways[i]);
        assert_true(device.accepted ==
                    (VIRTIO_F_VERSION_1 | VIRTIO_F_ACCESS_PLATFORM | VIRTIO_F_ORDER_PLATFORM |
                     VIRTIO_NET_F_MAC | VIRTIO_NET_F_STATUS));
        assert_true(virtio_polled_features(polled) == device.accepted);
        for (unsigned queue = 0; queue < 2; queue++) {
            assert_int_equal(fake_ring(queue)->size, RING);
            assert_int_equal(*fake_available_flags(queue), 1); /* 2.7.7: no interrupt */
        }
        assert_int_equal(fake_available(RECEIVE), RING);
        assert_int_equal(fake_available(TRANSMIT), 0);
        assert_true(virtio_polled_link_up(polled));
        assert_true(virtio_polled_mac(polled, mac));
        assert_memory_equal(mac, device.config, 6);
        assert_null(virtio_polled_broken(polled));
        assert_false(fake_raised());
        finish();
    }
}

static void smaller_rings(void **state)
{
    static const uint16_t sizes[][2] = {{1, 1}, {4, 4}, {31, 16}, {32, 32}, {1024, 32}};

    (void)state;
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        prepare(&ways[0]);
        device.queue[RECEIVE].size_max = sizes[i][0];
        device.queue[TRANSMIT].size_max = sizes[i][0];
        assert_null(try_start());
        assert_int_equal(fake_ring(TRANSMIT)->size, sizes[i][1]);
        assert_int_equal(fake_available(RECEIVE), sizes[i][1]);
        finish();
    }
}

static void refused_devices(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        prepare(&ways[0]);
        device.queue[TRANSMIT].size_max = i == 0 ? 0 : 256;
        device.refuse_features = i == 1;
        device.offered &= i == 2 ? ~VIRTIO_F_VERSION_1 : ~UINT64_C(0);
        device.stuck_in_reset = i == 3;
        device.status = i == 3 ? VIRTIO_STATUS_ACKNOWLEDGE : 0;
        assert_non_null(try_start());
        assert_false(transmit("frame of 14 by", 14));
        device.stuck_in_reset = false;
        finish();
    }
    prepare(&ways[0]);
    device.version = 1;
    assert_string_equal(try_start(), "the polled driver does not support legacy devices");
    finish();
}

static void memory_exhausted(void **state)
{
    (void)state;
    fake_skip_pool();
    for (unsigned left = 0; left < 3; left++) {
        fake_allocations_left = left;
        polled = virtio_polled_create(fake_pool);
        fake_allocations_left = UINT32_MAX;
        assert_null(polled);
        assert_int_equal(fake_allocations, 0);
    }
}

static void make_frame(uint8_t *frame, uint32_t number, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        frame[i] = (uint8_t)(number * 7u + i);
    }
}

static void check_sent(uint32_t number, uint32_t bytes, struct ring_chain *chain)
{
    static const uint8_t header[VIRTIO_NET_HEADER_BYTES] = {0};
    uint8_t expected[CAPACITY];
    uint8_t frame[CAPACITY];

    make_frame(expected, number, bytes);
    assert_int_equal(fake_transmit(frame, CAPACITY, false, chain), bytes + sizeof(header));
    assert_memory_equal(frame, header, sizeof(header));
    assert_memory_equal(frame + sizeof(header), expected, bytes);
}

static void check_received(uint32_t number, uint32_t bytes)
{
    uint8_t expected[CAPACITY];
    uint8_t frame[CAPACITY];

    make_frame(expected, number, bytes);
    assert_int_equal(virtio_polled_receive(polled, frame, CAPACITY), bytes);
    assert_memory_equal(frame, expected, bytes);
}

/* Both indices wrap. The device finishes frames in any order. */
static void traffic(void **state)
{
    struct ring_chain chains[8];
    uint8_t frame[CAPACITY];
    uint32_t number = 0;

    (void)state;
    start(&ways[3]);
    for (unsigned round = 0; round < 70000 / 4; round++) {
        unsigned count = 1 + round % 7;

        for (unsigned i = 0; i < count; i++) {
            make_frame(frame, number + i, 14 + (number + i) % 80);
            assert_true(transmit(frame, 14 + (number + i) % 80));
            assert_true(fake_receive(frame, 14 + (number + i) % 80, 0));
        }
        virtio_polled_flush(polled);
        for (unsigned i = 0; i < count; i++) {
            check_sent(number + i, 14 + (number + i) % 80, &chains[i]);
            check_received(number + i, 14 + (number + i) % 80);
        }
        for (unsigned i = 0; i < count; i++) {
            fake_complete(TRANSMIT, &chains[(i + round) % count], 0);
        }
        number += count;
        assert_int_equal(virtio_polled_receive(polled, frame, CAPACITY), 0);
    }
    virtio_polled_flush(polled);
    assert_true(number > UINT16_MAX);
    assert_int_equal(statistics().tx_frames, number);
    assert_int_equal(statistics().rx_frames, number);
    assert_int_equal(statistics().tx_in_flight, 0);
    assert_false(fake_raised());
    finish();
}

static void lengths_of_frames(void **state)
{
    static const struct {
        uint32_t bytes;
        bool tagged;
        bool valid;
    } frames[] = {{0, false, false},   {13, false, false},   {14, false, true},
                  {1514, false, true}, {1515, false, false}, {1515, true, true},
                  {1518, true, true},  {1519, true, false},  {CAPACITY, false, false}};
    uint8_t frame[CAPACITY];

    (void)state;
    start(&ways[0]);
    for (unsigned i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        memset(frame, 0, sizeof(frame));
        frame[12] = frames[i].tagged ? 0x81 : 0x08;
        assert_int_equal(transmit(frame, frames[i].bytes), frames[i].valid);
    }
    assert_false(virtio_polled_transmit(polled, NULL, 0));
    finish();
}

static void several_segments(void **state)
{
    uint8_t frame[100];
    struct virtio_net_segment segments[] = {{frame, 3}, {frame + 3, 11}, {frame + 14, 86}};
    struct ring_chain chain;

    (void)state;
    start(&ways[0]);
    make_frame(frame, 1, sizeof(frame));
    assert_true(virtio_polled_transmit(polled, segments, 3));
    check_sent(1, sizeof(frame), &chain);
    finish();
}

static void full_ring(void **state)
{
    uint8_t frame[60] = {0};

    (void)state;
    start(&ways[0]);
    for (unsigned i = 0; i < RING; i++) {
        assert_true(transmit(frame, sizeof(frame)));
    }
    assert_false(transmit(frame, sizeof(frame)));
    assert_int_equal(statistics().tx_refused, 1);
    send_one(60);
    assert_true(transmit(frame, sizeof(frame)));
    assert_false(transmit(frame, sizeof(frame)));
    finish();
}

static void received_lengths(void **state)
{
    uint8_t small[59];
    uint8_t frame[CAPACITY] = {0};

    (void)state;
    start(&ways[0]);
    assert_true(fake_receive(frame, 13, 0)); /* too short for an Ethernet header */
    assert_true(fake_receive(frame, FRAME_MAX, 0xff));
    assert_int_equal(virtio_polled_receive(polled, frame, CAPACITY), FRAME_MAX);
    assert_true(fake_receive(frame, 60, 0));
    assert_true(fake_receive(frame, 59, 0));
    assert_int_equal(virtio_polled_receive(polled, small, sizeof(small)), 59);
    assert_int_equal(statistics().rx_bad, 2);
    assert_int_equal(statistics().rx_exposed, RING);
    finish();
}

/* The device is asked for no notification: a flush makes none. */
static void notifications(void **state)
{
    uint8_t frame[60] = {0};
    uint64_t before;

    (void)state;
    start(&ways[0]);
    before = device.queue[TRANSMIT].notifications;
    virtio_polled_flush(polled);
    assert_int_equal(device.queue[TRANSMIT].notifications, before);
    assert_true(transmit(frame, sizeof(frame)));
    assert_true(transmit(frame, sizeof(frame)));
    virtio_polled_flush(polled);
    virtio_polled_flush(polled);
    assert_int_equal(device.queue[TRANSMIT].notifications, before + 1);
    *fake_used_flags(TRANSMIT) = virtio_le16(1);
    assert_true(transmit(frame, sizeof(frame)));
    virtio_polled_flush(polled);
    assert_int_equal(device.queue[TRANSMIT].notifications, before + 1);
    finish();
}

/* Checks that the driver has stopped with this reason, and works again after a restart. */
static void expect_broken(const char *what)
{
    uint8_t frame[60] = {0};

    assert_non_null(virtio_polled_broken(polled));
    assert_non_null(strstr(virtio_polled_broken(polled), what));
    assert_int_equal(statistics().broken, 1);
    assert_false(transmit(frame, sizeof(frame)));
    assert_int_equal(virtio_polled_receive(polled, frame, sizeof(frame)), 0);
    virtio_polled_flush(polled);
    virtio_polled_watch(polled);
    check_balance();
    assert_true(virtio_polled_stop(polled));
    check_balance();
    fake_reset_device(&device, FAKE_MMIO, 0);
    assert_null(try_start());
    assert_null(virtio_polled_broken(polled));
    assert_true(transmit(frame, sizeof(frame)));
    send_one(60);
    assert_true(fake_receive(frame, 60, 0));
    assert_int_equal(virtio_polled_receive(polled, frame, sizeof(frame)), 60);
    finish();
}

static void use(unsigned queue, uint16_t position, uint32_t id, uint32_t bytes)
{
    fake_used_element(queue, position)[0] = virtio_le32(id);
    fake_used_element(queue, position)[1] = virtio_le32(bytes);
    *fake_used_index(queue) = virtio_le16((uint16_t)(position + 1u));
}

static void broken_rules(void **state)
{
    static const struct {
        unsigned queue;
        uint16_t used_index; /* 0: of one used element */
        uint32_t id;
        uint32_t bytes;
        const char *reason;
    } lies[] = {
        {RECEIVE, 0, RING, 100, "returns a buffer"},
        {RECEIVE, 0, UINT32_MAX, 100, "returns a buffer"},
        {RECEIVE, 0, 0x10000, 100, "returns a buffer"},
        {RECEIVE, RING + 1, 0, 100, "used index"},
        {RECEIVE, UINT16_MAX, 0, 100, "used index"},
        {RECEIVE, 0, 3, BUFFER_BYTES + 1, "more bytes"},
        {RECEIVE, 0, 3, UINT32_MAX, "more bytes"},
        {TRANSMIT, 0, 1, 0, "returns a buffer"},
        {TRANSMIT, 0, RING, 0, "returns a buffer"},
        {TRANSMIT, 2, 0, 0, "used index"},
    };
    uint8_t frame[CAPACITY] = {0};

    (void)state;
    for (unsigned i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        start(&ways[0]);
        assert_true(transmit(frame, 60));
        use(lies[i].queue, 0, lies[i].id, lies[i].bytes);
        if (lies[i].used_index != 0) {
            *fake_used_index(lies[i].queue) = virtio_le16(lies[i].used_index);
        }
        assert_int_equal(virtio_polled_receive(polled, frame, CAPACITY), 0);
        virtio_polled_flush(polled);
        expect_broken(lies[i].reason);
    }
}

/* A buffer that the device has returned does not come back before it is exposed again. */
static void returned_twice(void **state)
{
    uint8_t frame[CAPACITY] = {0};

    (void)state;
    start(&ways[0]);
    assert_true(transmit(frame, 60));
    assert_true(transmit(frame, 60));
    use(TRANSMIT, 0, 1, 0);
    virtio_polled_flush(polled);
    assert_null(virtio_polled_broken(polled));
    use(TRANSMIT, 1, 1, 0);
    virtio_polled_flush(polled);
    expect_broken("returns a buffer");
}

/* A device may finish the same receive buffer again and again: it gets it back each time. */
static void same_buffer_again(void **state)
{
    uint8_t frame[CAPACITY];

    (void)state;
    start(&ways[0]);
    for (uint16_t i = 0; i < 100; i++) {
        use(RECEIVE, i % RING, 5, 72);
        *fake_used_index(RECEIVE) = virtio_le16((uint16_t)(i + 1u));
        assert_int_equal(virtio_polled_receive(polled, frame, CAPACITY), 60);
    }
    finish();
}

/* A device that fills the ring with bad frames holds a call for one lap. */
static void bad_frames_without_end(void **state)
{
    uint8_t frame[CAPACITY];

    (void)state;
    start(&ways[0]);
    for (uint16_t i = 0; i < RING; i++) {
        use(RECEIVE, i, i, 25);
    }
    assert_int_equal(virtio_polled_receive(polled, frame, CAPACITY), 0);
    assert_int_equal(statistics().rx_bad, RING);
    assert_null(virtio_polled_broken(polled));
    finish();
}

static void silent_failures(void **state)
{
    uint8_t frame[60] = {0};

    (void)state;
    start(&ways[0]);
    virtio_polled_watch(polled);
    assert_null(virtio_polled_broken(polled));
    device.status |= VIRTIO_STATUS_NEEDS_RESET;
    virtio_polled_watch(polled);
    expect_broken("asks for a reset");

    start(&ways[0]);
    fake_hot_reset();
    virtio_polled_watch(polled);
    expect_broken("was reset");

    start(&ways[0]);
    assert_true(transmit(frame, sizeof(frame)));
    device.gone = true;
    virtio_polled_watch(polled);
    assert_non_null(virtio_polled_broken(polled));
    assert_false(virtio_polled_stop(polled)); /* it may come back with the memory */
    assert_int_equal(statistics().rx_exposed, RING);
    assert_int_equal(statistics().tx_in_flight, 1);
    device.gone = false;
    expect_broken("gone");
}

static void stuck_device(void **state)
{
    uint8_t frame[60] = {0};

    (void)state;
    start(&ways[0]);
    fake_clock += 100 * SECOND; /* nothing to send is no failure */
    virtio_polled_watch(polled);
    assert_null(virtio_polled_broken(polled));
    assert_true(transmit(frame, sizeof(frame)));
    assert_true(transmit(frame, sizeof(frame)));
    fake_clock += VIRTIO_POLLED_STUCK;
    virtio_polled_watch(polled);
    assert_null(virtio_polled_broken(polled));
    send_one(60);
    virtio_polled_flush(polled);
    fake_clock += VIRTIO_POLLED_STUCK;
    virtio_polled_watch(polled);
    assert_null(virtio_polled_broken(polled));
    fake_clock++;
    virtio_polled_watch(polled);
    expect_broken("does not send");
}

static void link_status(void **state)
{
    (void)state;
    start(&ways[1]);
    device.config[6] = 0;
    fake_config_interrupt();
    assert_true(virtio_polled_link_up(polled));
    virtio_polled_watch(polled);
    assert_false(virtio_polled_link_up(polled));
    assert_int_equal(device.isr, 0); /* the line is low again */
    device.config[6] = 1;
    virtio_polled_watch(polled);
    assert_true(virtio_polled_link_up(polled));
    finish();
}

static void no_valid_mac(void **state)
{
    uint8_t mac[6] = {9, 9, 9, 9, 9, 9};

    (void)state;
    prepare(&ways[0]);
    device.config[0] |= 1;
    assert_null(try_start());
    assert_false(virtio_polled_mac(polled, mac));
    assert_int_equal(mac[0], 9);
    finish();
}

static uint32_t random_next(uint32_t *source)
{
    *source ^= *source << 13;
    *source ^= *source >> 17;
    *source ^= *source << 5;
    return *source;
}

/* Returns a number near one that means something, or any other. */
static uint32_t random_value(uint32_t *source)
{
    static const uint32_t values[] = {0,    1,    12,   25,         26,        RING - 1,
                                      RING, 1536, 1537, UINT16_MAX, UINT32_MAX};
    uint32_t value = random_next(source);

    return value % 2 == 0 ? value : values[value / 2 % (sizeof(values) / sizeof(values[0]))];
}

/* The device writes something into memory that it shares with the driver, or into its status. */
static void lie(uint32_t *source)
{
    unsigned queue = random_next(source) % 2;
    uint32_t value = random_value(source);
    unsigned place = random_next(source) % RING;

    switch (random_next(source) % 8) {
    case 0:
        *fake_used_index(queue) = (uint16_t)value;
        break;
    case 1:
    case 2: /* one used buffer more */
        fake_used_element(queue, *fake_used_index(queue) % RING)[0] = value;
        fake_used_element(queue, *fake_used_index(queue) % RING)[1] = random_value(source);
        (*fake_used_index(queue))++;
        break;
    case 3:
        fake_used_element(queue, (uint16_t)place)[value % 2] = random_value(source);
        break;
    case 4:
        *fake_used_flags(queue) = (uint16_t)value;
        break;
    case 5: /* memory that the driver writes */
        *fake_available_index(queue) = (uint16_t)value;
        *fake_available_flags(queue) = (uint16_t)random_value(source);
        break;
    case 6:
        device.config[value % sizeof(device.config)] = (uint8_t)(value >> 8);
        break;
    default:
        device.status |= value % 8 == 0 ? VIRTIO_STATUS_NEEDS_RESET : 0;
    }
}

static void call(uint32_t *source)
{
    uint8_t frame[CAPACITY] = {0};
    uint32_t bytes = random_value(source) % CAPACITY;

    switch (random_next(source) % 4) {
    case 0:
        assert_true(virtio_polled_receive(polled, frame, bytes) <= bytes);
        break;
    case 1:
        (void)transmit(frame, bytes);
        break;
    case 2:
        virtio_polled_flush(polled);
        break;
    default:
        fake_clock += random_next(source) % SECOND;
        virtio_polled_watch(polled);
    }
    check_balance();
    assert_true(statistics().rx_exposed <= RING && statistics().tx_in_flight <= RING);
}

/* Whatever a device writes: the driver stays within its memory (AddressSanitizer), its counters
 * balance, and it works after a restart. */
static void any_device(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 3000; seed++) {
        uint32_t source = seed * 2654435761u;
        uint8_t frame[CAPACITY] = {0};

        start(&ways[seed % WAYS]);
        for (unsigned step = 0; step < 60; step++) {
            if (random_next(&source) % 3 == 0) {
                lie(&source);
            }
            call(&source);
        }
        assert_true(virtio_polled_stop(polled));
        check_balance();
        fake_reset_device(&device, FAKE_MMIO, 0);
        assert_null(try_start());
        assert_true(transmit(frame, 60));
        send_one(60);
        assert_true(fake_receive(frame, 60, 0));
        assert_int_equal(virtio_polled_receive(polled, frame, 60), 60);
        finish();
    }
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(started_with_the_least),
        cmocka_unit_test(smaller_rings),
        cmocka_unit_test(refused_devices),
        cmocka_unit_test(memory_exhausted),
        cmocka_unit_test(traffic),
        cmocka_unit_test(lengths_of_frames),
        cmocka_unit_test(several_segments),
        cmocka_unit_test(full_ring),
        cmocka_unit_test(received_lengths),
        cmocka_unit_test(notifications),
        cmocka_unit_test(broken_rules),
        cmocka_unit_test(returned_twice),
        cmocka_unit_test(same_buffer_again),
        cmocka_unit_test(bad_frames_without_end),
        cmocka_unit_test(silent_failures),
        cmocka_unit_test(stuck_device),
        cmocka_unit_test(link_status),
        cmocka_unit_test(no_valid_mac),
        cmocka_unit_test(any_device),
    };

    fake_choose_ring(count, arguments);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
