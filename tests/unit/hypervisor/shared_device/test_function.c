/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the PCI function of a shared device: configuration space, registers and the doorbell, as
 * the guest of the back-end reaches them by accesses to the PCI host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "emulated_function/host.h"
#include "gic/doorbell.h"
#include "gic/setup.h"
#include "partition/load.h"
#include "shared_device/shared_device.h"
#include "shared_device/state.h"
#include <arch/device_access.h>
#include <arch/shared_device_function.h>
#include <devices/pci_registers.h>
#include <devices/virtio_mmio_registers.h>
#include <string.h>

#define PARTITIONS 3u
#define DEVICES    3u
#define BACKEND    0u
#define CLIENT     1u
#define OTHER      2u
#define HOST       UINT64_C(0x0c000000)
#define WINDOW     (HOST + DESCRIPTION_HOST_ECAM_BYTES)
#define BAR        (WINDOW + 0x1f000) /* the last page of the window */
#define REGISTERS  UINT64_C(0x0a000000)
#define PAGE       UINT64_C(0x4345678000)
#define VENDOR     0x40u
#define BLOCK      (UINT64_C(2) << 20)

static struct description description;
static struct partition partitions[PARTITIONS];
static _Alignas(4096) uint8_t pages[DEVICES][SHARED_DEVICE_BYTES];
static uint32_t rung[64];    /* how often a doorbell that is no function's rang, by interrupt */
static uint32_t pending[64]; /* how often an interrupt was made pending */

void doorbell_ring(const struct description *system, uint32_t interrupt)
{
    assert_ptr_equal(system, &description);
    rung[interrupt]++;
}

void gic_make_pending(const struct description *system, uint32_t interrupt)
{
    assert_ptr_equal(system, &description);
    pending[interrupt]++;
}

void device_publish(void)
{
}

void load_clean(uint64_t at, uint64_t end)
{
    (void)at;
    (void)end;
}

static uint32_t interrupt_of(uint32_t device)
{
    return 40 + 2 * device;
}

static uint32_t doorbell_of(uint32_t device)
{
    return 41 + 2 * device;
}

/* Devices 0 and 2 have functions in BACKEND and OTHER; device 1 of BACKEND has none. */
static int setup(void **state)
{
    static const uint32_t backends[DEVICES] = {BACKEND, BACKEND, OTHER};
    static const uint32_t functions[DEVICES] = {1, 0, 1};

    (void)state;
    memset(&description, 0, sizeof(description));
    memset(partitions, 0, sizeof(partitions));
    memset(pages, 0, sizeof(pages));
    memset(rung, 0, sizeof(rung));
    memset(pending, 0, sizeof(pending));
    description.partition_count = PARTITIONS;
    description.shared_device_count = DEVICES;
    for (uint32_t i = 0; i < DEVICES; i++) {
        description.shared_devices[i] = (struct description_shared_device){
            .physical = (uintptr_t)pages[i],
            .registers = REGISTERS + i * 0x1000,
            .page = PAGE + i * 0x1000,
            .features = UINT64_C(1) << 32,
            .client = CLIENT,
            .backend = backends[i],
            .interrupt = interrupt_of(i),
            .doorbell = doorbell_of(i),
            .device_id = 1,
            .queue_count = 3,
            .queue_size_max = 256,
            .config_bytes = 12,
            .window_count = 1,
            .windows = {{0x40000000, PAGE + (i + 1) * 64 * BLOCK, 3 * BLOCK}},
            .function = functions[i],
        };
    }
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        partitions[i].constant.system = &description;
        partitions[i].constant.described = &description.partitions[i];
        partitions[i].constant.index = i;
        description.partitions[i].channel_host = HOST;
    }
    return 0;
}

static uint64_t config(uint32_t device, uint32_t offset)
{
    return HOST + ((uint64_t)(16 + device) << 15) + offset;
}

static enum access_result access_by(uint32_t partition, uint64_t address, unsigned bytes,
                                    bool is_write, uint64_t *value)
{
    struct access access = {.value = *value, .bytes = (uint8_t)bytes, .write = is_write};
    enum access_result result = ACCESS_AGAIN;

    assert_true(function_host_access(&partitions[partition], address, &access, &result));
    *value = access.value;
    return result;
}

