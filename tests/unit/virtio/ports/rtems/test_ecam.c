/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the PCI walk of the driver's port to RTEMS, on a bus shared with other drivers. */
#include "ecam.h"
#include "fake_pci.h"
#include "machine.h"
#include "pci/pci_private.h"
#include "virtio/platform.h"
#include <devices/pci_registers.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define NETWORK        UINT32_C(0x10411af4)
#define OTHER          UINT32_C(0x12345678)
#define BAR_MEMORY_32  UINT32_C(0)
#define BAR_MEMORY_64  UINT32_C(0xC)
#define CONFIGURATION  UINT64_C(0x4010000000)
#define WINDOW         UINT64_C(0x10000000)
#define WINDOW_BYTES   UINT64_C(0x2EFF0000)
#define SIXTEEN_MIB    UINT64_C(0x1000000)
#define HOSTILE_ROUNDS 200u

static const struct virtio_rtems_pci board = {
    .configuration = CONFIGURATION,
    .buses = 256,
    .memory = WINDOW,
    .memory_bytes = WINDOW_BYTES,
    .first_vector = 35,
};

uintptr_t machine_map_registers(uint64_t physical, size_t bytes)
{
    (void)bytes;
    return (uintptr_t)physical;
}

void machine_order(void)
{
}

static int untouchable; /* number of a device of the root bus that must not be written; -1: none */

static uint8_t bus_of(const struct virtio_pci_function *function)
{
    return (uint8_t)((function->configuration - CONFIGURATION) >> 20);
}

static uint8_t device_function_of(const struct virtio_pci_function *function)
{
    return (uint8_t)((function->configuration - CONFIGURATION) >> 12);
}

uint32_t virtio_platform_pci_read(struct virtio_pci_function *function, uint16_t offset,
                                  unsigned bytes)
{
    return pci_access_read(bus_of(function), device_function_of(function), offset, bytes);
}

void virtio_platform_pci_write(struct virtio_pci_function *function, uint16_t offset,
                               unsigned bytes, uint32_t value)
{
    assert_int_not_equal(device_function_of(function) >> 3, untouchable);
    pci_access_write(bus_of(function), device_function_of(function), offset, bytes, value);
}

static int reset(void **state)
{
    (void)state;
    fake_reset();
    untouchable = -1;
    return 0;
}

/* Adds a function like QEMU's virtio-net-pci: MSI-X in BAR 1, the registers in BAR 4. */
static struct fake_function *add_network(struct fake_function *bridge, uint8_t device)
{
    struct fake_function *card = fake_add(bridge, device, 0, NETWORK);

    pci_model_bar(&card->pci, 1, 4096, BAR_MEMORY_32);
    pci_model_bar(&card->pci, 4, 16384, BAR_MEMORY_64);
    pci_model_set(&card->pci, PCI_INTERRUPT_PIN, 1, 1);
    return card;
}

static void decode(struct fake_function *function)
{
    pci_model_set(&function->pci, PCI_COMMAND, 2, PCI_COMMAND_MEMORY);
}

static void set_bar(struct fake_function *function, unsigned index, uint32_t address)
{
    pci_model_set(&function->pci, PCI_BAR + 4 * index, 4,
                  address | (pci_model_get(&function->pci, PCI_BAR + 4 * index, 4) & 0xF));
}

static void assert_apart(uint64_t one, uint64_t one_bytes, uint64_t other, uint64_t other_bytes)
{
    assert_true(one + one_bytes <= other || other + other_bytes <= one);
}

static void gives_addresses(void **state)
{
    struct fake_function *card = add_network(NULL, 2);
    struct virtio_pci_function found;

    (void)state;
    assert_true(ecam_find_network(&board, 0, &found));
    assert_int_equal(device_function_of(&found), 2 << 3);
    assert_true(found.has_line);
    assert_int_equal(found.line, 2);
    for (unsigned bar = 1; bar <= 4; bar += 3) {
        uint64_t address = pci_model_bar_address(&card->pci, bar);

        assert_true(address >= WINDOW && address + found.bytes[bar] <= WINDOW + WINDOW_BYTES);
        assert_int_equal(address % found.bytes[bar], 0);
        assert_int_equal(virtio_platform_pci_map(&found, bar, 0, found.bytes[bar]), address);
        assert_int_equal(virtio_platform_pci_map(&found, bar, 1, found.bytes[bar]), 0);
    }
    assert_apart(pci_model_bar_address(&card->pci, 1), 4096, pci_model_bar_address(&card->pci, 4),
                 16384);
    assert_int_equal(virtio_platform_pci_map(&found, 0, 0, 0), 0);
    assert_int_equal(virtio_platform_pci_map(&found, PCI_BARS, 0, 0), 0);
    assert_int_equal(pci_model_get(&card->pci, PCI_COMMAND, 2), 0); /* the probe switches it on */
    assert_false(ecam_find_network(&board, 1, &found));
}

