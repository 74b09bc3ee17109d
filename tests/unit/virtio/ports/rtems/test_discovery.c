/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests how the port to RTEMS connects a device to its interrupt line, which it may share. */
#include "discovery.h"
#include "hardware_models/rtems/interrupt_line.h"
#include "machine.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <string.h>

#define VECTOR     48u
#define UNMAPPABLE 0x5000u /* an address that a pointer of the program cannot have */
#define POOL_BYTES 0x40000u

static const struct virtio_rtems_board board = {
    .mmio = {{.address = 0x1000, .bytes = 0x200, .count = 1, .first_vector = VECTOR}},
};
static struct virtio_network_device device;
static struct virtio_net *const net = (struct virtio_net *)&device;

static bool storm; /* the driver finds that the device does not stop */
static bool
    bottom_half_ran; /* on another processor, after the driver's interrupt handler returned */
static unsigned interrupts;
static unsigned locks_held;
/* Another processor disconnects the driver while the driver handles an interrupt on this one. */
static bool disconnects;
static bool waits; /* the other processor, for the interrupt handler */
static jmp_buf interrupted;
static bool can_be_edge_triggered; /* the interrupts of this processor */
static bool edge_triggered;        /* VECTOR */
static unsigned unmapped;          /* devices that were reported */

virtio_lock_state virtio_platform_lock(void)
{
    assert_int_equal(locks_held, 0);
    locks_held++;
    return 0;
}

void virtio_platform_unlock(virtio_lock_state state)
{
    (void)state;
    assert_int_equal(locks_held, 1);
    locks_held--;
}

/* Leaves the other processor waiting, and continues the interrupt handler. */
void virtio_platform_pause(void)
{
    assert_int_equal(locks_held, 0);
    assert_true(disconnects);
    waits = true;
    longjmp(interrupted, 1);
}

bool virtio_net_interrupt(struct virtio_net *which)
{
    assert_ptr_equal(which, net);
    interrupts++;
    if (disconnects && setjmp(interrupted) == 0) {
        (void)virtio_network_connect(&device, NULL);
    }
    return storm;
}

bool virtio_net_mask_requested(const struct virtio_net *which)
{
    assert_ptr_equal(which, net);
    assert_int_equal(locks_held, 1);
    return storm && !bottom_half_ran;
}

void virtio_pool_init(struct virtio_pool *pool, void *memory, size_t bytes)
{
    *pool = (struct virtio_pool){.memory = memory, .bytes = bytes};
}

bool virtio_mmio_probe(struct virtio_mmio *mmio, virtio_register registers, size_t bytes,
                       const char **reason)
{
    (void)registers;
    (void)bytes;
    *reason = NULL;
    mmio->transport = (struct virtio_transport){.device_type = VIRTIO_DEVICE_NETWORK};
    return true;
}

bool virtio_pci_probe(struct virtio_pci *pci, struct virtio_pci_function *function,
                      uint16_t vectors, const char **reason)
{
    (void)pci;
    (void)function;
    (void)vectors;
    *reason = NULL;
    return false;
}

uintptr_t machine_map_registers(uint64_t physical, size_t bytes)
{
    (void)bytes;
    return physical == UNMAPPABLE ? 0 : (uintptr_t)physical;
}

void *machine_map_memory(uint64_t physical, size_t bytes)
{
    assert_int_equal(bytes, POOL_BYTES);
    return physical == UNMAPPABLE ? NULL : (void *)(uintptr_t)physical;
}

bool machine_set_edge_triggered(rtems_vector_number vector)
{
    assert_int_equal(vector, VECTOR);
    assert_false(interrupt_line.enabled);
    edge_triggered = can_be_edge_triggered;
    return can_be_edge_triggered;
}

void virtio_platform_log(const char *format, ...)
{
    assert_non_null(strstr(format, " cannot be mapped"));
    unmapped++;
}

static int find(void **state)
{
    (void)state;
    interrupt_line_reset(VECTOR);
    storm = false;
    bottom_half_ran = false;
    locks_held = 0;
    interrupts = 0;
    disconnects = false;
    waits = false;
    can_be_edge_triggered = true;
    edge_triggered = false;
    unmapped = 0;
    assert_true(virtio_find_network(&board, 0, &device));
    return 0;
}

static void calls_the_connected_driver(void **state)
{
    (void)state;
    assert_true(virtio_network_connect(&device, net));
    interrupt_line_raise();
    assert_int_equal(interrupts, 1);
    assert_true(virtio_network_connect(&device, NULL));
    assert_int_equal(interrupt_line.count, 0);
    interrupt_line_raise();
    assert_int_equal(interrupts, 1);
}

/* Otherwise the caller frees the driver while the interrupt handler uses it. */
static void waits_for_the_handler_on_another_processor(void **state)
{
    (void)state;
    interrupt_line_share();
    assert_true(virtio_network_connect(&device, net));
    storm = true;
    disconnects = true;
    interrupt_line_raise();
    assert_int_equal(interrupts, 1);
    assert_true(waits);
    assert_false(interrupt_line.enabled);
    disconnects = false;
    assert_true(virtio_network_connect(&device, NULL)); /* no handler runs any more */
    assert_true(interrupt_line.enabled);                /* it is the other device's, too */
}

static void masks_a_line_that_stays_high(void **state)
{
    (void)state;
    assert_true(virtio_network_connect(&device, net));
    storm = true;
    interrupt_line_raise();
    assert_false(interrupt_line.enabled);
    virtio_network_rearm(&device);
    assert_true(interrupt_line.enabled);
}

