/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device's side of a virtqueue. At the other end is the driver's side of this library, which is
 * tested against other devices, or a hostile driver, which writes any value to any word.
 */
#include "virtio/barrier.h"
#include "virtio/device_queue.h"
#include "virtio/features.h"
#include "virtqueue/virtqueue_fixture.h"
#include <string.h>

#define SIZE   16u
#define ROWS   64u
#define CHAINS 140000u /* the indices wrap twice */

static struct virtqueue_fixture fixture;
static struct device_memory_region regions[2];
static const struct device_memory memory = {.regions = regions, .count = 2};
static struct device_queue_setup setup;
static struct device_queue queue;
static struct device_chain chain;

static const uint64_t features[] = {
    0,
    VIRTIO_F_EVENT_IDX,
    VIRTIO_F_IN_ORDER | VIRTIO_F_EVENT_IDX,
    VIRTIO_F_INDIRECT_DESC,
    VIRTIO_F_IN_ORDER | VIRTIO_F_EVENT_IDX | VIRTIO_F_INDIRECT_DESC,
};

static void begin(uint64_t accepted)
{
    bool is_indirect = (accepted & VIRTIO_F_INDIRECT_DESC) != 0;
    struct virtio_queue_setup described = {0};

    fixture_begin(&fixture, SIZE, accepted, is_indirect ? 4 : 0, is_indirect ? 8 : 0);
    virtqueue_describe(&fixture.queue, &described);
    /* The driver's address of the descriptors is that of its memory. */
    regions[0] = (struct device_memory_region){
        .start = described.descriptors,
        .bytes = virtqueue_shared_bytes(&fixture.queue),
        .here = (void *)(uintptr_t)(described.descriptors - FAKE_DMA_OFFSET),
    };
    regions[1] = (struct device_memory_region){
        .start = virtio_platform_dma_address(fixture.memory),
        .bytes = sizeof(fixture.memory),
        .here = fixture.memory[0],
    };
    setup = (struct device_queue_setup){
        .descriptors = described.descriptors,
        .driver_area = described.driver_area,
        .device_area = described.device_area,
        .features = accepted,
        .size = described.size,
    };
    assert_null(device_queue_start(&queue, &memory, &setup, false));
}

static void end(void)
{
    fixture_end(&fixture);
}

/* Adds a chain with a number in its first two bytes. Returns false if the queue is full. */
static bool add(uint32_t number, unsigned readable, unsigned writable)
{
    unsigned row = number % ROWS;

    fixture.memory[row][0] = (uint8_t)number;
    fixture.memory[row][1] = (uint8_t)(number >> 8);
    return fixture_add(&fixture, row, readable, writable);
}

/* Checks that the device sees the chain as it was added, and writes to the first writable segment.
 * Returns the number of bytes that it has written. */
static uint32_t check_chain(uint32_t number, unsigned readable, unsigned writable)
{
    uint32_t bytes[2] = {0, 0};

    assert_int_equal(chain.readable, readable);
    assert_int_equal(chain.writable, writable);
    for (unsigned i = 0; i < readable + writable; i++) {
        assert_ptr_equal(chain.segments[i].memory, fixture.memory[(number + i) % ROWS]);
        assert_int_equal(chain.segments[i].bytes, 8 + i);
        bytes[i < readable ? 0 : 1] += 8 + i;
    }
    assert_int_equal(chain.readable_bytes, bytes[0]);
    assert_int_equal(chain.writable_bytes, bytes[1]);
    return bytes[1] == 0 ? 0 : 1 + number % bytes[1];
}

static unsigned readable_of(uint32_t number)
{
    return number % 3;
}

static unsigned writable_of(uint32_t number)
{
    return number % 3 == 0 ? 1 + number % 2 : number / 3 % 3;
}

/* Adds, serves and takes chains, as many at a time as fit. `lives`: the device is begun anew before
 * each chain whose number this divides. */
