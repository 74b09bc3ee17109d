/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests kernel/devicetree on trees compiled by dtc: argument 1 is virt.dtb, argument 2 buses.dtb.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/devicetree.h"
#include "tree.h"
#include <libfdt.h>
#include <stdlib.h>
#include <string.h>

static const char *virt_path, *buses_path;
static void *blob;
static size_t blob_bytes;

static int load(const char *path)
{
    blob = tree_load(path, &blob_bytes);
    assert_int_equal(devicetree_init(blob), RESULT_OK);
    return 0;
}

static int load_virt(void **state)
{
    (void)state;
    return load(virt_path);
}

static int load_buses(void **state)
{
    (void)state;
    return load(buses_path);
}

static int unload(void **state)
{
    (void)state;
    free(blob);
    return 0;
}

static void assert_reg(int node, unsigned index, uint64_t address, uint64_t size)
{
    uint64_t found_address, found_size;

    assert_int_equal(devicetree_reg(node, index, &found_address, &found_size), RESULT_OK);
    assert_int_equal(found_address, address);
    assert_int_equal(found_size, size);
}

static void assert_no_reg(int node, unsigned index, enum result expected)
{
    uint64_t address, size;

    assert_int_equal(devicetree_reg(node, index, &address, &size), expected);
}

static void assert_interrupt(int node, unsigned index, uint32_t number,
                             enum interrupt_trigger trigger)
{
    uint32_t found_number;
    enum interrupt_trigger found_trigger;

    assert_int_equal(devicetree_interrupt(node, index, &found_number, &found_trigger), RESULT_OK);
    assert_int_equal(found_number, number);
    assert_int_equal(found_trigger, trigger);
}

static void assert_no_interrupt(int node, unsigned index, enum result expected)
{
    uint32_t number;
    enum interrupt_trigger trigger;

    assert_int_equal(devicetree_interrupt(node, index, &number, &trigger), expected);
}

static int one(const char *compatible)
{
    int node = devicetree_next_compatible(-1, compatible);

    assert_true(node >= 0);
    assert_int_equal(devicetree_next_compatible(node, compatible), -1);
    return node;
}

/* Compares names and nesting of all nodes with libfdt. */
static void test_walk_agrees_with_libfdt(void **state)
{
    int depth = 0, count = 0;

    (void)state;
    for (int node = fdt_next_node(blob, -1, &depth); node >= 0 && depth >= 0;
         node = fdt_next_node(blob, node, &depth)) {
        char path[256];
        int parent = fdt_parent_offset(blob, node);

        assert_int_equal(devicetree_parent(node), parent < 0 ? -1 : parent);
        assert_int_equal(fdt_get_path(blob, node, path, sizeof(path)), 0);
        assert_int_equal(devicetree_find(path, strlen(path)), node);
        for (int child = devicetree_next_child(node, -1), other = fdt_first_subnode(blob, node);
             child >= 0 || other >= 0;
             child = devicetree_next_child(node, child), other = fdt_next_subnode(blob, other)) {
            assert_int_equal(child, other);
        }
        count++;
    }
    assert_true(count >= 15);
}

static void test_properties_agree_with_libfdt(void **state)
{
    int depth = 0;

    (void)state;
    for (int node = fdt_next_node(blob, -1, &depth); node >= 0 && depth >= 0;
         node = fdt_next_node(blob, node, &depth)) {
        int property;

        fdt_for_each_property_offset(property, blob, node)
        {
            const char *name;
            int length;
            const void *value = fdt_getprop_by_offset(blob, property, &name, &length);
            unsigned bytes = 0;

            assert_ptr_equal(devicetree_property(node, name, &bytes), value);
            assert_int_equal(bytes, length);
        }
        assert_null(devicetree_property(node, "no such property", NULL));
    }
}

