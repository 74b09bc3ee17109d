/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the entropy device (VIRTIO 1.3, 5.4): the bytes it delivers, and its possible faults. */
#include "fake.h"
#include "virtio/entropy.h"
#include <string.h>

#define BYTES    100u /* takes more than one request */
#define PATIENCE UINT64_C(1000000)

static struct fake_device device;
static struct virtio_mmio mmio;
static struct virtio_pci pci;
static struct virtio_transport *transport;
static uint8_t next;     /* the device delivers consecutive numbers */
static uint32_t at_most; /* maximum bytes per request */
static uint32_t lie;     /* number of bytes that the device reports in addition to those written */
static unsigned requests;
static unsigned unanswered; /* first request without an answer */

static void answer(unsigned index)
{
    struct ring_chain chain;

    assert_int_equal(index, 0);
    while (fake_pop(0, &chain)) {
        uint32_t bytes = chain.segment[0].bytes < at_most ? chain.segment[0].bytes : at_most;

        assert_int_equal(chain.count, 1);
        assert_true(chain.segment[0].writable); /* 5.4.6.1: no readable buffers */
        if (requests++ == unanswered) {
            unanswered++;
            continue;
        }
        for (uint32_t i = 0; i < bytes; i++) {
            fake_memory(&chain.segment[0])[i] = next++;
        }
        fake_complete(0, &chain, bytes + lie);
    }
}

static int set_up(void **state)
{
    (void)state;
    fake_reset_device(&device, FAKE_MMIO, 0);
    device.device_id = VIRTIO_DEVICE_ENTROPY;
    device.on_notify = answer;
    memset(device.queue + 1, 0, sizeof(device.queue) - sizeof(device.queue[0]));
    transport = fake_probe(&mmio, &pci);
    assert_non_null(transport);
    next = 1;
    at_most = UINT32_MAX;
    lie = 0;
    requests = 0;
    unanswered = UINT32_MAX;
    return 0;
}

static bool read_bytes(uint8_t *data, const char **reason)
{
    return virtio_entropy_read(transport, data, BYTES, fake_clock + PATIENCE, reason);
}

static void expect_all(void)
{
    const char *reason = NULL;
    uint8_t data[BYTES + 1] = {0};

    assert_true(read_bytes(data, &reason));
    for (unsigned i = 0; i < BYTES; i++) {
        assert_int_equal(data[i], i + 1);
    }
    assert_int_equal(data[BYTES], 0);
    assert_int_equal(device.status, 0); /* reset */
    assert_int_equal(fake_allocations, 0);
}

static void expect_failure(const char *text)
{
    const char *reason = NULL;
    uint8_t data[BYTES];

    assert_false(read_bytes(data, &reason));
    assert_string_equal(reason, text);
}

static void test_bytes_are_delivered(void **state)
{
    (void)state;
    expect_all();
    assert_int_equal(requests, 2);
    assert_false(fake_raised()); /* the driver has suppressed interrupts (2.7.7) */
}

static void test_fewer_than_asked_for(void **state)
{
    (void)state;
    at_most = 7; /* 5.4.6: the device may write fewer bytes */
    expect_all();
    assert_true(requests > BYTES / 7);
}

static void test_over_pci(void **state)
{
    (void)state;
    fake_reset_device(&device, FAKE_PCI, 0);
    fake_pci_describe(&device, 0x1044);
    device.device_id = VIRTIO_DEVICE_ENTROPY;
    device.on_notify = answer;
    transport = fake_probe(&mmio, &pci);
    assert_non_null(transport);
    assert_int_equal(transport->device_type, VIRTIO_DEVICE_ENTROPY);
    expect_all();
}

static void test_another_device(void **state)
{
    (void)state;
    fake_reset_device(&device, FAKE_MMIO, 0);
    transport = fake_probe(&mmio, &pci);
    expect_failure("not an entropy device");
    assert_int_equal(device.status, 0);
}

static void test_no_bytes_are_delivered(void **state)
{
    (void)state;
    unanswered = 1;
    expect_failure("it delivers nothing in time");
    assert_int_equal(device.status, 0);
    assert_int_equal(fake_allocations, 0);
}

static void test_a_request_without_bytes(void **state)
{
    (void)state;
    at_most = 0; /* 5.4.6.2: the device must write at least one byte */
    expect_failure("it delivers nothing in time");
    assert_int_equal(fake_allocations, 0);
}

static void test_length_beyond_the_buffer(void **state)
{
    const char *reason = NULL;
    uint8_t data[BYTES];

    (void)state;
    lie = 1;
    assert_false(read_bytes(data, &reason));
    assert_non_null(reason);
    assert_int_equal(fake_allocations, 0);
}

static void test_no_queue(void **state)
{
    (void)state;
    device.queue[0].size_max = 0;
    expect_failure("it has no queue");
    assert_int_equal(fake_allocations, 0);
}

/* The device knows no memory of the driver yet. */
static void test_no_reset_at_the_start(void **state)
{
    (void)state;
    device.status = VIRTIO_STATUS_DRIVER_OK;
    device.stuck_in_reset = true;
    expect_failure("the device does not complete a reset");
    assert_int_equal(fake_allocations, 0);
}

static void test_no_memory(void **state)
{
    (void)state;
    for (unsigned left = 0; left < 3; left++) {
        const char *reason = NULL;
        uint8_t data[BYTES];

        fake_allocations_left = left;
        assert_false(read_bytes(data, &reason));
        assert_non_null(reason);
        assert_int_equal(fake_allocations, 0);
    }
    fake_allocations_left = UINT32_MAX;
    expect_all();
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_bytes_are_delivered, set_up),
        cmocka_unit_test_setup(test_fewer_than_asked_for, set_up),
        cmocka_unit_test_setup(test_over_pci, set_up),
        cmocka_unit_test_setup(test_another_device, set_up),
        cmocka_unit_test_setup(test_no_bytes_are_delivered, set_up),
        cmocka_unit_test_setup(test_a_request_without_bytes, set_up),
        cmocka_unit_test_setup(test_length_beyond_the_buffer, set_up),
        cmocka_unit_test_setup(test_no_queue, set_up),
        cmocka_unit_test_setup(test_no_reset_at_the_start, set_up),
        cmocka_unit_test_setup(test_no_memory, set_up),
    };

    fake_choose_ring(count, arguments);
    return cmocka_run_group_tests_name("entropy", tests, NULL, NULL);
}