static void serve(uint64_t accepted, uint32_t lives)
{
    uint32_t added = 0, served = 0, taken = 0;

    begin(accepted);
    while (taken < CHAINS) {
        uint32_t bytes = 0;
        unsigned burst = 1 + added % 5;

        while (burst > 0 && add(added, readable_of(added), writable_of(added))) {
            added++;
            burst--;
        }
        (void)virtqueue_publish(&fixture.queue);
        while (device_queue_take(&queue, &chain)) {
            uint32_t written = check_chain(served, readable_of(served), writable_of(served));

            if (lives != 0 && served % lives == lives - 1 && device_queue_in_flight(&queue) == 1) {
                assert_null(device_queue_start(&queue, &memory, &setup, true));
                lives++;
                continue;
            }
            device_queue_finish(&queue, written);
            served++;
            if (served % 3 != 0) {
                (void)device_queue_publish(&queue);
            }
            if (lives != 0) {
                (void)device_queue_publish(&queue);
            }
        }
        (void)device_queue_publish(&queue);
        assert_null(queue.broken);
        while (fixture_take(&fixture, &bytes) != NULL) {
            unsigned writable = writable_of(taken);

            assert_true(writable == 0 ? bytes == 0 : bytes > 0);
            taken++;
        }
        assert_int_equal(taken, served);
        assert_null(fixture.queue.broken);
    }
    end();
}

static void test_chains(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
        serve(features[i], 0);
    }
}

/* A device that is begun anew takes the chain that its earlier life did not finish, and no other
 * again. */
static void test_lives(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
        serve(features[i], 7);
    }
}

static void test_return(void **state)
{
    (void)state;
    begin(VIRTIO_F_EVENT_IDX);
    assert_true(add(0, 1, 0) && add(1, 1, 0));
    (void)virtqueue_publish(&fixture.queue);
    assert_true(device_queue_take(&queue, &chain));
    assert_true(device_queue_take(&queue, &chain));
    assert_false(device_queue_take(&queue, &chain));
    device_queue_return(&queue);
    assert_int_equal(device_queue_in_flight(&queue), 1);
    assert_true(device_queue_take(&queue, &chain));
    (void)check_chain(1, 1, 0);
    assert_int_equal(device_queue_in_flight(&queue), 2);
    end();
}

/* Either the driver notifies of a chain, or the device sees it when it enables notifications. */
static void test_notifications(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
        begin(features[i]);
        for (uint32_t number = 0; number < 200; number++) {
            bool is_late = number % 2 == 0;

            device_queue_suppress(&queue);
            assert_true(add(number, 1, 0));
            if (is_late) {
                assert_true(device_queue_enable(&queue));
                assert_true(virtqueue_publish(&fixture.queue));
            } else {
                assert_false(virtqueue_publish(&fixture.queue));
                assert_false(device_queue_enable(&queue));
            }
            assert_true(device_queue_take(&queue, &chain));
            device_queue_finish(&queue, 0);
            (void)device_queue_publish(&queue);
            assert_non_null(fixture_take(&fixture, &(uint32_t){0}));
        }
        end();
    }
}

/* The device interrupts if, and only if, the driver has enabled that. */
static void test_interrupts(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
        begin(features[i]);
        for (uint32_t number = 0; number < 200; number++) {
            assert_true(add(number, 1, 0));
            (void)virtqueue_publish(&fixture.queue);
            if (number % 2 == 0) {
                assert_true(virtqueue_enable(&fixture.queue, 0));
            } else {
                virtqueue_suppress(&fixture.queue);
            }
            assert_true(device_queue_take(&queue, &chain));
            assert_false(device_queue_publish(&queue)); /* nothing is finished */
            device_queue_finish(&queue, 0);
            assert_int_equal(device_queue_publish(&queue), number % 2 == 0);
            assert_non_null(fixture_take(&fixture, &(uint32_t){0}));
        }
        end();
    }
}

