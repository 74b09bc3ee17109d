/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests which pools the port to our kernel takes from a devicetree. */
#include "device_pool.h"
#include "kernel/devicetree.h"
#include "tree.h"
#include "virtio/platform.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include <arch/mmu.h>
#include <libfdt.h>
#include <string.h>

#define BLOB_BYTES 4096
#define POOL       UINT64_C(0x60000000)
#define POOL_BYTES UINT64_C(0x40000)
#define POOLS_MAX  3u
#define MALFORMED  "its memory-region in the devicetree is no pool of reserved memory"
#define DAMAGES    256u /* values of a byte */

/* A child of /reserved-memory. Its phandle is its number + 1. */
struct region {
    const char *compatible;
    uint64_t address;
    uint64_t bytes;
};

static const struct region usual[POOLS_MAX] = {
    {"restricted-dma-pool", POOL, POOL_BYTES},
    {"bulkhead,kept", POOL + POOL_BYTES, POOL_BYTES},
    {"restricted-dma-pool", POOL + 2 * POOL_BYTES, POOL_BYTES},
};
static uint64_t blob[BLOB_BYTES / 8];
static uint64_t mapped;     /* address of the last mapping */
static size_t mapped_bytes; /* 0: nothing was mapped */
static enum result map_result;

enum result arch_mmu_map_memory(uint64_t address, size_t bytes)
{
    mapped = address;
    mapped_bytes = bytes;
    return map_result;
}

virtio_address virtio_platform_dma_address(const void *memory)
{
    return (virtio_address)(uintptr_t)memory;
}

void *virtio_platform_allocate(size_t bytes)
{
    return calloc(1, bytes);
}

void virtio_platform_free(void *memory, size_t bytes)
{
    (void)bytes;
    free(memory);
}

void *virtio_platform_dma_allocate(size_t bytes, size_t alignment, virtio_address *address)
{
    (void)bytes;
    (void)alignment;
    (void)address;
    fail();
    return NULL;
}

void virtio_platform_dma_free(void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
    fail();
}

void virtio_platform_log(const char *format, ...)
{
    (void)format;
    fail();
}

static void add_number(const char *name, uint32_t number)
{
    assert_int_equal(fdt_property_u32(blob, name, number), 0);
}

static void add_compatible(const char *text)
{
    assert_int_equal(fdt_property(blob, "compatible", text, (int)strlen(text) + 1), 0);
}

static void add_regions(const struct region *regions, const char *parent)
{
    assert_int_equal(fdt_begin_node(blob, parent), 0);
    add_number("#address-cells", 2);
    add_number("#size-cells", 2);
    assert_int_equal(fdt_property(blob, "ranges", "", 0), 0);
    for (unsigned i = 0; i < POOLS_MAX; i++) {
        fdt64_t reg[] = {cpu_to_fdt64(regions[i].address), cpu_to_fdt64(regions[i].bytes)};
        char name[] = "pool@0";

        name[sizeof(name) - 2] = (char)('0' + i);
        assert_int_equal(fdt_begin_node(blob, name), 0);
        add_compatible(regions[i].compatible);
        assert_int_equal(fdt_property(blob, "reg", reg, sizeof(reg)), 0);
        add_number("phandle", i + 1);
        assert_int_equal(fdt_end_node(blob), 0);
    }
    assert_int_equal(fdt_end_node(blob), 0);
}

/* Makes a tree with a device for each phandle; 0: a device without a pool. */
static void load(const struct region *regions, const char *parent, const uint32_t *phandles,
                 unsigned devices)
{
    assert_int_equal(fdt_create(blob, BLOB_BYTES), 0);
    assert_int_equal(fdt_finish_reservemap(blob), 0);
    assert_int_equal(fdt_begin_node(blob, ""), 0);
    add_number("#address-cells", 2);
    add_number("#size-cells", 2);
    add_regions(regions, parent);
    for (unsigned i = 0; i < devices; i++) {
        assert_int_equal(fdt_begin_node(blob, "virtio_mmio"), 0);
        add_compatible("virtio,mmio");
        if (phandles[i] != 0) {
            add_number("memory-region", phandles[i]);
        }
        assert_int_equal(fdt_end_node(blob), 0);
    }
    assert_int_equal(fdt_end_node(blob), 0);
    assert_int_equal(fdt_finish(blob), 0);
    assert_int_equal(devicetree_init(blob), RESULT_OK);
}

static int reset(void **state)
{
    (void)state;
    mapped_bytes = 0;
    map_result = RESULT_OK;
    return 0;
}

static int device(unsigned index)
{
    int node = devicetree_next_compatible(-1, "virtio,mmio");

    while (index-- > 0) {
        node = devicetree_next_compatible(node, "virtio,mmio");
    }
    return node;
}

static void assert_refused(unsigned index, const char *expected)
{
    struct virtio_device_pool pool;
    const char *reason = NULL;

    assert_false(virtio_device_pool_find(device(index), &pool, &reason));
    assert_string_equal(reason, expected);
}