static void keeps_addresses(void **state)
{
    struct fake_function *card = add_network(NULL, 1);
    struct virtio_pci_function found;

    (void)state;
    set_bar(card, 1, 0x11000000);
    set_bar(card, 4, 0x12000000);
    decode(card);
    assert_true(ecam_find_network(&board, 0, &found));
    assert_int_equal(pci_model_bar_address(&card->pci, 1), 0x11000000);
    assert_int_equal(pci_model_bar_address(&card->pci, 4), 0x12000000);
}

static void leaves_running_functions_alone(void **state)
{
    struct fake_function *running = fake_add(NULL, 1, 0, OTHER);
    struct fake_function *card = add_network(NULL, 2);
    struct virtio_pci_function found;

    (void)state;
    pci_model_bar(&running->pci, 0, SIXTEEN_MIB, BAR_MEMORY_32);
    set_bar(running, 0, (uint32_t)WINDOW);
    decode(running);
    untouchable = 1;
    assert_true(ecam_find_network(&board, 0, &found));
    for (unsigned bar = 1; bar <= 4; bar += 3) {
        assert_apart(pci_model_bar_address(&card->pci, bar), found.bytes[bar], WINDOW, SIXTEEN_MIB);
    }
}

static void avoids_addresses_of_others(void **state)
{
    struct fake_function *off = fake_add(NULL, 3, 0, OTHER);
    struct fake_function *card = add_network(NULL, 2);
    struct virtio_pci_function found;

    (void)state;
    pci_model_bar(&off->pci, 0, 2 * SIXTEEN_MIB, BAR_MEMORY_32);
    set_bar(off, 0, (uint32_t)WINDOW);
    untouchable = 3;
    assert_true(ecam_find_network(&board, 0, &found));
    for (unsigned bar = 1; bar <= 4; bar += 3) {
        assert_apart(pci_model_bar_address(&card->pci, bar), found.bytes[bar], WINDOW,
                     2 * SIXTEEN_MIB);
    }
}

static void gives_each_device_its_own_addresses(void **state)
{
    struct fake_function *one = add_network(NULL, 1);
    struct fake_function *other = add_network(NULL, 2);
    struct virtio_pci_function found;

    (void)state;
    assert_true(ecam_find_network(&board, 0, &found));
    assert_true(ecam_restore(&found)); /* in use from now on */
    untouchable = 1;
    assert_true(ecam_find_network(&board, 1, &found));
    for (unsigned bar = 1; bar <= 4; bar += 3) {
        assert_apart(pci_model_bar_address(&one->pci, 1), 4096,
                     pci_model_bar_address(&other->pci, bar), found.bytes[bar]);
        assert_apart(pci_model_bar_address(&one->pci, 4), 16384,
                     pci_model_bar_address(&other->pci, bar), found.bytes[bar]);
    }
}

/* The upper half of the address does not count as another BAR. */
static void skips_bars_that_are_too_large(void **state)
{
    struct fake_function *card = add_network(NULL, 2);
    struct virtio_pci_function found;

    (void)state;
    pci_model_bar(&card->pci, 2, UINT64_C(0x200000000), BAR_MEMORY_64);
    assert_true(ecam_find_network(&board, 0, &found));
    assert_int_equal(pci_model_bar_address(&card->pci, 2), 0);
    assert_int_equal(virtio_platform_pci_map(&found, 2, 0, 64), 0);
    assert_int_equal(virtio_platform_pci_map(&found, 3, 0, 64), 0);
    assert_int_not_equal(virtio_platform_pci_map(&found, 4, 0, 64), 0);
}