/* With EVENT_IDX the driver may want to be interrupted in the middle of a batch (2.7.7). */
static void test_interrupt_in_a_batch(void **state)
{
    (void)state;
    for (uint16_t delay = 0; delay < 5; delay++) {
        begin(VIRTIO_F_EVENT_IDX);
        for (uint32_t number = 0; number < 6; number++) {
            assert_true(add(number, 1, 0));
        }
        (void)virtqueue_publish(&fixture.queue);
        assert_true(virtqueue_enable(&fixture.queue, delay));
        for (uint32_t number = 0; number < 6; number++) {
            assert_true(device_queue_take(&queue, &chain));
            device_queue_finish(&queue, 0);
            if (number == 2) {
                assert_int_equal(device_queue_publish(&queue), delay < 3);
            }
        }
        assert_int_equal(device_queue_publish(&queue), delay >= 3);
        end();
    }
}

static void expect_refused(struct device_queue_setup changed, const char *reason)
{
    const char *said = device_queue_start(&queue, &memory, &changed, false);

    assert_non_null(said);
    assert_non_null(strstr(said, reason));
    assert_false(device_queue_take(&queue, &chain));
    assert_false(device_queue_publish(&queue));
    assert_true(device_queue_enable(&queue));
    device_queue_suppress(&queue);
}

static struct device_queue_setup changed(void (*change)(struct device_queue_setup *))
{
    struct device_queue_setup copy = setup;

    change(&copy);
    return copy;
}

static void no_entries(struct device_queue_setup *copy)
{
    copy->size = 0;
}

static void no_power_of_two(struct device_queue_setup *copy)
{
    copy->size = 12;
}

static void too_many_entries(struct device_queue_setup *copy)
{
    copy->size = 2 * DEVICE_QUEUE_SIZE_MAX;
}

static void entries_beyond_memory(struct device_queue_setup *copy)
{
    copy->size = DEVICE_QUEUE_SIZE_MAX;
}

static void descriptors_below_memory(struct device_queue_setup *copy)
{
    copy->descriptors -= 16;
}

static void unaligned_used_ring(struct device_queue_setup *copy)
{
    copy->device_area += 2;
}

static void available_ring_at_the_end(struct device_queue_setup *copy)
{
    copy->driver_area = UINT64_MAX - 1;
}

static void test_refused_setup(void **state)
{
    (void)state;
    begin(0);
    expect_refused(changed(no_entries), "size");
    expect_refused(changed(no_power_of_two), "size");
    expect_refused(changed(too_many_entries), "size");
    expect_refused(changed(entries_beyond_memory), "memory");
    expect_refused(changed(descriptors_below_memory), "memory");
    expect_refused(changed(unaligned_used_ring), "aligned");
    expect_refused(changed(available_ring_at_the_end), "memory");
    regions[0].start += 1; /* another alignment than here */
    setup.descriptors += 1;
    setup.driver_area += 1;
    setup.device_area += 1;
    expect_refused(setup, "aligned");
    end();
}

/* A descriptor as VIRTIO 1.3, 2.7.5 defines it. */
struct raw_descriptor {
    uint64_t address;
    uint32_t bytes;
    uint16_t flags;
    uint16_t next;
};

enum { NEXT = 1, WRITE = 2, INDIRECT = 4 };

static void write_descriptor(void *at, uint64_t address, uint32_t bytes, unsigned flags,
                             uint16_t next)
{
    struct raw_descriptor *descriptor = at;

    virtio_shared_store64(&descriptor->address, address);
    virtio_shared_store32(&descriptor->bytes, bytes);
    virtio_shared_store16(&descriptor->flags, (uint16_t)flags);
    virtio_shared_store16(&descriptor->next, next);
}

static void set_descriptor(unsigned number, uint64_t address, uint32_t bytes, unsigned flags,
                           uint16_t next)
{
    write_descriptor(regions[0].here + sizeof(struct raw_descriptor) * number, address, bytes,
                     flags, next);
}