static void test_search(void **state)
{
    int first, second;

    (void)state;
    first = devicetree_next_compatible(-1, "virtio,mmio");
    second = devicetree_next_compatible(first, "virtio,mmio");
    assert_true(first >= 0 && second > first);
    assert_int_equal(devicetree_next_compatible(second, "virtio,mmio"), -1);
    assert_int_equal(devicetree_next_compatible(-1, "arm,psci-0.2"),
                     devicetree_next_compatible(-1, "arm,psci"));
    assert_int_equal(devicetree_next_compatible(-1, "arm,psc"), -1);
    assert_int_equal(devicetree_next_compatible(-1, "virtio"), -1);
    assert_int_equal(devicetree_next_compatible(3, "virtio,mmio"), -1);
    assert_int_equal(devicetree_next_compatible(1 << 20, "virtio,mmio"), -1);
    assert_int_equal(devicetree_find("/memory", 7),
                     devicetree_next_with(-1, "device_type", "memory"));
    assert_int_equal(devicetree_find("/", 1), 0);
    assert_int_equal(devicetree_find("/intc/its", 9), one("arm,gic-v3-its"));
    assert_int_equal(devicetree_find("/int", 4), -1);
    assert_int_equal(devicetree_find("/intc@8000001", 13), -1);
    assert_int_equal(devicetree_by_phandle(fdt_get_phandle(blob, one("arm,gic-v3"))),
                     one("arm,gic-v3"));
    assert_int_equal(devicetree_by_phandle(0), -1);
    assert_int_equal(devicetree_by_phandle(UINT32_MAX), -1);
    assert_int_equal(devicetree_by_phandle(77), -1);
}

static void test_virt_addresses(void **state)
{
    (void)state;
    assert_reg(one("arm,pl011"), 0, 0x9000000, 0x1000);
    assert_reg(one("arm,gic-v3"), 0, 0x8000000, 0x10000);
    assert_reg(one("arm,gic-v3"), 1, 0x80a0000, 0xf60000);
    assert_no_reg(one("arm,gic-v3"), 2, RESULT_NOT_FOUND);
    assert_reg(one("arm,gic-v3-its"), 0, 0x8080000, 0x20000);
    assert_reg(one("pci-host-ecam-generic"), 0, 0x4010000000, 0x10000000);
    assert_reg(devicetree_next_with(-1, "device_type", "memory"), 0, 0x40000000, 0x8000000);
    assert_no_reg(one("arm,armv8-timer"), 0, RESULT_NOT_FOUND);
    assert_no_reg(one("arm,cortex-a53"), 0, RESULT_NOT_FOUND); /* a number, not an address */
    assert_no_reg(-1, 0, RESULT_NOT_FOUND);
}

static void test_virt_interrupts(void **state)
{
    int node;

    (void)state;
    assert_interrupt(one("arm,armv8-timer"), 0, 29, INTERRUPT_LEVEL);
    assert_interrupt(one("arm,armv8-timer"), 2, 27, INTERRUPT_LEVEL);
    assert_no_interrupt(one("arm,armv8-timer"), 4, RESULT_NOT_FOUND);
    assert_interrupt(one("arm,pl011"), 0, 33, INTERRUPT_LEVEL);
    node = devicetree_next_compatible(-1, "virtio,mmio");
    assert_interrupt(node, 0, 48, INTERRUPT_EDGE);
    assert_interrupt(devicetree_next_compatible(node, "virtio,mmio"), 0, 49, INTERRUPT_EDGE);
    assert_no_interrupt(one("arm,gic-v3"), 0, RESULT_NOT_FOUND);
}

static void test_virt_interrupt_map(void **state)
{
    int node = one("pci-host-ecam-generic");
    uint32_t number;
    enum interrupt_trigger trigger;

    (void)state;
    for (uint32_t device = 0; device < 8; device++) {
        for (uint32_t pin = 1; pin <= 4; pin++) {
            /* Bus and function are masked out. */
            const uint32_t specifier[] = {0x120000 | device << 11 | 5 << 8, 0, 0, pin};
            enum result result = devicetree_mapped_interrupt(node, specifier, 4, &number, &trigger);

            if ((device & 3) < 2) {
                assert_int_equal(result, RESULT_OK);
                assert_int_equal(number, 35 + (device + pin - 1) % 4);
                assert_int_equal(trigger, INTERRUPT_LEVEL);
            } else {
                assert_int_equal(result, RESULT_NOT_FOUND);
            }
        }
    }
    assert_int_equal(
        devicetree_mapped_interrupt(node, (const uint32_t[]){0, 0, 0}, 3, &number, &trigger),
        RESULT_INVALID);
    assert_int_equal(devicetree_mapped_interrupt(one("arm,pl011"), &number, 0, &number, &trigger),
                     RESULT_NOT_FOUND);
}

static void test_arguments(void **state)
{
    char value[16];

    (void)state;
    assert_true(boot_argument("exit", value, sizeof(value)));
    assert_string_equal(value, "semihosting");
    assert_true(boot_argument("exit", value, 5));
    assert_string_equal(value, "semi");
    assert_true(boot_argument("exit", value, 0));
    assert_true(boot_argument("name", value, sizeof(value)));
    assert_string_equal(value, "last");
    assert_true(boot_argument("flag", value, sizeof(value)));
    assert_string_equal(value, "");
    assert_true(boot_argument("empty", value, sizeof(value)));
    assert_string_equal(value, "");
    assert_false(boot_argument("nam", value, sizeof(value)));
    assert_false(boot_argument("semihosting", value, sizeof(value)));
    assert_false(boot_argument("missing", value, sizeof(value)));
}