static void reports_bars_that_do_not_fit(void **state)
{
    const struct virtio_rtems_pci narrow = {
        .configuration = CONFIGURATION, .buses = 1, .memory = WINDOW, .memory_bytes = 4096};
    struct virtio_pci_function found;

    (void)state;
    (void)add_network(NULL, 2);
    assert_true(ecam_find_network(&narrow, 0, &found));
    assert_int_not_equal(virtio_platform_pci_map(&found, 1, 0, 4096), 0);
    assert_int_equal(virtio_platform_pci_map(&found, 4, 0, 4096), 0);
}

static void searches_behind_numbered_bridges(void **state)
{
    struct fake_function *bridge = fake_add_bridge(NULL, 3, false);
    struct virtio_pci_function found;

    (void)state;
    (void)add_network(bridge, 2);
    assert_false(ecam_find_network(&board, 0, &found)); /* no firmware has numbered it */
    pci_model_set(&bridge->pci, PCI_BRIDGE_BUSES, 4, 0x00010100);
    assert_true(ecam_find_network(&board, 0, &found));
    assert_int_equal(bus_of(&found), 1);
    assert_int_equal(found.line,
                     1); /* INTA of device 2, rotated by 3 (PCI-to-PCI Bridge 1.2, 9.1) */
}

static void restores(void **state)
{
    struct fake_function *card = add_network(NULL, 2);
    struct virtio_pci_function found;
    uint64_t address;

    (void)state;
    assert_true(ecam_find_network(&board, 0, &found));
    address = pci_model_bar_address(&card->pci, 4);
    set_bar(card, 4, 0);
    pci_model_set(&card->pci, PCI_COMMAND, 2, 0);
    assert_true(ecam_restore(&found));
    assert_int_equal(pci_model_bar_address(&card->pci, 4), address);
    assert_int_equal(pci_model_get(&card->pci, PCI_COMMAND, 2),
                     PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    pci_model_set(&card->pci, PCI_VENDOR_ID, 4, OTHER);
    assert_false(ecam_restore(&found));
}

static uint32_t answer_bridges(uint8_t bus, uint8_t device_function, uint16_t offset)
{
    (void)bus;
    switch (offset & 0xFC) {
    case PCI_VENDOR_ID:
        return NETWORK;
    case PCI_BRIDGE_BUSES:
        return (uint32_t)device_function << 8;
    default:
        return offset == PCI_HEADER_TYPE ? PCI_HEADER_BRIDGE | 0x80u : UINT32_MAX;
    }
}

/* Returns pseudorandom numbers, the same in each run (Numerical Recipes' generator). */
static uint32_t noise(void)
{
    static uint32_t state = 1;

    state = state * UINT32_C(1664525) + UINT32_C(1013904223);
    return state;
}

static uint32_t answer_anything(uint8_t bus, uint8_t device_function, uint16_t offset)
{
    (void)bus;
    (void)device_function;
    return (offset & 0xFC) == PCI_VENDOR_ID ? NETWORK : noise();
}

/* On a malicious bus the walk ends after it has read each bus once. */
static void survives_malicious_bus(void **state)
{
    struct virtio_pci_function found;

    (void)state;
    fake_answer = answer_bridges;
    (void)ecam_find_network(&board, 0, &found);
    fake_answer = answer_anything;
    for (unsigned round = 0; round < HOSTILE_ROUNDS; round++) {
        if (ecam_find_network(&board, round % 4, &found)) {
            for (unsigned bar = 0; bar < PCI_BARS; bar++) {
                (void)virtio_platform_pci_map(&found, bar, 0, 64);
            }
            (void)ecam_restore(&found);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(gives_addresses, reset),
        cmocka_unit_test_setup(keeps_addresses, reset),
        cmocka_unit_test_setup(leaves_running_functions_alone, reset),
        cmocka_unit_test_setup(avoids_addresses_of_others, reset),
        cmocka_unit_test_setup(gives_each_device_its_own_addresses, reset),
        cmocka_unit_test_setup(skips_bars_that_are_too_large, reset),
        cmocka_unit_test_setup(reports_bars_that_do_not_fit, reset),
        cmocka_unit_test_setup(searches_behind_numbered_bridges, reset),
        cmocka_unit_test_setup(restores, reset),
        cmocka_unit_test_setup(survives_malicious_bus, reset),
    };

    return cmocka_run_group_tests_name("rtems_ecam", tests, NULL, reset);
}