/* The available ring (2.7.6): flags, index, entries. */
static uint16_t *available(void)
{
    return (uint16_t *)(void *)(regions[0].here + (setup.driver_area - setup.descriptors));
}

static void set_index(uint16_t index)
{
    virtio_shared_store16(&available()[1], index);
}

/* Makes the chain that begins with this descriptor available. */
static void offer(uint16_t head)
{
    uint16_t index = virtio_shared_load16(&available()[1]);

    virtio_shared_store16(&available()[2 + index % SIZE], head);
    set_index((uint16_t)(index + 1));
}

/* The device takes the chains before the last that was offered, which breaks the queue. */
static void expect_broken(const char *reason)
{
    while (device_queue_take(&queue, &chain)) {
    }
    assert_non_null(queue.broken);
    assert_non_null(strstr(queue.broken, reason));
    assert_false(device_queue_take(&queue, &chain));
    assert_null(device_queue_start(&queue, &memory, &setup, false));
    memset(regions[0].here, 0, (size_t)regions[0].bytes);
}

static void test_hostile_index(void **state)
{
    (void)state;
    begin(0);
    set_index(SIZE + 1);
    expect_broken("index");
    set_descriptor(0, regions[1].start, 1, 0, 0);
    offer(0);
    offer(0);
    assert_true(device_queue_take(&queue, &chain));
    assert_true(device_queue_take(&queue, &chain));
    set_index(1); /* behind what was taken */
    expect_broken("index");
    set_index(UINT16_MAX);
    expect_broken("index");
    for (unsigned i = 0; i <= SIZE; i++) { /* more chains than the queue has descriptors */
        set_descriptor(0, regions[1].start, 1, 0, 0);
        offer(0);
        assert_int_equal(device_queue_take(&queue, &chain), i < SIZE);
    }
    expect_broken("index");
    end();
}

static void test_hostile_chain(void **state)
{
    uint64_t buffer;

    (void)state;
    begin(0);
    buffer = regions[1].start;
    offer(SIZE);
    expect_broken("beyond its table");
    set_descriptor(3, buffer, 8, NEXT, SIZE);
    offer(3);
    expect_broken("beyond its table");
    set_descriptor(3, buffer, 8, NEXT, 3);
    offer(3);
    expect_broken("longer than the queue");
    set_descriptor(0, buffer, 8, WRITE | NEXT, 1);
    set_descriptor(1, buffer, 8, 0, 0);
    offer(0);
    expect_broken("readable descriptor behind a writable one");
    set_descriptor(0, buffer + sizeof(fixture.memory) - 7, 8, 0, 0);
    offer(0);
    expect_broken("outside of the memory");
    set_descriptor(0, buffer - 1, 8, 0, 0);
    offer(0);
    expect_broken("outside of the memory");
    set_descriptor(0, UINT64_MAX - 3, 8, 0, 0);
    offer(0);
    expect_broken("outside of the memory");
    set_descriptor(0, buffer, 8, INDIRECT, 0);
    offer(0);
    expect_broken("not allowed");
    set_descriptor(0, buffer, 0, 0, 0); /* no bytes */
    offer(0);
    assert_true(device_queue_take(&queue, &chain));
    assert_int_equal(chain.readable + chain.writable, 0);
    end();
}

static void offer_table(uint64_t address, uint32_t bytes, unsigned flags)
{
    set_descriptor(0, address, bytes, INDIRECT | flags, 0);
    offer(0);
}