static void assert_refused(const char *name, uint64_t minimum, uint64_t maximum)
{
    tree_printed[0] = 0;
    assert_int_equal(boot_argument_number(name, 7, minimum, maximum), 7);
    assert_non_null(strstr(tree_printed, name));
}

static void test_number_arguments(void **state)
{
    (void)state;
    tree_printed[0] = 0;
    assert_int_equal(boot_argument_number("count", 1, 0, 100), 12);
    assert_int_equal(boot_argument_number("count", 1, 12, 12), 12);
    assert_int_equal(boot_argument_number("hex", 1, 0, 100), 31);
    assert_int_equal(boot_argument_number("big", 1, 0, UINT64_MAX), UINT64_MAX);
    assert_int_equal(boot_argument_number("missing", 7, 8, 9), 7);
    assert_string_equal(tree_printed, "");
    assert_refused("count", 13, 100);
    assert_refused("count", 0, 11);
    assert_refused("huge", 0, UINT64_MAX);
    assert_refused("bad", 0, 100);
    assert_refused("empty", 0, 100);
    assert_refused("flag", 0, 100);
    assert_refused("exit", 0, 100);
}

static void test_bus_addresses(void **state)
{
    uint64_t address;
    int bus = devicetree_parent(one("test,deep"));

    (void)state;
    assert_reg(one("test,direct"), 0, 0x180000100, 0x10);
    assert_reg(one("test,direct"), 1, 0x200000800, 0x800);
    assert_reg(one("test,deep"), 0, 0x180004010, 0x20);
    assert_no_reg(one("test,deep"), 1, RESULT_NOT_FOUND); /* crosses the window's end */
    assert_no_reg(one("test,deep"), 2, RESULT_NOT_FOUND); /* before the window */
    assert_no_reg(one("test,deep"), 3, RESULT_NOT_FOUND);
    assert_no_reg(one("test,unreachable"), 0, RESULT_NOT_FOUND);
    assert_no_reg(one("test,odd"), 0, RESULT_NOT_FOUND); /* an address without size */
    assert_no_reg(one("test,wide"), 0, RESULT_UNSUPPORTED);
    assert_no_reg(one("test,wraps"), 0, RESULT_NOT_FOUND);
    assert_reg(one("test,overflowing"), 0, 0xfffffffffffff800, 0x10);
    assert_no_reg(one("test,overflowing"), 1, RESULT_INVALID);
    assert_reg(one("test,top"), 0, 0xfffffffffffffff0, 0x10);
    assert_no_reg(one("test,top"), 1, RESULT_INVALID);
    address = 0x900000ff0;
    assert_int_equal(devicetree_translate(bus, &address, 0x10), RESULT_OK);
    assert_int_equal(address, 0x180004ff0);
    address = 0x900000ff0;
    assert_int_equal(devicetree_translate(bus, &address, 0x11), RESULT_NOT_FOUND);
    assert_int_equal(devicetree_translate(1, &address, 1), RESULT_INVALID);
}

static void test_status(void **state)
{
    (void)state;
    assert_int_equal(devicetree_next_compatible(-1, "test,off"), -1);
    (void)one("test,odd"); /* "ok" counts, "fail" does not */
}

static void test_bus_interrupts(void **state)
{
    int direct = one("test,direct"), deep = one("test,deep");

    (void)state;
    assert_interrupt(direct, 0, 133, INTERRUPT_LEVEL);
    assert_interrupt(direct, 1, 134, INTERRUPT_EDGE);
    assert_interrupt(direct, 2, 140, INTERRUPT_LEVEL); /* through two nexus nodes */
    assert_no_interrupt(direct, 3, RESULT_NOT_FOUND);  /* not in the map */
    assert_no_interrupt(direct, 4, RESULT_INVALID);    /* circular */
    assert_interrupt(deep, 0, 21, INTERRUPT_LEVEL);
    assert_no_interrupt(deep, 1, RESULT_UNSUPPORTED); /* not for a GIC */
    assert_no_interrupt(deep, 2, RESULT_UNSUPPORTED); /* extended SPI */
    assert_no_interrupt(deep, 3, RESULT_INVALID);     /* SPI 988 */
    assert_no_interrupt(deep, 4, RESULT_INVALID);     /* PPI 16 */
    assert_no_interrupt(deep, 5, RESULT_NOT_FOUND);
    assert_interrupt(one("test,cut"), 0, 133, INTERRUPT_LEVEL);
    assert_no_interrupt(one("test,cut"), 1, RESULT_INVALID);
    assert_no_interrupt(one("test,odd"), 0, RESULT_INVALID);
    assert_no_interrupt(one("test,top"), 0, RESULT_INVALID); /* parent of itself */
}