static void finds_the_pool_of_each_device(void **state)
{
    static const uint32_t phandles[] = {3, 0, 1};
    struct virtio_device_pool pools[3];
    struct virtio_transport transport = {.pool = NULL};
    const char *reason = NULL;

    (void)state;
    load(usual, "reserved-memory", phandles, 3);
    for (unsigned i = 0; i < 3; i++) {
        mapped_bytes = 0;
        transport.pool = NULL;
        assert_true(virtio_device_pool_find(device(i), &pools[i], &reason));
        virtio_device_pool_use(&pools[i], &transport);
        if (phandles[i] == 0) {
            assert_null(transport.pool);
            assert_int_equal(mapped_bytes, 0);
        } else {
            assert_ptr_equal(transport.pool, &pools[i].pool);
            assert_true(mapped == usual[phandles[i] - 1].address);
            assert_int_equal(mapped_bytes, POOL_BYTES);
            assert_int_equal(virtio_pool_free_bytes(&pools[i].pool), POOL_BYTES);
        }
    }
    assert_null(reason);
}

/* Memory that is no pool, no node, no phandle. */
static void refuses_what_is_no_pool(void **state)
{
    static const uint32_t phandles[] = {2, 99, UINT32_MAX};

    (void)state;
    load(usual, "reserved-memory", phandles, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_refused(i, MALFORMED);
    }
    assert_int_equal(mapped_bytes, 0);
}

/* The kernel would use the memory for its heap, too. */
static void refuses_memory_that_is_not_reserved(void **state)
{
    static const uint32_t phandles[] = {1};

    (void)state;
    load(usual, "memory", phandles, 1);
    assert_refused(0, MALFORMED);
    assert_int_equal(mapped_bytes, 0);
}

static void refuses_malformed_regions(void **state)
{
    static const uint64_t malformed[][2] = {
        {POOL, 0},
        {POOL + 0x200, POOL_BYTES},
        {POOL, POOL_BYTES + 0x200},
        {UINT64_MAX - 0xFFF, 0x1000},
        {UINT64_MAX - 0x1FFF, 0x3000},
    };
    static const uint32_t phandles[] = {1};

    (void)state;
    for (unsigned i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
        struct region regions[POOLS_MAX];

        memcpy(regions, usual, sizeof(regions));
        regions[0].address = malformed[i][0];
        regions[0].bytes = malformed[i][1];
        load(regions, "reserved-memory", phandles, 1);
        assert_refused(0, MALFORMED);
    }
    assert_int_equal(mapped_bytes, 0);
}

/* Two drivers would give the same memory to their devices. */
static void refuses_a_pool_of_two_devices(void **state)
{
    static const uint32_t same[] = {1, 1};
    static const uint32_t overlapping[] = {1, 3};
    struct region regions[POOLS_MAX];

    (void)state;
    load(usual, "reserved-memory", same, 2);
    assert_refused(0, "another device has a part of its pool");
    assert_refused(1, "another device has a part of its pool");
    memcpy(regions, usual, sizeof(regions));
    regions[2].address = POOL + POOL_BYTES - 0x1000;
    load(regions, "reserved-memory", overlapping, 2);
    assert_refused(0, "another device has a part of its pool");
    assert_refused(1, "another device has a part of its pool");
    assert_int_equal(mapped_bytes, 0);
}

static void reports_a_pool_that_cannot_be_mapped(void **state)
{
    static const uint32_t phandles[] = {1};

    (void)state;
    load(usual, "reserved-memory", phandles, 1);
    map_result = RESULT_NO_MEMORY;
    assert_refused(0, "its pool cannot be mapped");
}

/* Looks for the pools of a tree with each byte changed to each value. The memory ends with the
 * tree, so that the sanitizers find an access beyond it. */
static void survives_damaged_trees(void **state)
{
    static const uint32_t phandles[] = {1, 3};
    unsigned char *damaged;
    size_t bytes;

    (void)state;
    load(usual, "reserved-memory", phandles, 2);
    bytes = fdt_totalsize(blob);
    damaged = test_malloc(bytes);
    for (size_t at = 0; at < bytes; at++) {
        for (unsigned value = 0; value < DAMAGES; value++) {
            struct virtio_device_pool pool;
            const char *reason;

            memcpy(damaged, blob, bytes);
            damaged[at] = (unsigned char)value;
            if (fdt_check_header(damaged) != 0 || fdt_totalsize(damaged) > bytes ||
                devicetree_init(damaged) != RESULT_OK) {
                continue;
            }
            for (int node = device(0); node >= 0;
                 node = devicetree_next_compatible(node, "virtio,mmio")) {
                if (virtio_device_pool_find(node, &pool, &reason) && pool.exists) {
                    assert_int_equal((mapped | mapped_bytes) % VIRTIO_POOL_ALIGNMENT, 0);
                }
            }
        }
    }
    test_free(damaged);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(finds_the_pool_of_each_device, reset),
        cmocka_unit_test_setup(refuses_what_is_no_pool, reset),
        cmocka_unit_test_setup(refuses_memory_that_is_not_reserved, reset),
        cmocka_unit_test_setup(refuses_malformed_regions, reset),
        cmocka_unit_test_setup(refuses_a_pool_of_two_devices, reset),
        cmocka_unit_test_setup(reports_a_pool_that_cannot_be_mapped, reset),
        cmocka_unit_test_setup(survives_damaged_trees, reset),
    };

    return cmocka_run_group_tests_name("kernel_device_pool", tests, NULL, NULL);
}