static void test_hostile_table(void **state)
{
    uint8_t *table = fixture.memory[0];
    uint64_t at;

    (void)state;
    begin(VIRTIO_F_INDIRECT_DESC);
    at = regions[1].start;
    offer_table(at, 0, 0);
    expect_broken("size");
    offer_table(at, 24, 0);
    expect_broken("size");
    offer_table(at, 16 * (SIZE + 1), 0);
    expect_broken("size");
    offer_table(at + 1, 16, 0);
    expect_broken("aligned");
    offer_table(at + sizeof(fixture.memory) - 16, 32, 0);
    expect_broken("outside of the memory");
    offer_table(at, 16, NEXT);
    expect_broken("next one");
    write_descriptor(table, at, 16, INDIRECT, 0);
    offer_table(at, 16, 0);
    expect_broken("not allowed"); /* in another one */
    write_descriptor(table, at, 16, NEXT, 1);
    offer_table(at, 16, 0);
    expect_broken("beyond its table");
    write_descriptor(table, at + 64, 16, 0, 0);
    offer_table(at, 16, WRITE); /* 2.7.5.3.2: the flag is ignored there */
    assert_true(device_queue_take(&queue, &chain));
    assert_int_equal(chain.readable, 1);
    assert_ptr_equal(chain.segments[0].memory, fixture.memory[1]);
    end();
}

static void test_too_many_bytes(void **state)
{
    static const struct device_memory_region everything = {.start = 0, .bytes = UINT64_MAX};
    static const struct device_memory all = {.regions = &everything, .count = 1};

    (void)state;
    assert_null(device_memory_at(&all, UINT64_MAX, 1));
    begin(0);
    regions[1].bytes = UINT64_C(1) << 40; /* claimed, and not accessed */
    set_descriptor(0, regions[1].start, UINT32_MAX, NEXT, 1);
    set_descriptor(1, regions[1].start, 1, 0, 0);
    offer(0);
    expect_broken("too many bytes");
    end();
}

static uint32_t drawn(void)
{
    static uint64_t seed = 1;

    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33);
}

/* A word with which a hostile driver gets further than with any other. */
static uint64_t likely(void)
{
    return drawn() % 8 == 0 ? drawn() : regions[drawn() % 2].start + drawn() % 512 / 16 * 16;
}

/* Whatever the driver writes, each segment is in the memory that the device may access, and each
 * call ends. AddressSanitizer sees any other access. */
static void test_random_driver(void **state)
{
    uint32_t taken = 0;

    (void)state;
    begin(VIRTIO_F_INDIRECT_DESC | VIRTIO_F_EVENT_IDX);
    for (unsigned round = 0; round < 200000; round++) {
        set_descriptor(drawn() % SIZE, likely(), drawn() % 3 == 0 ? 16 : drawn() % 300, drawn() % 8,
                       (uint16_t)(drawn() % (SIZE + 1)));
        memcpy(fixture.memory[drawn() % 8],
               regions[0].here + sizeof(struct raw_descriptor) * (drawn() % SIZE),
               sizeof(struct raw_descriptor));
        offer((uint16_t)(drawn() % (SIZE + drawn() % 2)));
        if (device_queue_take(&queue, &chain)) {
            taken++;
            for (unsigned i = 0; i < chain.readable + chain.writable; i++) {
                struct device_segment *segment = &chain.segments[i];
                const uint8_t *start = regions[1].here;

                assert_true(segment->bytes > 0);
                if (segment->memory >= start && segment->memory < start + regions[1].bytes) {
                    assert_true(segment->bytes <=
                                regions[1].bytes - (uint64_t)(segment->memory - start));
                }
                (void)*(volatile uint8_t *)&segment->memory[segment->bytes - 1];
            }
            device_queue_finish(&queue, drawn());
            (void)device_queue_publish(&queue);
        } else if (queue.broken != NULL) {
            set_index(0);
            assert_null(device_queue_start(&queue, &memory, &setup, false));
        }
    }
    assert_true(taken > 1000);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chains),         cmocka_unit_test(test_lives),
        cmocka_unit_test(test_return),         cmocka_unit_test(test_notifications),
        cmocka_unit_test(test_interrupts),     cmocka_unit_test(test_interrupt_in_a_batch),
        cmocka_unit_test(test_refused_setup),  cmocka_unit_test(test_hostile_index),
        cmocka_unit_test(test_hostile_chain),  cmocka_unit_test(test_hostile_table),
        cmocka_unit_test(test_too_many_bytes), cmocka_unit_test(test_random_driver),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
