/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client that writes anything to its rings, its buffers and, by its registers, to the page of its
 * device, beside two that exchange frames. The sanitizer sees each access of the back-end that is
 * not inside of the client's memory.
 */
#include "network_fixture.h"

#include <stdlib.h>
#include <string.h>

#define FRAME_BYTES  64u
#define MEMORY_BYTES 16384u
#define START        UINT64_C(0x40000000)
#define RUNS         400u
#define ROUNDS       60u
#define SLOTS        7u
#define MIRROR_BYTES (sizeof(struct frame_mirror_ring) + SLOTS * sizeof(struct frame_mirror_slot))

static const uint8_t plain_header[HEADER];
static uint8_t frame[FRAME_ROOM], received[FRAME_ROOM];
static uint64_t seed;
static uint8_t *memory;
static struct device_memory_region region;

static void random_bytes(uint8_t *at, uint32_t bytes)
{
    while (bytes-- != 0) {
        *at++ = (uint8_t)random_below(&seed, 256);
    }
}

/* Returns an address in the client's memory, near its end, or anywhere. */
static uint64_t any_address(void)
{
    switch (random_below(&seed, 8)) {
    case 0:
        return START + MEMORY_BYTES - random_below(&seed, 64);
    case 1:
        return random_below(&seed, UINT64_MAX);
    default:
        return START + random_below(&seed, MEMORY_BYTES / 16) * 16;
    }
}