static void test_bad_headers(void **state)
{
    struct fdt_header *header = blob;

    (void)state;
    header->magic ^= 1;
    assert_int_equal(devicetree_init(blob), RESULT_INVALID);
    assert_int_equal(devicetree_next_compatible(-1, "arm,gic-v3"), -1);
    assert_null(devicetree_blob());
    header->magic ^= 1;
    assert_int_equal(devicetree_init((const char *)blob + 4), RESULT_INVALID);
    header->version = cpu_to_fdt32(16);
    header->last_comp_version = cpu_to_fdt32(16);
    assert_int_equal(devicetree_init(blob), RESULT_INVALID);
    header->version = cpu_to_fdt32(17);
    assert_int_equal(devicetree_init(blob), RESULT_OK);
    header->size_dt_struct = cpu_to_fdt32(fdt_size_dt_struct(blob) - 4); /* no FDT_END */
    assert_int_equal(devicetree_init(blob), RESULT_INVALID);
}

/* Nodes nested deeper than the limit, and a tree with a second root. */
static void test_bad_structures(void **state)
{
    static uint64_t buffer[512];

    (void)state;
    for (int depth = 15; depth <= 18; depth++) {
        assert_int_equal(fdt_create(buffer, sizeof(buffer)), 0);
        assert_int_equal(fdt_finish_reservemap(buffer), 0);
        for (int level = 0; level < depth; level++) {
            assert_int_equal(fdt_begin_node(buffer, level == 0 ? "" : "n"), 0);
            assert_int_equal(fdt_property_u32(buffer, "p", (uint32_t)level), 0);
        }
        for (int level = 0; level < depth; level++) {
            assert_int_equal(fdt_end_node(buffer), 0);
        }
        assert_int_equal(fdt_finish(buffer), 0);
        assert_int_equal(devicetree_init(buffer), depth <= 16 ? RESULT_OK : RESULT_INVALID);
    }
    assert_int_equal(fdt_create(buffer, sizeof(buffer)), 0);
    assert_int_equal(fdt_finish_reservemap(buffer), 0);
    for (int root = 0; root < 2; root++) {
        assert_int_equal(fdt_begin_node(buffer, ""), 0);
        assert_int_equal(fdt_end_node(buffer), 0);
    }
    assert_int_equal(fdt_finish(buffer), 0);
    assert_int_equal(devicetree_init(buffer), RESULT_INVALID);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest virt[] = {
        cmocka_unit_test_setup_teardown(test_walk_agrees_with_libfdt, load_virt, unload),
        cmocka_unit_test_setup_teardown(test_properties_agree_with_libfdt, load_virt, unload),
        cmocka_unit_test_setup_teardown(test_search, load_virt, unload),
        cmocka_unit_test_setup_teardown(test_virt_addresses, load_virt, unload),
        cmocka_unit_test_setup_teardown(test_virt_interrupts, load_virt, unload),
        cmocka_unit_test_setup_teardown(test_virt_interrupt_map, load_virt, unload),
        cmocka_unit_test_setup_teardown(test_arguments, load_virt, unload),
        cmocka_unit_test_setup_teardown(test_number_arguments, load_virt, unload),
        cmocka_unit_test_setup_teardown(test_walk_agrees_with_libfdt, load_buses, unload),
        cmocka_unit_test_setup_teardown(test_properties_agree_with_libfdt, load_buses, unload),
        cmocka_unit_test_setup_teardown(test_bus_addresses, load_buses, unload),
        cmocka_unit_test_setup_teardown(test_status, load_buses, unload),
        cmocka_unit_test_setup_teardown(test_bus_interrupts, load_buses, unload),
        cmocka_unit_test_setup_teardown(test_bad_headers, load_virt, unload),
        cmocka_unit_test(test_bad_structures),
    };

    if (count != 3) {
        return 2;
    }
    virt_path = arguments[1];
    buses_path = arguments[2];
    return cmocka_run_group_tests_name("devicetree", virt, NULL, NULL);
}
