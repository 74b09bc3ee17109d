/* SPDX-License-Identifier: BSD-2-Clause */
/* How the port to RTEMS connects a device to its interrupt line, which may be others' as well. */
#include "discovery.h"
#include "machine.h"
#include <rtems/irq-extension.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define VECTOR       48u
#define HANDLERS_MAX 2u

static const struct virtio_rtems_board board = {
    .mmio = {.address = 0x1000, .bytes = 0x200, .count = 1, .first_vector = VECTOR},
};
static struct virtio_network_device device;
static struct virtio_net *const net = (struct virtio_net *)&device;

/* The line, as RTEMS has it. */
static struct {
    struct {
        rtems_interrupt_handler call;
        void *argument;
    } handler[HANDLERS_MAX];
    unsigned count;
    bool enabled;
    bool refuses; /* more handlers */
} line;

static bool storm; /* the driver finds that the device does not stop */
static bool
    bottom_half_ran; /* on another processor, after the driver's interrupt handler returned */
static unsigned interrupts;
static unsigned locks_held;

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

rtems_status_code rtems_interrupt_handler_install(rtems_vector_number vector,
                                                  const char *information, rtems_option options,
                                                  rtems_interrupt_handler handler, void *argument)
{
    (void)information;
    assert_int_equal(vector, VECTOR);
    assert_int_equal(options, RTEMS_INTERRUPT_SHARED);
    if (line.refuses) {
        return RTEMS_NO_MEMORY;
    }
    assert_true(line.count < HANDLERS_MAX);
    line.handler[line.count].call = handler;
    line.handler[line.count].argument = argument;
    if (line.count++ == 0) {
        line.enabled = true;
    }
    return RTEMS_SUCCESSFUL;
}

rtems_status_code rtems_interrupt_handler_remove(rtems_vector_number vector,
                                                 rtems_interrupt_handler handler, void *argument)
{
    assert_int_equal(vector, VECTOR);
    for (unsigned i = 0; i < line.count; i++) {
        if (line.handler[i].call == handler && line.handler[i].argument == argument) {
            line.handler[i] = line.handler[--line.count];
            line.enabled = line.enabled && line.count != 0;
            return RTEMS_SUCCESSFUL;
        }
    }
    return RTEMS_UNSATISFIED;
}

rtems_status_code rtems_interrupt_handler_iterate(rtems_vector_number vector,
                                                  rtems_interrupt_per_handler_routine routine,
                                                  void *argument)
{
    assert_int_equal(vector, VECTOR);
    for (unsigned i = 0; i < line.count; i++) {
        routine(argument, "", RTEMS_INTERRUPT_SHARED, line.handler[i].call,
                line.handler[i].argument);
    }
    return RTEMS_SUCCESSFUL;
}

/* An interrupt that has no handler ends RTEMS. */
rtems_status_code rtems_interrupt_vector_enable(rtems_vector_number vector)
{
    assert_int_equal(vector, VECTOR);
    assert_int_not_equal(line.count, 0);
    line.enabled = true;
    return RTEMS_SUCCESSFUL;
}

rtems_status_code rtems_interrupt_vector_disable(rtems_vector_number vector)
{
    assert_int_equal(vector, VECTOR);
    line.enabled = false;
    return RTEMS_SUCCESSFUL;
}

bool virtio_net_interrupt(struct virtio_net *which)
{
    assert_ptr_equal(which, net);
    interrupts++;
    return storm;
}

bool virtio_net_mask_requested(const struct virtio_net *which)
{
    assert_ptr_equal(which, net);
    assert_int_equal(locks_held, 1);
    return storm && !bottom_half_ran;
}

bool virtio_mmio_probe(struct virtio_mmio *mmio, virtio_register registers, size_t bytes,
                       const char **reason)
{
    (void)registers;
    (void)bytes;
    *reason = NULL;
    mmio->transport.device_type = VIRTIO_DEVICE_NETWORK;
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

bool ecam_find_network(const struct virtio_rtems_pci *pci, unsigned index,
                       struct virtio_pci_function *function)
{
    (void)pci;
    (void)index;
    function->configuration = 0;
    return false;
}

bool ecam_restore(struct virtio_pci_function *function)
{
    (void)function;
    return true;
}

uintptr_t machine_map_registers(uint64_t physical, size_t bytes)
{
    (void)bytes;
    return (uintptr_t)physical;
}

void virtio_platform_log(const char *format, ...)
{
    fail_msg("%s", format);
}

static void other_handler(void *argument)
{
    (void)argument;
}

static void raise_line(void)
{
    for (unsigned i = 0; line.enabled && i < line.count; i++) {
        line.handler[i].call(line.handler[i].argument);
    }
}

static int find(void **state)
{
    (void)state;
    memset(&line, 0, sizeof(line));
    storm = false;
    bottom_half_ran = false;
    locks_held = 0;
    interrupts = 0;
    assert_true(virtio_find_network(&board, 0, &device));
    return 0;
}

static void calls_the_driver_while_it_is_connected(void **state)
{
    (void)state;
    assert_true(virtio_network_connect(&device, net));
    raise_line();
    assert_int_equal(interrupts, 1);
    assert_true(virtio_network_connect(&device, NULL));
    assert_int_equal(line.count, 0);
    raise_line();
    assert_int_equal(interrupts, 1);
}

static void masks_a_line_that_does_not_fall(void **state)
{
    (void)state;
    assert_true(virtio_network_connect(&device, net));
    storm = true;
    raise_line();
    assert_false(line.enabled);
    virtio_network_rearm(&device);
    assert_true(line.enabled);
}

/* The line must stay enabled: nothing would enable it again. */
static void does_not_mask_after_the_bottom_half_ran(void **state)
{
    (void)state;
    assert_true(virtio_network_connect(&device, net));
    storm = true;
    bottom_half_ran = true;
    raise_line();
    assert_true(line.enabled);
}

static void leaves_a_line_masked_that_nobody_handles(void **state)
{
    (void)state;
    assert_true(virtio_network_connect(&device, net));
    storm = true;
    raise_line();
    assert_true(virtio_network_connect(&device, NULL));
    assert_false(line.enabled);
    storm = false;
    assert_true(virtio_network_connect(&device, net));
    assert_true(line.enabled);
    raise_line();
    assert_int_equal(interrupts, 2);
}

static void gives_others_their_line_back(void **state)
{
    (void)state;
    (void)rtems_interrupt_handler_install(VECTOR, "", RTEMS_INTERRUPT_SHARED, other_handler, NULL);
    assert_true(virtio_network_connect(&device, net));
    storm = true;
    raise_line();
    assert_false(line.enabled);
    assert_true(virtio_network_connect(&device, NULL));
    assert_true(line.enabled);
    assert_int_equal(line.count, 1);
}

static void says_that_it_cannot_be_connected(void **state)
{
    (void)state;
    line.refuses = true;
    assert_false(virtio_network_connect(&device, net));
    assert_null(device.net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(calls_the_driver_while_it_is_connected, find),
        cmocka_unit_test_setup(masks_a_line_that_does_not_fall, find),
        cmocka_unit_test_setup(does_not_mask_after_the_bottom_half_ran, find),
        cmocka_unit_test_setup(leaves_a_line_masked_that_nobody_handles, find),
        cmocka_unit_test_setup(gives_others_their_line_back, find),
        cmocka_unit_test_setup(says_that_it_cannot_be_connected, find),
    };

    return cmocka_run_group_tests_name("rtems_discovery", tests, NULL, NULL);
}