static void put16(uint8_t *at, uint64_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

static void put32(uint8_t *at, uint64_t value)
{
    put16(at, value);
    put16(at + 2, value >> 16);
}

/* The places of frames, and of a queue's parts in a setup that is correct. */
#define FRAMES_START (3u * 4096u)
#define DRIVER_AREA  2048u
#define DEVICE_AREA  3072u

static void put_descriptor(uint8_t *at, uint64_t address, uint64_t bytes, uint64_t flags)
{
    put32(at, address);
    put32(at + 4, address >> 32);
    put32(at + 8, bytes);
    put16(at + 12, flags);
    put16(at + 14, random_below(&seed, 20));
}

static uint64_t any_frame(void)
{
    return START + FRAMES_START + random_below(&seed, 16) * 128;
}

/* Writes a descriptor anywhere. */
static void write_descriptor(void)
{
    uint8_t *at = &memory[random_below(&seed, MEMORY_BYTES / 16) * 16];

    if (random_below(&seed, 4) != 0) {
        put_descriptor(at, any_frame(), HEADER + 100, 0);
    } else {
        put_descriptor(at, any_address(), random_below(&seed, 3000), random_below(&seed, 8));
    }
}

/* Sets a queue up as a correct driver does. */
static void set_up(struct shared_device_queue *queue, unsigned number)
{
    uint8_t *at = &memory[number * 4096];

    memset(at, 0, 4096);
    for (uint32_t i = 0; i < 64; i++) {
        put_descriptor(at + 16 * i, any_frame(), HEADER + 100, number == 0 ? 2 : 0);
        put16(at + DRIVER_AREA + 4 + 2 * i, i);
    }
    queue->descriptors = START + number * 4096;
    queue->driver_area = queue->descriptors + DRIVER_AREA;
    queue->device_area = queue->descriptors + DEVICE_AREA;
    queue->size = 64;
    queue->ready = 1;
}

/* Writes a header and a frame, from its own address or another. */
static void write_frame(void)
{
    uint8_t *at = &memory[FRAMES_START + random_below(&seed, 16) * 128];

    make_frame(frame, 100, (uint8_t)random_between(&seed, 1, 0xff), 3, 0);
    random_bytes(at, HEADER);
    at[0] = random_below(&seed, 4) == 0;
    at[1] = (uint8_t)(random_below(&seed, 2) * 4);
    memcpy(at + HEADER, frame, 100);
}

static void disturb(void)
{
    struct shared_device_page *page = &fixture.stations[2].page;

    for (unsigned i = 0; i < 3; i++) {
        write_descriptor();
        write_frame();
    }
    if (random_below(&seed, 8) == 0) {
        random_bytes(&memory[random_below(&seed, MEMORY_BYTES - 16)], 16);
    }
    for (unsigned i = 0; i < DEVICE_NET_QUEUES; i++) { /* the available index, in a small step */
        uint64_t offset = page->queues[i].driver_area - START;

        if (offset < MEMORY_BYTES - 4 && random_below(&seed, 4) != 0) {
            memory[offset + 2] = (uint8_t)(memory[offset + 2] + random_below(&seed, 3));
        }
    }
}

/* The driver starts, with queues at any place. */
static void start_anywhere(void)
{
    struct shared_device_page *page = &fixture.stations[2].page;
    bool is_correct = random_below(&seed, 2) == 0;

    for (unsigned i = 0; i < DEVICE_NET_QUEUES; i++) {
        struct shared_device_queue *queue = &page->queues[i];

        queue->descriptors = any_address();
        queue->driver_area = any_address();
        queue->device_area = any_address();
        queue->size = random_below(&seed, 4) == 0 ? (uint32_t)random_below(&seed, UINT32_MAX)
                                                  : 1u << random_below(&seed, 9);
        queue->ready = random_below(&seed, 8) != 0;
        if (is_correct) {
            set_up(queue, i);
        }
    }
    page->accepted =
        random_below(&seed, 8) == 0 ? random_below(&seed, UINT64_MAX) : DEVICE_NET_FEATURES;
    page->status = random_below(&seed, 16) == 0 ? (uint32_t)random_below(&seed, 256) : 12;
}

/* The others exchange frames, whatever the client does. */
static void exchange(uint32_t number)
{
    make_frame(frame, FRAME_BYTES, 2, 1, number);
    assert_non_null(station_send(0, plain_header, frame, FRAME_BYTES, true));
    settle();
    assert_int_equal(station_sent(0), 1);
    while (station_receive(1, received) != HEADER + FRAME_BYTES || received[HEADER + 11] != 1) {
        station_expose(1, 1, 2048); /* a frame of the client's, to all or to this one */
    }
    assert_int_equal(check_frame(received + HEADER, FRAME_BYTES), number);
    station_expose(1, 1, 2048);
    while (station_receive(0, received) != 0) {
        station_expose(0, 1, 2048);
    }
}

/* Takes what is left in the buffers, so that the others have room. */
static void drain(void)
{
    for (unsigned i = 0; i < 2; i++) {
        while (station_receive(i, received) != 0) {
            station_expose(i, 1, 2048);
        }
    }
    while (fixture.card_count != 0) {
        const struct card_frame *sent = &fixture.card[--fixture.card_count];

        assert_int_not_equal(sent->bytes[11], 2);
        free(sent->bytes);
    }
    fixture.card_room = CARD_FRAMES;
}

/* Makes a mirror of all ports, which somebody reads. */
static struct frame_mirror_ring *mirror_all(void)
{
    struct frame_mirror_ring *ring = malloc(MIRROR_BYTES);

    assert_true(frame_mirror_init(&fixture.network.mirror, ring, MIRROR_BYTES, 1));
    ring->ports = UINT32_MAX;
    ring->beat = 1;
    return ring;
}

/* Checks the lengths in a mirror, whatever the client has sent. */
static void check_mirror(const struct frame_mirror_ring *ring)
{
    for (unsigned i = 0; i < SLOTS && i < ring->written; i++) {
        const struct frame_mirror_slot *slot = &ring->slots[i];

        assert_int_equal((slot->number - 1) % SLOTS, i);
        assert_in_range(slot->bytes, 1, FRAME_MIRROR_CONTENT_BYTES);
        assert_in_range(slot->offset + slot->bytes, 1, slot->kept_bytes);
        assert_in_range(slot->frame_bytes, slot->kept_bytes, DEVICE_NET_FRAME_MAX);
        assert_in_range(slot->port, 0, STATIONS);
    }
}

static void test_any_memory(void **state)
{
    struct frame_mirror_ring *ring;
    uint64_t moved = 0;

    (void)state;
    seed = 1;
    fixture_prepare();
    memory = malloc(MEMORY_BYTES);
    region = (struct device_memory_region){START, MEMORY_BYTES, memory};
    fixture.setups[2].memory = (struct device_memory){&region, 1};
    fixture_begin();
    ring = mirror_all();
    for (unsigned i = 0; i < 2; i++) {
        station_start(i, DEVICE_NET_FEATURES);
        station_expose(i, RING, 2048);
    }
    for (unsigned run = 0; run < RUNS; run++) {
        random_bytes(memory, MEMORY_BYTES);
        if (random_below(&seed, 2) == 0) {
            memset(memory, 0, MEMORY_BYTES);
        }
        start_anywhere();
        for (uint32_t i = 0; i < ROUNDS; i++) {
            disturb();
            exchange(run * ROUNDS + i);
            drain();
            check_mirror(ring);
        }
        moved += fixture.clients[2].net.statistics.transmitted;
        station_reset(2);
        settle();
        assert_int_equal(fixture.stations[2].acknowledged, run + 1);
    }
    assert_true(fixture.stations[2].failures > RUNS / 4);
    assert_true(moved > RUNS); /* it is not only broken */
    assert_true(ring->written > moved);
    assert_int_equal(fixture.stations[0].failures + fixture.stations[1].failures, 0);
    fixture_end();
    free(ring);
    free(memory);
}

/* The page changes as no hypervisor changes it: the back-end neither crashes nor hangs. */
static void test_any_page(void **state)
{
    (void)state;
    seed = 2;
    fixture_prepare();
    memory = malloc(MEMORY_BYTES);
    region = (struct device_memory_region){START, MEMORY_BYTES, memory};
    fixture.setups[2].memory = (struct device_memory){&region, 1};
    fixture_begin();
    for (unsigned i = 0; i < 2; i++) {
        station_start(i, DEVICE_NET_FEATURES);
        station_expose(i, RING, 2048);
    }
    for (uint32_t run = 0; run < RUNS * 10; run++) {
        struct shared_device_page *page = &fixture.stations[2].page;

        if (random_below(&seed, 2) == 0) {
            start_anywhere();
        } else {
            random_bytes((uint8_t *)page + random_below(&seed, sizeof(*page) - 8), 8);
        }
        disturb();
        exchange(run);
        drain();
    }
    fixture_end();
    free(memory);
}

/* A frame that becomes 60,000 segments of one byte: others are served meanwhile, and the client
 * pays for them. */
static void test_segments_of_one_byte(void **state)
{
    const uint8_t header[HEADER] = {1, 1, 54, 0, 1, 0, 34, 0, 16, 0};
    unsigned of_others = 0;
    uint64_t time;

    (void)state;
    fixture_prepare();
    fixture_begin();
    for (unsigned i = 0; i < 2; i++) {
        station_start(i, DEVICE_NET_FEATURES);
    }
    make_frame(frame, 60054, 0x81, 1, 0);
    memcpy(frame + 12, "\x08\0\x45\0", 4);
    memset(frame + 16, 0, 18);
    frame[23] = 6;
    frame[46] = 0x50;
    assert_non_null(station_send(0, header, frame, 60054, true));
    (void)turn_round(1);
    for (unsigned i = 0; i < 1000; i++) {
        make_frame(frame, FRAME_BYTES, 0x81, 2, i);
        (void)station_sent(1);
        (void)station_send(1, plain_header, frame, FRAME_BYTES, true);
        (void)station_send(1, plain_header, frame, FRAME_BYTES, true);
        network_begin(&fixture.network, fixture.now);
        (void)network_service(&fixture.network, 4, &time);
        network_end(&fixture.network);
    }
    for (unsigned i = 0; i < fixture.card_count; i++) {
        of_others += fixture.card[i].bytes[11] == 2;
    }
    assert_true(of_others > 900);
    assert_true(fixture.card_count - of_others > 500);
    assert_int_equal(station_sent(0), 0);
    fixture_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_memory),
        cmocka_unit_test(test_any_page),
        cmocka_unit_test(test_segments_of_one_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
