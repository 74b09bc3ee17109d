/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registers of a shared device: by single accesses, by this repository's MMIO transport as the
 * driver, and by a driver that accesses any register with any value.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shared_device/registers.h"
#include "virtio/mmio.h"

#include <devices/virtio_mmio_registers.h>
#include <string.h>

#define FEATURES       (VIRTIO_F_VERSION_1 | VIRTIO_F_ACCESS_PLATFORM | VIRTIO_F_IN_ORDER | 1u << 5)
#define REQUIRED       (VIRTIO_F_VERSION_1 | VIRTIO_F_ACCESS_PLATFORM)
#define QUEUES         3u
#define QUEUE_SIZE_MAX 256u
#define CONFIG_BYTES   12u

static const struct shared_device_kind kind = {
    .features = FEATURES,
    .required = REQUIRED,
    .device_id = 1,
    .queue_count = QUEUES,
    .queue_size_max = QUEUE_SIZE_MAX,
    .config_bytes = CONFIG_BYTES,
};
static struct shared_device_registers registers;
static struct shared_device_page page;
static const struct shared_device device = {.kind = &kind, .registers = &registers, .page = &page};
static enum shared_device_effect effect;

static int setup(void **state)
{
    (void)state;
    registers = (struct shared_device_registers){.config = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
    page = (struct shared_device_page){.generation = 0};
    effect = SHARED_DEVICE_NONE;
    return 0;
}

static uint64_t read_bytes(uint64_t offset, uint8_t bytes)
{
    struct access access = {.offset = offset, .bytes = bytes, .value = UINT64_MAX};

    assert_int_equal(shared_device_access(&device, &access, &effect), ACCESS_DONE);
    assert_int_equal(effect, SHARED_DEVICE_NONE);
    return access.value;
}

static uint32_t read_word(uint64_t offset)
{
    return (uint32_t)read_bytes(offset, 4);
}

static enum shared_device_effect write_word(uint64_t offset, uint32_t value)
{
    struct access access = {.offset = offset, .bytes = 4, .value = value, .write = true};

    assert_int_equal(shared_device_access(&device, &access, &effect), ACCESS_DONE);
    return effect;
}

static void expect_refused(uint64_t offset, uint8_t bytes, bool write)
{
    struct access access = {.offset = offset, .bytes = bytes, .value = UINT64_MAX, .write = write};

    assert_int_equal(shared_device_access(&device, &access, &effect), ACCESS_REFUSED);
    assert_int_equal(effect, SHARED_DEVICE_NONE);
    if (!write) {
        assert_true(access.value == 0);
    }
}

static void accept(uint64_t features)
{
    for (uint32_t half = 0; half < 2; half++) {
        write_word(VIRTIO_MMIO_ACCEPTED_SELECT, half);
        write_word(VIRTIO_MMIO_ACCEPTED, (uint32_t)(features >> 32 * half));
    }
}

static uint32_t set_status(uint32_t status)
{
    write_word(VIRTIO_MMIO_STATUS, status);
    return read_word(VIRTIO_MMIO_STATUS);
}

static void negotiate(void)
{
    set_status(VIRTIO_MMIO_STATUS_ACKNOWLEDGE | VIRTIO_MMIO_STATUS_DRIVER);
    accept(FEATURES);
    assert_true((set_status(VIRTIO_MMIO_STATUS_FEATURES_OK) & VIRTIO_MMIO_STATUS_FEATURES_OK) != 0);
}

static void set_up_queue(uint32_t number, uint32_t size)
{
    write_word(VIRTIO_MMIO_QUEUE_SELECT, number);
    write_word(VIRTIO_MMIO_QUEUE_SIZE, size);
    write_word(VIRTIO_MMIO_QUEUE_DESCRIPTORS, 0x1000);
    write_word(VIRTIO_MMIO_QUEUE_DESCRIPTORS + 4, 1);
    write_word(VIRTIO_MMIO_QUEUE_DRIVER_AREA, 0x2000);
    write_word(VIRTIO_MMIO_QUEUE_DEVICE_AREA, 0x3000);
}

static void start(void)
{
    negotiate();
    set_up_queue(1, 16);
    assert_int_equal(write_word(VIRTIO_MMIO_QUEUE_READY, 1), SHARED_DEVICE_RING);
    assert_int_equal(write_word(VIRTIO_MMIO_STATUS, VIRTIO_MMIO_STATUS_DRIVER_OK),
                     SHARED_DEVICE_RING);
}

static void test_identity(void **state)
{
    (void)state;
    assert_int_equal(read_word(VIRTIO_MMIO_MAGIC), 0x74726976);
    assert_int_equal(read_word(VIRTIO_MMIO_VERSION), 2);
    assert_int_equal(read_word(VIRTIO_MMIO_DEVICE_ID), 1);
    assert_int_equal(read_word(VIRTIO_MMIO_FEATURES), (uint32_t)FEATURES);
    write_word(VIRTIO_MMIO_FEATURES_SELECT, 1);
    assert_int_equal(read_word(VIRTIO_MMIO_FEATURES), FEATURES >> 32);
    write_word(VIRTIO_MMIO_FEATURES_SELECT, 2);
    assert_int_equal(read_word(VIRTIO_MMIO_FEATURES), 0);
    assert_int_equal(read_word(VIRTIO_MMIO_SHARED_LENGTH), UINT32_MAX);
    assert_int_equal(read_word(VIRTIO_MMIO_SHARED_LENGTH + 4), UINT32_MAX);
}

static void test_refused_accesses(void **state)
{
    (void)state;
    expect_refused(VIRTIO_MMIO_MAGIC, 2, false);
    expect_refused(VIRTIO_MMIO_MAGIC, 8, false);
    expect_refused(VIRTIO_MMIO_MAGIC, 4, true);
    expect_refused(VIRTIO_MMIO_QUEUE_NOTIFY, 4, false);
    expect_refused(0x018, 4, false);
    expect_refused(0x018, 4, true);
    expect_refused(VIRTIO_MMIO_STATUS, 1, true);
    expect_refused(VIRTIO_MMIO_CONFIG, 4, true);
    expect_refused(VIRTIO_MMIO_CONFIG + CONFIG_BYTES, 1, false);
    expect_refused(VIRTIO_MMIO_CONFIG + CONFIG_BYTES - 4, 8, false);
    expect_refused(0xff8, 8, false);
}

static void test_negotiation(void **state)
{
    (void)state;
    set_status(VIRTIO_MMIO_STATUS_ACKNOWLEDGE | VIRTIO_MMIO_STATUS_DRIVER);
    accept(FEATURES | 1u << 6); /* not offered */
    assert_int_equal(set_status(VIRTIO_MMIO_STATUS_FEATURES_OK),
                     VIRTIO_MMIO_STATUS_ACKNOWLEDGE | VIRTIO_MMIO_STATUS_DRIVER);
    accept(VIRTIO_F_VERSION_1); /* without one that is required */
    assert_false((set_status(VIRTIO_MMIO_STATUS_FEATURES_OK) & VIRTIO_MMIO_STATUS_FEATURES_OK) !=
                 0);
    assert_false((set_status(VIRTIO_MMIO_STATUS_DRIVER_OK) & VIRTIO_MMIO_STATUS_DRIVER_OK) != 0);
    accept(REQUIRED);
    assert_true((set_status(VIRTIO_MMIO_STATUS_FEATURES_OK) & VIRTIO_MMIO_STATUS_FEATURES_OK) != 0);
    accept(FEATURES); /* too late */
    assert_true(page.accepted == REQUIRED);
    /* The driver clears no bit, and sets none of the device's. */
    assert_int_equal(set_status(VIRTIO_MMIO_STATUS_DRIVER | VIRTIO_MMIO_STATUS_NEEDS_RESET | 16),
                     VIRTIO_MMIO_STATUS_ACKNOWLEDGE | VIRTIO_MMIO_STATUS_DRIVER |
                         VIRTIO_MMIO_STATUS_FEATURES_OK);
}

static void test_queue(void **state)
{
    (void)state;
    set_up_queue(1, 16); /* before the negotiation */
    assert_int_equal(page.queues[1].size, 0);
    negotiate();
    set_up_queue(1, 2 * QUEUE_SIZE_MAX);
    assert_int_equal(write_word(VIRTIO_MMIO_QUEUE_READY, 1), SHARED_DEVICE_NONE);
    set_up_queue(1, 24);
    assert_int_equal(write_word(VIRTIO_MMIO_QUEUE_READY, 1), SHARED_DEVICE_NONE);
    assert_int_equal(read_word(VIRTIO_MMIO_QUEUE_READY), 0);
    set_up_queue(1, 16);
    assert_int_equal(write_word(VIRTIO_MMIO_QUEUE_READY, 2), SHARED_DEVICE_NONE);
    assert_int_equal(write_word(VIRTIO_MMIO_QUEUE_READY, 1), SHARED_DEVICE_RING);
    assert_int_equal(read_word(VIRTIO_MMIO_QUEUE_READY), 1);
    assert_true(page.queues[1].descriptors == 0x100001000);
    assert_true(page.queues[1].driver_area == 0x2000 && page.queues[1].device_area == 0x3000);
    set_up_queue(1, 32); /* it does not change while it is ready */
    write_word(VIRTIO_MMIO_QUEUE_DRIVER_AREA, 0x5000);
    assert_int_equal(page.queues[1].size, 16);
    assert_true(page.queues[1].driver_area == 0x2000);
    assert_int_equal(read_word(VIRTIO_MMIO_QUEUE_SIZE_MAX), QUEUE_SIZE_MAX);
    set_up_queue(QUEUES, 16);
    assert_int_equal(write_word(VIRTIO_MMIO_QUEUE_READY, 1), SHARED_DEVICE_NONE);
    assert_int_equal(read_word(VIRTIO_MMIO_QUEUE_SIZE_MAX), 0);
    assert_int_equal(read_word(VIRTIO_MMIO_QUEUE_READY), 0);
    assert_int_equal(page.queues[QUEUES].size, 0);
}

static void test_stopped_queue(void **state)
{
    (void)state;
    start();
    write_word(VIRTIO_MMIO_QUEUE_SELECT, 1);
    assert_int_equal(write_word(VIRTIO_MMIO_QUEUE_READY, 0), SHARED_DEVICE_STOP);
    assert_int_equal(page.queues[1].generation, 1);
    assert_int_equal(page.generation, 1);
    /* The same access once more, as the driver's instruction is repeated while it waits. */
    assert_int_equal(write_word(VIRTIO_MMIO_QUEUE_READY, 0), SHARED_DEVICE_WAIT);
    assert_int_equal(page.queues[1].generation, 1);
    assert_int_equal(page.generation, 1);
    write_word(VIRTIO_MMIO_QUEUE_SELECT, QUEUES);
    assert_int_equal(write_word(VIRTIO_MMIO_QUEUE_READY, 0), SHARED_DEVICE_NONE);
    write_word(VIRTIO_MMIO_QUEUE_SELECT, 1);
    assert_int_equal(write_word(VIRTIO_MMIO_QUEUE_READY, 1), SHARED_DEVICE_RING);
}

static void test_reset(void **state)
{
    (void)state;
    start();
    assert_true(shared_device_interrupt(&device, VIRTIO_MMIO_INTERRUPT_USED));
    assert_int_equal(write_word(VIRTIO_MMIO_STATUS, 0), SHARED_DEVICE_STOP);
    assert_int_equal(read_word(VIRTIO_MMIO_STATUS), 0);
    assert_int_equal(read_word(VIRTIO_MMIO_INTERRUPT_STATUS), 0);
    assert_int_equal(page.generation, 1);
    assert_int_equal(page.queues[1].generation, 1);
    assert_int_equal(page.queues[0].generation, 0);
    assert_int_equal(page.queues[1].ready + page.queues[1].size, 0);
    assert_true(page.accepted == 0 && page.queues[1].descriptors == 0);
    assert_int_equal(read_word(VIRTIO_MMIO_CONFIG), 0x04030201); /* it stays */
    /* The same access once more resets what the driver may have written meanwhile. */
    accept(FEATURES);
    assert_int_equal(write_word(VIRTIO_MMIO_STATUS, 0), SHARED_DEVICE_WAIT);
    assert_int_equal(page.generation, 1);
    assert_true(page.accepted == 0);
    start();
}

static void test_interrupts(void **state)
{
    (void)state;
    negotiate();
    assert_false(
        shared_device_interrupt(&device, VIRTIO_MMIO_INTERRUPT_USED)); /* before DRIVER_OK */
    assert_int_equal(write_word(VIRTIO_MMIO_QUEUE_NOTIFY, 0), SHARED_DEVICE_NONE);
    set_status(VIRTIO_MMIO_STATUS_DRIVER_OK);
    assert_int_equal(write_word(VIRTIO_MMIO_QUEUE_NOTIFY, 0), SHARED_DEVICE_RING);
    assert_false(shared_device_interrupt(&device, 4));
    assert_true(shared_device_interrupt(&device, VIRTIO_MMIO_INTERRUPT_USED));
    assert_true(shared_device_interrupt(&device, VIRTIO_MMIO_INTERRUPT_CONFIG));
    assert_int_equal(read_word(VIRTIO_MMIO_INTERRUPT_STATUS), 3);
    write_word(VIRTIO_MMIO_INTERRUPT_ACK, VIRTIO_MMIO_INTERRUPT_USED);
    assert_int_equal(read_word(VIRTIO_MMIO_INTERRUPT_STATUS), VIRTIO_MMIO_INTERRUPT_CONFIG);
    assert_true(shared_device_fail(&device));
    assert_true((read_word(VIRTIO_MMIO_STATUS) & VIRTIO_MMIO_STATUS_NEEDS_RESET) != 0);
    write_word(VIRTIO_MMIO_STATUS, 0);
    assert_false(shared_device_fail(&device));
    assert_int_equal(read_word(VIRTIO_MMIO_STATUS), 0);
}

static void test_configuration(void **state)
{
    const uint8_t link[] = {9, 9, 9};

    (void)state;
    assert_int_equal(read_bytes(VIRTIO_MMIO_CONFIG + 3, 1), 4);
    assert_int_equal(read_bytes(VIRTIO_MMIO_CONFIG + 6, 2), 0x0807);
    assert_true(read_bytes(VIRTIO_MMIO_CONFIG, 8) == 0x0807060504030201);
    assert_false(shared_device_configure(&device, 6, link, 2)); /* before DRIVER_OK */
    assert_int_equal(read_bytes(VIRTIO_MMIO_CONFIG + 6, 2), 0x0909);
    assert_int_equal(read_word(VIRTIO_MMIO_CONFIG_GENERATION), 1);
    start();
    assert_false(shared_device_configure(&device, 6, link, 2)); /* no change */
    assert_int_equal(read_word(VIRTIO_MMIO_CONFIG_GENERATION), 1);
    assert_true(shared_device_configure(&device, CONFIG_BYTES - 2, link, 3));
    assert_false(shared_device_configure(&device, UINT32_MAX, link, 3));
    assert_int_equal(registers.config[CONFIG_BYTES], 0);
    assert_int_equal(read_word(VIRTIO_MMIO_INTERRUPT_STATUS), VIRTIO_MMIO_INTERRUPT_CONFIG);
}

/* The library's platform: registers at address 0. */
uint32_t virtio_platform_read(virtio_register reg, unsigned bytes)
{
    return (uint32_t)read_bytes(reg, (uint8_t)bytes);
}

void virtio_platform_write(virtio_register reg, unsigned bytes, uint32_t value)
{
    struct access access = {.offset = reg, .bytes = (uint8_t)bytes, .value = value, .write = true};

    assert_int_equal(shared_device_access(&device, &access, &effect), ACCESS_DONE);
}

void virtio_platform_pause(void)
{
}

uint64_t virtio_platform_now(void)
{
    return 0;
}

static void test_transport(void **state)
{
    static struct virtio_mmio mmio;
    const struct virtio_queue_setup queue = {.index = 2,
                                             .size = 64,
                                             .vector = VIRTIO_NO_VECTOR,
                                             .descriptors = UINT64_C(0x123456000),
                                             .driver_area = UINT64_C(0x123457000),
                                             .device_area = UINT64_C(0x123458000)};
    struct virtio_transport *transport = &mmio.transport;
    struct virtio_notification notification;
    const char *reason = NULL;
    uint64_t features = 0;

    (void)state;
    assert_true(virtio_mmio_probe(&mmio, 0, 0x1000, &reason));
    assert_true(virtio_transport_begin(transport, &reason));
    assert_true(virtio_transport_negotiate(transport, UINT64_MAX, &features, &reason));
    assert_true(features == FEATURES);
    assert_true(page.accepted == FEATURES);
    assert_true(transport->operations->queue_enable(transport, &queue, &notification, &reason));
    assert_true(page.queues[2].descriptors == queue.descriptors &&
                page.queues[2].device_area == queue.device_area);
    assert_int_equal(page.queues[2].ready, 1);
    virtio_transport_add_status(transport, VIRTIO_MMIO_STATUS_DRIVER_OK);
    transport->operations->notify(transport, &notification);
    assert_int_equal(effect, SHARED_DEVICE_RING);
    assert_true(shared_device_interrupt(&device, VIRTIO_MMIO_INTERRUPT_USED));
    assert_int_equal(transport->operations->interrupt_cause(transport), VIRTIO_CAUSE_QUEUE);
    assert_int_equal(registers.interrupt_status, 0);
    assert_true(virtio_transport_reset(transport));
    assert_int_equal(page.queues[2].ready, 0);
}

static uint32_t drawn(void)
{
    static uint64_t seed = 1;

    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33);
}