static uint32_t read_by(uint32_t partition, uint64_t address, unsigned bytes)
{
    uint64_t value = 0;

    assert_int_equal(access_by(partition, address, bytes, false, &value), ACCESS_DONE);
    return (uint32_t)value;
}

static enum access_result write_by(uint32_t partition, uint64_t address, unsigned bytes,
                                   uint64_t value)
{
    return access_by(partition, address, bytes, true, &value);
}

static enum access_result set(uint32_t offset, uint32_t value)
{
    return write_by(BACKEND, BAR + offset, 4, value);
}

/* Places BAR 0 of the function of device 0, and enables it with its interrupt. */
static void enable(void)
{
    assert_int_equal(write_by(BACKEND, config(0, PCI_BAR), 4, BAR), ACCESS_DONE);
    assert_int_equal(write_by(BACKEND, config(0, PCI_COMMAND), 2, PCI_COMMAND_MEMORY), ACCESS_DONE);
    assert_int_equal(set(SHARED_DEVICE_FUNCTION_INTERRUPT_CONTROL, 1), ACCESS_DONE);
}

/* The client's driver accesses a register of a device. */
static enum access_result drive(uint32_t device, uint64_t offset, bool is_write, uint64_t *value)
{
    struct access access = {.value = *value, .bytes = 4, .write = is_write};
    enum access_result result = ACCESS_FORBIDDEN;

    assert_true(shared_device_trap(&partitions[CLIENT],
                                   description.shared_devices[device].registers + offset, &access,
                                   &result));
    *value = access.value;
    return result;
}

static enum access_result driver_writes(uint32_t device, uint64_t offset, uint64_t value)
{
    return drive(device, offset, true, &value);
}

static uint32_t driver_reads(uint64_t offset)
{
    uint64_t value = 0;

    assert_int_equal(drive(0, offset, false, &value), ACCESS_DONE);
    return (uint32_t)value;
}

static void start_driver(uint32_t device)
{
    assert_int_equal(driver_writes(device, VIRTIO_MMIO_ACCEPTED_SELECT, 1), ACCESS_DONE);
    assert_int_equal(driver_writes(device, VIRTIO_MMIO_ACCEPTED, 1), ACCESS_DONE);
    assert_int_equal(driver_writes(device, VIRTIO_MMIO_STATUS, 0xb), ACCESS_DONE);
    assert_int_equal(driver_writes(device, VIRTIO_MMIO_STATUS, 0xf), ACCESS_DONE);
}

static void ring(uint32_t device)
{
    assert_int_equal(driver_writes(device, VIRTIO_MMIO_QUEUE_NOTIFY, 1), ACCESS_DONE);
}

static void a_function_describes_itself(void **state)
{
    (void)state;
    assert_int_equal(read_by(BACKEND, config(0, PCI_VENDOR_ID), 4), 0x10f01af4);
    assert_int_equal(read_by(BACKEND, config(0, PCI_CLASS), 4), 0xff000100);
    assert_int_equal(read_by(BACKEND, config(0, PCI_STATUS), 2), PCI_STATUS_CAPABILITIES);
    assert_int_equal(read_by(BACKEND, config(0, PCI_HEADER_TYPE), 1), 0);
    assert_int_equal(read_by(BACKEND, config(0, PCI_INTERRUPT_PIN), 1), 1);
    assert_int_equal(read_by(BACKEND, config(0, PCI_CAPABILITIES), 1), VENDOR);
    assert_int_equal(read_by(BACKEND, config(0, VENDOR), 4),
                     PCI_CAPABILITY_VENDOR | SHARED_DEVICE_FUNCTION_VENDOR_SIZE << 16);
    assert_int_equal(read_by(OTHER, config(2, VENDOR + SHARED_DEVICE_FUNCTION_INDEX), 4), 2);
    assert_int_equal(read_by(OTHER, config(2, VENDOR + SHARED_DEVICE_FUNCTION_PAGE), 4),
                     (PAGE + 0x2000) & UINT32_MAX);
    assert_int_equal(read_by(OTHER, config(2, VENDOR + SHARED_DEVICE_FUNCTION_PAGE + 4), 4),
                     PAGE >> 32);
    assert_int_equal(read_by(BACKEND, config(0, VENDOR + SHARED_DEVICE_FUNCTION_VENDOR_SIZE), 4),
                     0);
}

