/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the board that the port to RTEMS makes of a partition's devicetree. */
#include "board.h"
#include "virtio/platform.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>
#include <libfdt.h>
#include <string.h>

#define BLOB_BYTES      8192
#define CONFIGURATION   UINT64_C(0x4010000000)
#define ADDRESS         UINT64_C(0xC0000000)
#define DAMAGES         256u /* values of a byte */
#define POOL_COMPATIBLE "restricted-dma-pool"
#define POOL_PHANDLE    1u
#define POOL            UINT64_C(0x60000000)
#define POOL_BYTES      UINT64_C(0x40000)

static const struct virtio_rtems_board qemu = {
    .mmio = {{.address = 0x0A000000, .bytes = 0x200, .count = 32, .first_vector = 48}},
    .pci = {.configuration = CONFIGURATION, .buses = 256},
};
static struct virtio_rtems_board board;
static uint64_t blob[BLOB_BYTES / 8];
static char logged[256]; /* the last message */
static unsigned messages;

void virtio_platform_log(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    /* va_start() is just above. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    (void)vsnprintf(logged, sizeof(logged), format, arguments);
    va_end(arguments);
    messages++;
}

static void begin_tree(void)
{
    assert_int_equal(fdt_create(blob, BLOB_BYTES), 0);
    assert_int_equal(fdt_finish_reservemap(blob), 0);
    assert_int_equal(fdt_begin_node(blob, ""), 0);
    board = qemu;
    logged[0] = 0;
    messages = 0;
}

static void begin_node(const char *name, const char *compatible)
{
    assert_int_equal(fdt_begin_node(blob, name), 0);
    assert_int_equal(fdt_property(blob, "compatible", compatible, (int)strlen(compatible) + 1), 0);
}

static void add_region(uint64_t address, uint64_t bytes)
{
    fdt64_t reg[] = {cpu_to_fdt64(address), cpu_to_fdt64(bytes)};

    assert_int_equal(fdt_property(blob, "reg", reg, sizeof(reg)), 0);
}

static void add_interrupt(uint32_t type, uint32_t number, uint32_t trigger)
{
    fdt32_t specifier[] = {cpu_to_fdt32(type), cpu_to_fdt32(number), cpu_to_fdt32(trigger)};

    assert_int_equal(fdt_property(blob, "interrupts", specifier, sizeof(specifier)), 0);
}

static void end_node(void)
{
    assert_int_equal(fdt_end_node(blob), 0);
}

static void add_device(uint64_t address, uint64_t bytes, uint32_t number, uint32_t trigger)
{
    begin_node("virtio_mmio", "virtio,mmio");
    add_region(address, bytes);
    add_interrupt(0, number, trigger);
    end_node();
}

static void read_tree(void)
{
    end_node();
    assert_int_equal(fdt_finish(blob), 0);
    virtio_rtems_read_devicetree(blob, &board);
}

static void assert_windows(unsigned count)
{
    for (unsigned i = 0; i < VIRTIO_RTEMS_MMIO_MAX; i++) {
        assert_int_equal(board.mmio[i].count, i < count);
    }
}

static void reads_devices(void **state)
{
    (void)state;
    begin_tree();
    add_device(ADDRESS, 0x1000, 11, 1);
    begin_node("pl011", "arm,pl011");
    add_region(0x9000000, 0x1000);
    end_node();
    add_device(UINT64_C(0x8000000000), 0x200, 987, 4);
    read_tree();
    assert_windows(2);
    assert_true(board.mmio[0].address == ADDRESS);
    assert_int_equal(board.mmio[0].bytes, 0x1000);
    assert_int_equal(board.mmio[0].first_vector, 43);
    assert_true(board.mmio[0].is_edge_triggered);
    assert_true(board.mmio[1].address == UINT64_C(0x8000000000));
    assert_int_equal(board.mmio[1].bytes, 0x200);
    assert_int_equal(board.mmio[1].first_vector, 1019);
    assert_false(board.mmio[1].is_edge_triggered);
    assert_int_equal(messages, 0);
}

/* The partition would be stopped at an access to what it does not have. */
static void has_nothing_else_of_the_board(void **state)
{
    (void)state;
    begin_tree();
    read_tree();
    assert_windows(0);
    assert_int_equal(board.pci.buses, 0);
    assert_int_equal(messages, 0);
}

static void keeps_the_pci_of_the_board(void **state)
{
    (void)state;
    for (unsigned other = 0; other < 2; other++) {
        begin_tree();
        begin_node("pcie@c1000000", "pci-host-ecam-generic"); /* for channels */
        add_region(0xC1000000, 0x100000);
        end_node();
        begin_node("pcie@10000000", "pci-host-ecam-generic");
        add_region(CONFIGURATION + other, 0x10000000);
        end_node();
        read_tree();
        assert_int_equal(board.pci.buses, other == 0 ? 256 : 0);
    }
}

/* Adds /reserved-memory with a region. */
static void add_pool(const char *parent, const char *compatible, uint64_t address, uint64_t bytes)
{
    assert_int_equal(fdt_begin_node(blob, parent), 0);
    begin_node("pool@60000000", compatible);
    add_region(address, bytes);
    assert_int_equal(fdt_property_u32(blob, "phandle", POOL_PHANDLE), 0);
    end_node();
    end_node();
}

static void add_device_with_pool(const char *name, uint32_t phandle)
{
    begin_node(name, "virtio,mmio");
    add_region(ADDRESS, 0x1000);
    add_interrupt(0, 11, 1);
    assert_int_equal(fdt_property_u32(blob, "memory-region", phandle), 0);
    end_node();
}

static void reads_pools(void **state)
{
    (void)state;
    begin_tree();
    add_device(ADDRESS + 0x1000, 0x1000, 12, 1);
    add_device_with_pool("virtio_mmio@c0000000", POOL_PHANDLE);
    add_pool("reserved-memory", POOL_COMPATIBLE, POOL, POOL_BYTES);
    read_tree();
    assert_windows(2);
    assert_int_equal(board.mmio[0].pool_bytes, 0);
    assert_true(board.mmio[1].address == ADDRESS);
    assert_true(board.mmio[1].pool == POOL);
    assert_int_equal(board.mmio[1].pool_bytes, POOL_BYTES);
    assert_int_equal(messages, 0);
}

/* The device has no pool that the driver could use, and must not use other memory. */
static void refuses_malformed_pools(void **state)
{
    static const struct {
        uint32_t phandle;
        const char *parent;
        const char *compatible;
        uint64_t address;
        uint64_t bytes;
    } malformed[] = {
        {POOL_PHANDLE + 1, "reserved-memory", POOL_COMPATIBLE, POOL, POOL_BYTES},
        {0, "reserved-memory", POOL_COMPATIBLE, POOL, POOL_BYTES},
        {UINT32_MAX, "reserved-memory", POOL_COMPATIBLE, POOL, POOL_BYTES},
        {POOL_PHANDLE, "memory", POOL_COMPATIBLE, POOL, POOL_BYTES},
        {POOL_PHANDLE, "reserved-memory", "shared-dma-pool", POOL, POOL_BYTES},
        {POOL_PHANDLE, "reserved-memory", POOL_COMPATIBLE, POOL, 0},
        {POOL_PHANDLE, "reserved-memory", POOL_COMPATIBLE, POOL + 8, POOL_BYTES},
        {POOL_PHANDLE, "reserved-memory", POOL_COMPATIBLE, POOL, POOL_BYTES + 8},
        {POOL_PHANDLE, "reserved-memory", POOL_COMPATIBLE, UINT64_MAX - 0xFFF, POOL_BYTES},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
        begin_tree();
        add_device_with_pool("virtio_mmio@c0000000", malformed[i].phandle);
        add_pool(malformed[i].parent, malformed[i].compatible, malformed[i].address,
                 malformed[i].bytes);
        read_tree();
        assert_windows(0);
        assert_int_equal(messages, 1);
        assert_string_equal(logged, "virtio_mmio@c0000000: its memory-region in the devicetree is "
                                    "no pool of reserved memory");
    }
}

/* Two drivers would give the same memory to their devices. */
static void leaves_out_a_second_device_with_the_same_pool(void **state)
{
    (void)state;
    begin_tree();
    add_device_with_pool("virtio_mmio@c0000000", POOL_PHANDLE);
    add_device_with_pool("virtio_mmio@c0001000", POOL_PHANDLE);
    add_pool("reserved-memory", POOL_COMPATIBLE, POOL, POOL_BYTES);
    read_tree();
    assert_windows(1);
    assert_int_equal(messages, 1);
    assert_string_equal(logged, "virtio_mmio@c0001000: another device has a part of its pool");
}

static void assert_malformed(const char *what)
{
    char expected[sizeof(logged)];

    end_node();
    read_tree();
    assert_windows(0);
    assert_int_equal(messages, 1);
    (void)snprintf(expected, sizeof(expected),
                   "virtio_mmio@1: its %s in the devicetree are malformed", what);
    assert_string_equal(logged, expected);
}

static void begin_device(void)
{
    begin_tree();
    begin_node("virtio_mmio@1", "virtio,mmio");
}

static void refuses_malformed_registers(void **state)
{
    (void)state;
    begin_device();
    add_interrupt(0, 11, 1);
    assert_malformed("registers");
    begin_device();
    assert_int_equal(fdt_property_u64(blob, "reg", ADDRESS), 0);
    add_interrupt(0, 11, 1);
    assert_malformed("registers");
    begin_device();
    add_region(ADDRESS, 0);
    add_interrupt(0, 11, 1);
    assert_malformed("registers");
    begin_device();
    add_region(UINT64_MAX - 0xFFF, 0x1000);
    add_interrupt(0, 11, 1);
    assert_malformed("registers");
}

static void refuses_malformed_interrupts(void **state)
{
    /* Type, number, trigger: a PPI, no SPI, falling, a number that overflows the vector. */
    static const uint32_t malformed[][3] = {
        {1, 11, 1}, {0, 988, 1}, {0, 11, 2}, {0, 11, 0}, {0, UINT32_MAX - 20, 1},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
        begin_device();
        add_region(ADDRESS, 0x1000);
        add_interrupt(malformed[i][0], malformed[i][1], malformed[i][2]);
        assert_malformed("interrupts");
    }
    begin_device();
    add_region(ADDRESS, 0x1000);
    assert_int_equal(fdt_property_u32(blob, "interrupts", 0), 0);
    assert_malformed("interrupts");
    begin_device();
    add_region(ADDRESS, 0x1000);
    assert_malformed("interrupts");
}

static void reports_more_devices_than_it_has_room_for(void **state)
{
    (void)state;
    begin_tree();
    for (unsigned i = 0; i < VIRTIO_RTEMS_MMIO_MAX + 2; i++) {
        add_device(ADDRESS + i * UINT64_C(0x1000), 0x1000, i, 1);
    }
    read_tree();
    assert_windows(VIRTIO_RTEMS_MMIO_MAX);
    assert_int_equal(messages, 2);
    assert_string_equal(logged, "virtio_mmio: there are too many");
}

static bool is_accepted(const void *tree, size_t bytes)
{
    return fdt_check_header(tree) == 0 && fdt_totalsize(tree) <= bytes &&
           fdt_off_dt_struct(tree) % FDT_TAGSIZE == 0;
}

/* Reads a tree with each byte changed to each value. The memory ends with the tree, so that the
 * sanitizers find an access beyond it. */
static void survives_damaged_trees(void **state)
{
    unsigned char *damaged;
    size_t bytes;

    (void)state;
    begin_tree();
    add_device(ADDRESS, 0x1000, 11, 1);
    begin_node("pcie@10000000", "pci-host-ecam-generic");
    add_region(CONFIGURATION, 0x10000000);
    end_node();
    add_device_with_pool("virtio_mmio", POOL_PHANDLE);
    add_pool("reserved-memory", POOL_COMPATIBLE, POOL, POOL_BYTES);
    read_tree();
    bytes = fdt_totalsize(blob);
    damaged = test_malloc(bytes);
    for (size_t at = 0; at < bytes; at++) {
        for (unsigned value = 0; value < DAMAGES; value++) {
            memcpy(damaged, blob, bytes);
            damaged[at] = (unsigned char)value;
            if (is_accepted(damaged, bytes)) {
                board = qemu;
                virtio_rtems_read_devicetree(damaged, &board);
            }
        }
    }
    test_free(damaged);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_devices),
        cmocka_unit_test(has_nothing_else_of_the_board),
        cmocka_unit_test(keeps_the_pci_of_the_board),
        cmocka_unit_test(reads_pools),
        cmocka_unit_test(refuses_malformed_pools),
        cmocka_unit_test(leaves_out_a_second_device_with_the_same_pool),
        cmocka_unit_test(refuses_malformed_registers),
        cmocka_unit_test(refuses_malformed_interrupts),
        cmocka_unit_test(reports_more_devices_than_it_has_room_for),
        cmocka_unit_test(survives_damaged_trees),
    };

    return cmocka_run_group_tests_name("rtems_devicetree", tests, NULL, NULL);
}
