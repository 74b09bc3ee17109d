/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client whose driver writes anything to its rings, its requests and its page, beside two that
 * work. The back-end accesses no memory but the client's, the disk's other ranges stay as they are,
 * and the others are served.
 */
#include "storage_fixture.h"

#include <stdlib.h>
#include <string.h>

#define FEATURES (DEVICE_BLOCK_FEATURES & ~VIRTIO_BLK_F_RO)
#define HOSTILE  0u
#define ROUNDS   60000u
#define SIZE     4096u /* bytes of the client's memory, exactly as large as described */
#define BASE     UINT64_C(0x10000)

static uint64_t seed;
static uint8_t *memory;
static struct device_memory_region region;

static void describe_memory(void)
{
    memory = aligned_alloc(16, SIZE);
    assert_non_null(memory);
    memset(memory, 0, SIZE);
    region = (struct device_memory_region){.start = BASE, .bytes = SIZE, .here = memory};
    fixture.setups[HOSTILE].memory = (struct device_memory){.regions = &region, .count = 1};
}

static void write_word(unsigned offset, uint32_t value)
{
    memcpy(memory + offset, &value, sizeof(value));
}

/* Descriptors at 0, the available ring at 0x200, the used ring at 0x300, requests behind. Mostly
 * plausible. */
static void write_anything(void)
{
    for (unsigned i = 0; i < 16; i++) {
        bool is_header = i % 3 == 0;
        uint32_t address = 0x400 + (uint32_t)random_below(&seed, 6) * 448;

        write_word(16 * i, (uint32_t)BASE + (random_below(&seed, 400) == 0 ? SIZE : address));
        write_word(16 * i + 4, random_below(&seed, 400) == 0);
        write_word(16 * i + 8, is_header ? 16 : i % 3 == 1 ? 512 : 1);
        write_word(16 * i + 12,
                   (i % 3 == 2 ? 2u : 1u) | (random_below(&seed, 200) == 0 ? 4u : 0) |
                       (i % 3 == 1 && random_below(&seed, 2) == 0 ? 2u : 0) |
                       (uint32_t)(random_below(&seed, 200) == 0 ? random_below(&seed, 17) : i + 1)
                           << 16);
        memory[0x204 + 2 * i] = (uint8_t)(random_below(&seed, 5) * 3);
        memory[0x205 + 2 * i] = random_below(&seed, 500) == 0;
    }
    for (unsigned i = 0x400; i + 16 <= SIZE; i += 16) {
        write_word(i, (uint32_t)random_below(&seed, 10));
        write_word(i + 8, (uint32_t)random_below(&seed, CLIENT_SECTORS + 3));
        write_word(i + 12, random_below(&seed, 60) == 0);
    }
    memory[0x202] = (uint8_t)(memory[0x202] + random_below(&seed, 3));
}

static void write_page(void)
{
    struct shared_device_page *page = &fixture.drivers[HOSTILE].page;
    struct shared_device_queue *queue = &page->queues[0];

    driver_reset(HOSTILE);
    (void)turn_round(1);
    memset(memory, 0, SIZE);
    queue->descriptors = BASE + random_below(&seed, 10) / 9 * random_below(&seed, SIZE);
    queue->driver_area = BASE + 0x200 + random_below(&seed, 10) / 9 * random_below(&seed, SIZE);
    queue->device_area = BASE + 0x300 + random_below(&seed, 10) / 9 * random_below(&seed, SIZE);
    queue->size = random_below(&seed, 10) == 0 ? (uint32_t)random_below(&seed, 70000) : 16;
    queue->ready = 1;
    page->accepted = random_below(&seed, 10) == 0 ? random_below(&seed, UINT64_MAX) : FEATURES;
    page->status = random_below(&seed, 10) == 0 ? (uint32_t)random_below(&seed, 256) : 12;
}

/* The two others write and read, and get what they wrote. */
static void check_others(unsigned round)
{
    for (unsigned i = 1; i < CLIENTS; i++) {
        struct order *order = driver_order(VIRTIO_BLOCK_TYPE_OUT, round % CLIENT_SECTORS, 1);

        memset(order->data, (int)(round + i), SECTOR);
        assert_true(driver_send(i, order));
        assert_true(driver_send(i, driver_order(VIRTIO_BLOCK_TYPE_FLUSH, 0, 0)));
    }
    settle();
    for (unsigned i = 1; i < CLIENTS; i++) {
        for (unsigned count = 0; count < 2; count++) {
            struct order *order = driver_take(i);

            assert_non_null(order);
            assert_int_equal(order->status, VIRTIO_BLOCK_STATUS_OK);
            if (order->type == VIRTIO_BLOCK_TYPE_OUT) {
                assert_memory_equal(order->data,
                                    fixture.stable[i * CLIENT_SECTORS + round % CLIENT_SECTORS],
                                    SECTOR);
            }
            free(order);
        }
    }
}

static void test_hostile_client(void **state)
{
    const struct device_block_statistics *seen = &fixture.clients[HOSTILE].block.statistics;
    uint64_t served = 0;

    (void)state;
    seed = 1;
    fixture_prepare();
    describe_memory();
    fixture_begin();
    for (unsigned i = 1; i < CLIENTS; i++) {
        driver_start(i, FEATURES);
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        if (fixture.clients[HOSTILE].state != STORAGE_CLIENT_RUNNING ||
            random_below(&seed, 50) == 0) {
            served += seen->reads + seen->writes + seen->flushes;
            write_page();
        }
        write_anything();
        (void)turn_round((unsigned)random_below(&seed, 30));
        while (fixture.count != 0 && random_below(&seed, 12) != 0) {
            disk_execute((unsigned)random_below(&seed, fixture.count));
        }
        if (round % 8 == 0) {
            check_others(round);
        }
    }
    settle();
    assert_true(fixture.drivers[HOSTILE].failures > 1000);
    assert_true(served > 10000);
    assert_int_equal(fixture.drivers[1].failures + fixture.drivers[2].failures, 0);
    fixture_end();
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_client),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