/* Only the back-end has the function, and only of its own device that is one. */
static void others_have_no_function(void **state)
{
    static const struct {
        uint32_t partition, device;
    } absent[] = {{BACKEND, 1}, {BACKEND, 2}, {BACKEND, 3}, {BACKEND, 15},
                  {CLIENT, 0},  {OTHER, 0},   {OTHER, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
        uint64_t address = config(absent[i].device, 0), value = 0;

        assert_int_equal(access_by(absent[i].partition, address, 4, false, &value), ACCESS_REFUSED);
        assert_int_equal(value, UINT32_MAX);
        assert_int_equal(write_by(absent[i].partition, address + PCI_BAR, 4, BAR), ACCESS_REFUSED);
    }
    for (uint32_t function = 1; function < 8; function++) {
        uint64_t value = 0;

        assert_int_equal(access_by(BACKEND, config(0, function << 12), 4, false, &value),
                         ACCESS_REFUSED);
    }
}

static void registers_are_where_the_bar_is(void **state)
{
    uint64_t value = 0;

    (void)state;
    assert_int_equal(access_by(BACKEND, BAR, 4, false, &value), ACCESS_REFUSED);
    assert_int_equal(value, UINT32_MAX);
    enable();
    assert_int_equal(read_by(BACKEND, BAR, 4), 1);
    assert_int_equal(set(SHARED_DEVICE_FUNCTION_INTERRUPT_CONTROL, 0), ACCESS_DONE);
    assert_int_equal(read_by(BACKEND, BAR, 4), 0);
    for (uint32_t at = 4; at <= SHARED_DEVICE_FUNCTION_FAIL; at += 4) {
        assert_int_equal(read_by(BACKEND, BAR + at, 4), 0);
    }
    assert_int_equal(access_by(BACKEND, BAR - 4, 4, false, &value), ACCESS_REFUSED);
    assert_int_equal(write_by(BACKEND, config(0, PCI_COMMAND), 2, 0), ACCESS_DONE);
    assert_int_equal(access_by(BACKEND, BAR, 4, false, &value), ACCESS_REFUSED);
}

static void other_registers_are_refused(void **state)
{
    static const unsigned sizes[] = {1, 2, 8};
    uint64_t value;

    (void)state;
    enable();
    start_driver(0);
    for (uint32_t at = SHARED_DEVICE_FUNCTION_FAIL + 4; at < 0x1000; at += 4) {
        value = 1;
        assert_int_equal(access_by(BACKEND, BAR + at, 4, false, &value), ACCESS_REFUSED);
        assert_int_equal(value, 0);
        assert_int_equal(set(at, 1), ACCESS_REFUSED);
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(write_by(BACKEND, BAR + SHARED_DEVICE_FUNCTION_INTERRUPT, sizes[i], 1),
                         ACCESS_REFUSED);
    }
    assert_int_equal(pending[interrupt_of(0)], 0);
}

/* The registers do as the calls, to their own device only. */
static void registers_are_calls(void **state)
{
    const struct shared_device_page *page = (const struct shared_device_page *)pages[0];
    const struct shared_device_state *hidden =
        (const struct shared_device_state *)(pages[0] + DESCRIPTION_PAGE_BYTES);

    (void)state;
    enable();
    start_driver(0);
    assert_int_equal(set(SHARED_DEVICE_FUNCTION_INTERRUPT, 1), ACCESS_DONE);
    assert_int_equal(pending[interrupt_of(0)], 1);
    assert_int_equal(driver_reads(VIRTIO_MMIO_INTERRUPT_STATUS), 1);
    assert_int_equal(hidden->serves, 0);
    assert_int_equal(set(SHARED_DEVICE_FUNCTION_ACKNOWLEDGE, page->generation), ACCESS_DONE);
    assert_int_equal(hidden->serves, 1);
    assert_int_equal(driver_writes(0, VIRTIO_MMIO_STATUS, 0), ACCESS_AGAIN);
    assert_int_equal(set(SHARED_DEVICE_FUNCTION_ACKNOWLEDGE, page->generation), ACCESS_DONE);
    assert_int_equal(driver_writes(0, VIRTIO_MMIO_STATUS, 0), ACCESS_DONE);
    start_driver(0);
    assert_int_equal(set(SHARED_DEVICE_FUNCTION_VALUE_LOW, 0x55667788), ACCESS_DONE);
    assert_int_equal(set(SHARED_DEVICE_FUNCTION_VALUE_HIGH, 0x11223344), ACCESS_DONE);
    assert_int_equal(set(SHARED_DEVICE_FUNCTION_CONFIGURE, 8u << 16 | 4), ACCESS_DONE);
    assert_int_equal(driver_reads(VIRTIO_MMIO_CONFIG + 4), 0x55667788);
    assert_int_equal(driver_reads(VIRTIO_MMIO_CONFIG + 8), 0x11223344);
    assert_int_equal(set(SHARED_DEVICE_FUNCTION_CONFIGURE, 8u << 16 | 5), ACCESS_REFUSED);
    assert_int_equal(set(SHARED_DEVICE_FUNCTION_CONFIGURE, 9u << 16), ACCESS_REFUSED);
    assert_int_equal(set(SHARED_DEVICE_FUNCTION_CONFIGURE, UINT32_MAX), ACCESS_REFUSED);
    assert_int_equal(set(SHARED_DEVICE_FUNCTION_FAIL, 0), ACCESS_DONE);
    assert_int_equal(driver_reads(VIRTIO_MMIO_STATUS), 0x4f);
    assert_int_equal(pending[interrupt_of(1)], 0);
    assert_int_equal(pending[interrupt_of(2)], 0);
}

static void set_command(uint32_t device, uint32_t command)
{
    assert_int_equal(
        write_by(device == 0 ? BACKEND : OTHER, config(device, PCI_COMMAND), 2, command),
        ACCESS_DONE);
}

/* The end of a process is that of its bus mastering: a driver that resets the device does not wait
 * for the next one. */
static void a_process_that_masters_the_bus_no_more_is_not_waited_for(void **state)
{
    const struct shared_device_page *page = (const struct shared_device_page *)pages[0];

    (void)state;
    enable();
    start_driver(0);
    set_command(0, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    assert_int_equal(set(SHARED_DEVICE_FUNCTION_ACKNOWLEDGE, page->generation), ACCESS_DONE);
    assert_int_equal(driver_writes(0, VIRTIO_MMIO_STATUS, 0), ACCESS_AGAIN);
    /* Neither the end of another device's process nor another bit of the register counts. */
    set_command(2, PCI_COMMAND_MASTER);
    set_command(2, 0);
    set_command(0, PCI_COMMAND_MASTER | PCI_COMMAND_INTX_DISABLE);
    set_command(0, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    assert_int_equal(driver_writes(0, VIRTIO_MMIO_STATUS, 0), ACCESS_AGAIN);
    set_command(0, PCI_COMMAND_MEMORY);
    assert_int_equal(driver_writes(0, VIRTIO_MMIO_STATUS, 0), ACCESS_DONE);
    /* The next process is waited for from its first acknowledgement on. */
    start_driver(0);
    set_command(0, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    assert_int_equal(set(SHARED_DEVICE_FUNCTION_ACKNOWLEDGE, page->generation), ACCESS_DONE);
    assert_int_equal(driver_writes(0, VIRTIO_MMIO_STATUS, 0), ACCESS_AGAIN);
}

/* INTA is the doorbell. It has the rules of a channel's function, which uio_pci_generic needs. */
static void the_doorbell_interrupts(void **state)
{
    (void)state;
    enable();
    start_driver(0);
    start_driver(1);
    pending[doorbell_of(0)] = 0;
    ring(0);
    assert_int_equal(pending[doorbell_of(0)], 1);
    assert_int_equal(read_by(BACKEND, config(0, PCI_STATUS), 2),
                     PCI_STATUS_CAPABILITIES | PCI_STATUS_INTERRUPT);
    /* The driver of the back-end's Linux masks it, and its process unmasks it. */
    assert_int_equal(
        write_by(BACKEND, config(0, PCI_COMMAND), 2, PCI_COMMAND_MEMORY | PCI_COMMAND_INTX_DISABLE),
        ACCESS_DONE);
    ring(0);
    assert_int_equal(pending[doorbell_of(0)], 1);
    assert_int_equal(read_by(BACKEND, config(0, PCI_STATUS), 2), PCI_STATUS_CAPABILITIES);
    assert_int_equal(write_by(BACKEND, config(0, PCI_COMMAND), 2, PCI_COMMAND_MEMORY), ACCESS_DONE);
    ring(0);
    assert_int_equal(pending[doorbell_of(0)], 2);
    /* One-shot: once for each time that it is enabled. */
    assert_int_equal(write_by(BACKEND, config(0, VENDOR + SHARED_DEVICE_FUNCTION_ONE_SHOT), 1, 1),
                     ACCESS_DONE);
    ring(0);
    ring(0);
    assert_int_equal(pending[doorbell_of(0)], 3);
    assert_int_equal(read_by(BACKEND, BAR, 4), 0);
    assert_int_equal(set(SHARED_DEVICE_FUNCTION_INTERRUPT_CONTROL, 1), ACCESS_DONE);
    ring(0);
    assert_int_equal(pending[doorbell_of(0)], 4);
    assert_int_equal(rung[doorbell_of(0)], 0);
    /* A device without a function has its doorbell as before. */
    rung[doorbell_of(1)] = 0;
    ring(1);
    assert_int_equal(rung[doorbell_of(1)], 1);
    assert_int_equal(pending[doorbell_of(1)], 0);
}

/* A stop of the driver rings, too; the partition's end sets the function as at boot. */
static void lives_end(void **state)
{
    uint32_t index = 0;

    (void)state;
    enable();
    start_driver(0);
    pending[doorbell_of(0)] = 0;
    while (shared_device_end(&partitions[CLIENT], true, &index) != STEP_DONE) {
        assert_in_range(index, 0, 2 * DEVICES);
    }
    assert_int_equal(pending[doorbell_of(0)], 1);
    index = 0;
    while (shared_device_end(&partitions[BACKEND], true, &index) != STEP_DONE) {
        assert_in_range(index, 0, 2 * DEVICES);
    }
    assert_int_equal(read_by(BACKEND, config(0, PCI_BAR), 4), 0);
    assert_int_equal(read_by(BACKEND, config(0, PCI_COMMAND), 2), 0);
    start_driver(0);
    pending[doorbell_of(0)] = 0;
    ring(0);
    assert_int_equal(pending[doorbell_of(0)], 0);
}

/* A process of Linux can reach the host, and all of a DAX device, which begins and ends at
 * multiples of 2 MiB. */
static void a_process_reaches_what_is_near(void **state)
{
    const struct description_shared_device *device = &description.shared_devices[0];
    const uint64_t window = device->windows[0].backend & -BLOCK, end = window + 4 * BLOCK;

    (void)state;
    assert_true(function_host_has_near(&partitions[BACKEND], HOST));
    assert_true(function_host_has_near(&partitions[BACKEND], device->page & -BLOCK));
    assert_false(function_host_has_near(&partitions[BACKEND], (device->page & -BLOCK) - 1));
    assert_true(function_host_has_near(&partitions[BACKEND], window));
    assert_true(function_host_has_near(&partitions[BACKEND], end - 1));
    assert_false(function_host_has_near(&partitions[BACKEND], window - 1));
    assert_false(function_host_has_near(&partitions[BACKEND], end));
    /* A device without a function, and one of another back-end. */
    assert_false(function_host_has_near(&partitions[BACKEND], window + 64 * BLOCK));
    assert_false(function_host_has_near(&partitions[BACKEND], window + 128 * BLOCK));
    assert_true(function_host_has_near(&partitions[OTHER], window + 128 * BLOCK));
    assert_false(function_host_has_near(&partitions[CLIENT], window));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_function_describes_itself, setup),
        cmocka_unit_test_setup(others_have_no_function, setup),
        cmocka_unit_test_setup(registers_are_where_the_bar_is, setup),
        cmocka_unit_test_setup(other_registers_are_refused, setup),
        cmocka_unit_test_setup(registers_are_calls, setup),
        cmocka_unit_test_setup(a_process_that_masters_the_bus_no_more_is_not_waited_for, setup),
        cmocka_unit_test_setup(the_doorbell_interrupts, setup),
        cmocka_unit_test_setup(lives_end, setup),
        cmocka_unit_test_setup(a_process_reaches_what_is_near, setup),
    };

    return cmocka_run_group_tests_name("shared_device_function", tests, NULL, NULL);
}