/* The line must stay enabled, because no later bottom half would enable it. */
static void does_not_mask_after_the_bottom_half_ran(void **state)
{
    (void)state;
    assert_true(virtio_network_connect(&device, net));
    storm = true;
    bottom_half_ran = true;
    interrupt_line_raise();
    assert_true(interrupt_line.enabled);
}

static void leaves_an_unhandled_line_masked(void **state)
{
    (void)state;
    assert_true(virtio_network_connect(&device, net));
    storm = true;
    interrupt_line_raise();
    assert_true(virtio_network_connect(&device, NULL));
    assert_false(interrupt_line.enabled);
    storm = false;
    assert_true(virtio_network_connect(&device, net));
    assert_true(interrupt_line.enabled);
    interrupt_line_raise();
    assert_int_equal(interrupts, 2);
}

static void gives_the_line_back_to_others(void **state)
{
    (void)state;
    interrupt_line_share();
    assert_true(virtio_network_connect(&device, net));
    storm = true;
    interrupt_line_raise();
    assert_false(interrupt_line.enabled);
    assert_true(virtio_network_connect(&device, NULL));
    assert_true(interrupt_line.enabled);
    assert_int_equal(interrupt_line.count, 1);
}

static void reports_a_failed_connection(void **state)
{
    (void)state;
    interrupt_line.refuses = true;
    assert_false(virtio_network_connect(&device, net));
    assert_null(device.net);
}

/* As a partition's devices of other partitions are. The second connection is a restart's. */
static void sets_the_trigger_before_the_interrupt_is_enabled(void **state)
{
    struct virtio_rtems_board edge = board;

    (void)state;
    assert_true(virtio_network_connect(&device, net));
    assert_false(edge_triggered);
    assert_true(virtio_network_connect(&device, NULL));
    edge.mmio[0].is_edge_triggered = true;
    assert_true(virtio_find_network(&edge, 0, &device));
    for (unsigned i = 0; i < 2; i++) {
        edge_triggered = false;
        assert_true(virtio_network_connect(&device, net));
        assert_true(edge_triggered);
        interrupt_line_raise();
        assert_int_equal(interrupts, i + 1);
    }
    can_be_edge_triggered = false;
    assert_false(virtio_network_connect(&device, net));
    assert_null(device.net);
    assert_int_equal(interrupt_line.count, 0);
}

/* The windows of a partition are anywhere. */
static void finds_devices_in_each_group_of_windows(void **state)
{
    const struct virtio_rtems_board groups = {
        .mmio = {{.address = 0x1000, .bytes = 0x200, .count = 1, .first_vector = 40},
                 {.address = UNMAPPABLE, .bytes = 0x1000, .count = 1, .first_vector = 41},
                 {.address = 0x9000, .bytes = 0x1000, .count = 1, .first_vector = VECTOR}},
    };

    (void)state;
    assert_true(virtio_find_network(&groups, 1, &device));
    assert_int_equal(device.registers, 0x9000);
    assert_int_equal(device.register_bytes, 0x1000);
    assert_int_equal(device.vector, VECTOR);
    assert_int_equal(unmapped, 1);
    assert_false(virtio_find_network(&groups, 2, &device));
}

/* The device could not access other memory. A restart probes it again. */
static void gives_a_device_its_pool(void **state)
{
    const struct virtio_rtems_board pools = {
        .mmio = {{.address = 0x1000,
                  .bytes = 0x200,
                  .count = 1,
                  .first_vector = 40,
                  .pool = UNMAPPABLE,
                  .pool_bytes = POOL_BYTES},
                 {.address = 0x3000, .bytes = 0x1000, .count = 1, .first_vector = 41},
                 {.address = 0x9000,
                  .bytes = 0x1000,
                  .count = 1,
                  .first_vector = VECTOR,
                  .pool = 0x80000,
                  .pool_bytes = POOL_BYTES}},
    };
    const char *reason;

    (void)state;
    assert_true(virtio_find_network(&pools, 0, &device));
    assert_int_equal(device.registers, 0x3000);
    assert_null(device.transport->pool);
    assert_int_equal(unmapped, 1);
    assert_true(virtio_find_network(&pools, 1, &device));
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(device.registers, 0x9000);
        assert_ptr_equal(device.transport->pool, &device.pool);
        assert_int_equal((uintptr_t)device.pool.memory, 0x80000);
        assert_int_equal(device.pool.bytes, POOL_BYTES);
        assert_true(virtio_network_probe(&device, &reason));
    }
    assert_true(virtio_find_network(&board, 0, &device));
    assert_null(device.transport->pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(calls_the_connected_driver, find),
        cmocka_unit_test_setup(waits_for_the_handler_on_another_processor, find),
        cmocka_unit_test_setup(masks_a_line_that_stays_high, find),
        cmocka_unit_test_setup(does_not_mask_after_the_bottom_half_ran, find),
        cmocka_unit_test_setup(leaves_an_unhandled_line_masked, find),
        cmocka_unit_test_setup(gives_the_line_back_to_others, find),
        cmocka_unit_test_setup(reports_a_failed_connection, find),
        cmocka_unit_test_setup(sets_the_trigger_before_the_interrupt_is_enabled, find),
        cmocka_unit_test_setup(finds_devices_in_each_group_of_windows, find),
        cmocka_unit_test_setup(gives_a_device_its_pool, find),
    };

    return cmocka_run_group_tests_name("rtems_discovery", tests, NULL, NULL);
}