/* Checks all that the back-end relies on, against the page before the access. */
static void check_page(const struct shared_device_page *before)
{
    bool has_stopped = false;

    for (uint32_t i = 0; i < SHARED_DEVICE_QUEUES; i++) {
        const struct shared_device_queue *queue = &page.queues[i], *old = &before->queues[i];

        if (queue->ready != 0) {
            assert_true(i < QUEUES);
            assert_true(queue->size != 0 && queue->size <= QUEUE_SIZE_MAX);
            assert_int_equal(queue->size & (queue->size - 1), 0);
            assert_true((page.status & VIRTIO_MMIO_STATUS_FEATURES_OK) != 0);
            if (old->ready != 0) {
                assert_memory_equal(queue, old, sizeof(*queue));
            }
        } else if (old->ready != 0) {
            assert_int_equal(queue->generation, old->generation + 1);
            has_stopped = true;
        }
    }
    if (has_stopped) {
        assert_int_equal(effect, SHARED_DEVICE_STOP);
    }
    assert_true((effect == SHARED_DEVICE_STOP) == (page.generation != before->generation));
    if ((page.status & VIRTIO_MMIO_STATUS_FEATURES_OK) != 0) {
        assert_true((page.accepted & ~FEATURES) == 0 && (page.accepted & REQUIRED) == REQUIRED);
    } else {
        assert_false((page.status & VIRTIO_MMIO_STATUS_DRIVER_OK) != 0);
    }
}

