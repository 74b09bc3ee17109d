/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The RTEMS port's masking of a line that does not stop (virtio/ports/rtems/discovery.c), with the
 * bottom half on the same processor and on another one, and one other device on the line. RTEMS's
 * interrupt manager is the model's.
 */
#include "discovery.h"
#include "fake.h"
#include "hardware_models/rtems/interrupt_line.h"
#include "machine.h"
#include "virtio/net.h"
#include <stdlib.h>

#define VECTOR          40u
#define INTERRUPTS_MAX  16u /* virtio/net/interrupt.c */
#define STORMS_MAX      8u
#define REGISTERS_BYTES 0x200u

static struct fake_device model;
static struct virtio_network_device device;
static struct virtio_net *net;
static bool other_processor; /* it runs the bottom half as soon as that is signalled */
static bool signalled;

uintptr_t machine_map_registers(uint64_t physical, size_t bytes)
{
    assert_int_equal(bytes, REGISTERS_BYTES);
    return (uintptr_t)physical;
}

void *machine_map_memory(uint64_t physical, size_t bytes)
{
    fail_msg("no device has a pool: %llx, %zx", (unsigned long long)physical, bytes);
    return NULL;
}

bool machine_set_edge_triggered(rtems_vector_number vector)
{
    fail_msg("vector %u is level-triggered", vector);
    return false;
}

/* Acts like the ports' bottom halves. */
static void bottom_half(void)
{
    signalled = false;
    while (virtio_net_bottom_half(net)) {
    }
    virtio_network_rearm(&device);
}

static struct virtio_net_buffer *receive_buffer(void *context)
{
    struct virtio_net_buffer *buffer = calloc(1, sizeof(*buffer));

    (void)context;
    buffer->memory = calloc(1, VIRTIO_NET_RECEIVE_BYTES);
    buffer->capacity = VIRTIO_NET_RECEIVE_BYTES;
    return buffer;
}

static void return_buffer(void *context, struct virtio_net_buffer *buffer)
{
    (void)context;
    free(buffer->memory);
    free(buffer);
}

static void signal_bottom_half(void *context)
{
    (void)context;
    signalled = true;
    if (other_processor) {
        bottom_half();
    }
}

static void start(void)
{
    static const struct virtio_net_operations operations = {
        .receive_buffer = receive_buffer,
        .return_buffer = return_buffer,
        .signal = signal_bottom_half,
    };
    static const struct virtio_net_parameters parameters = {0};
    const struct virtio_rtems_board board = {
        .mmio = {{FAKE_MMIO_BASE, REGISTERS_BYTES, 1, VECTOR, false, 0, 0}},
    };
    const char *reason = NULL;

    fake_reset_device(&model, FAKE_MMIO, 0);
    other_processor = false;
    interrupt_line_reset(VECTOR);
    interrupt_line_share();
    assert_true(virtio_find_network(&board, 0, &device));
    net = virtio_net_create(device.transport, &parameters, &operations, NULL, &reason);
    assert_non_null(net);
    assert_true(virtio_network_connect(&device, net));
    bottom_half();
}

static void finish(void)
{
    other_processor = false;
    model.line_stuck = false;
    assert_true(virtio_network_connect(&device, NULL));
    assert_true(interrupt_line.enabled); /* it is the other device's, too */
    assert_true(virtio_net_stop(net));
    virtio_net_free(net);
    assert_int_equal(fake_allocations, 0);
}

/* The device does not lower its line, whatever the driver acknowledges. */
static void storm(void)
{
    model.line_stuck = true;
    model.isr = VIRTIO_CAUSE_QUEUE;
    for (unsigned i = 0; i < INTERRUPTS_MAX; i++) {
        assert_true(interrupt_line.enabled);
        interrupt_line_raise();
    }
}

static void masked_until_the_bottom_half_has_run(void **state)
{
    (void)state;
    start();
    for (unsigned round = 1; round < STORMS_MAX; round++) {
        storm();
        assert_false(interrupt_line.enabled);
        assert_true(signalled);
        bottom_half();
        assert_true(interrupt_line.enabled);
    }
    finish();
}

/* The bottom half runs before the handler can mask the line. Then the line must not stay masked,
 * because no later bottom half would unmask it. */
static void bottom_half_on_another_processor(void **state)
{
    (void)state;
    start();
    other_processor = true;
    for (unsigned round = 1; round < STORMS_MAX; round++) {
        storm();
        assert_true(interrupt_line.enabled);
    }
    assert_null(virtio_net_broken(net));
    finish();
}

/* The driver is disconnected while the line is masked: it is unmasked for the other devices. */
static void disconnected_while_masked(void **state)
{
    (void)state;
    start();
    storm();
    assert_false(interrupt_line.enabled);
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masked_until_the_bottom_half_has_run),
        cmocka_unit_test(bottom_half_on_another_processor),
        cmocka_unit_test(disconnected_while_masked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
