/* SPDX-License-Identifier: BSD-2-Clause */
/* The properties `bulkhead,supply` and `bulkhead,vcpu-costs` of a CPU: read, absent, and wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "boot/supply.h"
#include "kernel/devicetree.h"
#include "tree.h"
#include <libfdt.h>
#include <string.h>

#define BLOB_BYTES 1024

/* Budget, period, delay, waiting, piece and cost: each a number above 32 bits, and one below. */
static uint32_t cells[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};

/* Makes the kernel load a tree with two CPUs. The first one has both properties with `count` cells
 * and `more` bytes; none if both are 0. */
static void load(void *blob, unsigned count, unsigned more)
{
    unsigned char value[sizeof(cells)];

    for (unsigned i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
        fdt32_t cell = cpu_to_fdt32(cells[i]);

        memcpy(value + i * sizeof(cell), &cell, sizeof(cell));
    }
    assert_int_equal(fdt_create(blob, BLOB_BYTES), 0);
    assert_int_equal(fdt_finish_reservemap(blob), 0);
    assert_int_equal(fdt_begin_node(blob, ""), 0);
    assert_int_equal(fdt_begin_node(blob, "cpus"), 0);
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        assert_int_equal(fdt_begin_node(blob, cpu == 0 ? "cpu@0" : "cpu@1"), 0);
        assert_int_equal(fdt_property_string(blob, "device_type", "cpu"), 0);
        if (cpu == 0 && count + more > 0) {
            assert_int_equal(fdt_property(blob, "bulkhead,supply", value, (int)(count * 4 + more)),
                             0);
            assert_int_equal(
                fdt_property(blob, "bulkhead,vcpu-costs", value, (int)(count * 4 + more)), 0);
        }
        if (cpu == 1) {
            assert_int_equal(fdt_property(blob, "bulkhead,supply", value, 48), 0);
        }
        assert_int_equal(fdt_end_node(blob), 0);
    }
    assert_int_equal(fdt_end_node(blob), 0);
    assert_int_equal(fdt_end_node(blob), 0);
    assert_int_equal(fdt_finish(blob), 0);
    assert_int_equal(devicetree_init(blob), RESULT_OK);
    tree_printed[0] = 0;
}

static void test_members(void **state)
{
    static uint64_t blob[BLOB_BYTES / 8];
    struct supply supply;

    (void)state;
    load(blob, 12, 0);
    assert_true(supply_read(&supply));
    assert_true(supply.budget == (UINT64_C(1) << 32 | 2));
    assert_true(supply.period == (UINT64_C(3) << 32 | 4));
    assert_true(supply.delay == (UINT64_C(5) << 32 | 6));
    assert_true(supply.waiting == (UINT64_C(7) << 32 | 8));
    assert_true(supply.piece == (UINT64_C(9) << 32 | 10));
    assert_true(supply.cost == (UINT64_C(11) << 32 | 12));
    assert_string_equal(tree_printed, "");
}

static void test_absent(void **state)
{
    static uint64_t blob[BLOB_BYTES / 8];
    struct supply supply;

    (void)state;
    load(blob, 0, 0);
    assert_false(supply_read(&supply));
    assert_string_equal(tree_printed, "");
}

static void test_wrong_lengths(void **state)
{
    static const unsigned lengths[][2] = {{0, 1}, {1, 0}, {11, 0}, {12, 1}, {11, 3}, {13, 0}};
    static uint64_t blob[BLOB_BYTES / 8];
    struct supply supply;

    (void)state;
    for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        load(blob, lengths[i][0], lengths[i][1]);
        assert_true(supply_read(&supply));
        assert_true(supply.budget == 0);
        assert_non_null(strstr(tree_printed, "is malformed\n"));
    }
}

static void test_costs(void **state)
{
    static uint64_t blob[BLOB_BYTES / 8];
    struct guest_costs costs;

    (void)state;
    load(blob, 8, 0);
    assert_true(guest_costs_read(&costs));
    assert_true(costs.enter == (UINT64_C(1) << 32 | 2));
    assert_true(costs.leave == (UINT64_C(3) << 32 | 4));
    assert_true(costs.end == (UINT64_C(5) << 32 | 6));
    assert_true(costs.early == (UINT64_C(7) << 32 | 8));
    assert_string_equal(tree_printed, "");
    load(blob, 0, 0);
    assert_false(guest_costs_read(&costs));
    assert_string_equal(tree_printed, "");
}

/* Costs that cannot be read, or computed with, leave no room for a VCPU. */
static void test_wrong_costs(void **state)
{
    static const unsigned lengths[][2] = {{0, 1}, {7, 0}, {8, 1}, {9, 0}, {12, 0}};
    static uint64_t blob[BLOB_BYTES / 8];
    struct guest_costs costs;

    (void)state;
    for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        load(blob, lengths[i][0], lengths[i][1]);
        assert_true(guest_costs_read(&costs));
        assert_true(costs.end == SCHEDULE_PERIOD_MAX);
        assert_non_null(strstr(tree_printed, "no VCPUs: the property bulkhead,vcpu-costs is"));
    }
    for (unsigned i = 0; i < 8; i += 2) {
        uint32_t good = cells[i];

        cells[i] = 1u << 8; /* 2^40 and more */
        load(blob, 8, 0);
        assert_true(guest_costs_read(&costs));
        assert_true(costs.end == SCHEDULE_PERIOD_MAX);
        assert_non_null(strstr(tree_printed, "no VCPUs: the property bulkhead,vcpu-costs is"));
        cells[i] = good;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),       cmocka_unit_test(test_absent),
        cmocka_unit_test(test_wrong_lengths), cmocka_unit_test(test_costs),
        cmocka_unit_test(test_wrong_costs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