static void test_random_driver(void **state)
{
    static const uint32_t likely[] = {
        0, 1, 2, 4, 8, 16, 64, 256, 15, (uint32_t)FEATURES, (uint32_t)(FEATURES >> 32)};
    uint32_t ready = 0;

    (void)state;
    for (unsigned i = 0; i < 400000; i++) {
        struct shared_device_page before;
        struct access access = {
            .offset = drawn() % 8 == 0 ? drawn() % 0x1000 / 8 * 8 : drawn() % 64 * 4,
            .bytes = (uint8_t)(drawn() % 16 == 0 ? 1u << drawn() % 4 : 4),
            .value = drawn() % 4 == 0 ? drawn() : likely[drawn() % 11],
            .write = drawn() % 4 != 0,
        };

        if (access.offset == VIRTIO_MMIO_STATUS && access.value == 0 && drawn() % 16 != 0) {
            access.value = 15;
        }
        if (i % 64 == 0) { /* otherwise it seldom gets so far */
            accept(FEATURES);
            write_word(VIRTIO_MMIO_QUEUE_SELECT, drawn() % (QUEUES + 1));
        }
        before = page;
        (void)shared_device_access(&device, &access, &effect);
        check_page(&before);
        ready += page.queues[0].ready;
    }
    assert_true(ready > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_identity, setup),
        cmocka_unit_test_setup(test_refused_accesses, setup),
        cmocka_unit_test_setup(test_negotiation, setup),
        cmocka_unit_test_setup(test_queue, setup),
        cmocka_unit_test_setup(test_stopped_queue, setup),
        cmocka_unit_test_setup(test_reset, setup),
        cmocka_unit_test_setup(test_interrupts, setup),
        cmocka_unit_test_setup(test_configuration, setup),
        cmocka_unit_test_setup(test_transport, setup),
        cmocka_unit_test_setup(test_random_driver, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
