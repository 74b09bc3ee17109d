/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests what the boot maps of shared devices: for the back-end, and for the monitors of both. */
#include "boot_fixture.h"
#include "shared_device/check.h"
#include "shared_device/shared_device.h"
#include "shared_device/state.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define PAGE UINT64_C(0x30000000)

const char *shared_device_check(const struct description *system, uint64_t *value)
{
    return boot_fixture_check(system, value);
}

static int setup(void **state)
{
    (void)state;
    boot_fixture_begin(SHARED_DEVICE_BYTES);
    fixture.description.partition_count = 3;
    fixture.description.partitions[2].memory_count = 2;
    fixture.description.partitions[2].memories[0] =
        (struct description_memory){.guest = 0x40000000, .physical = 0x80000000, .bytes = 0x8000};
    fixture.description.partitions[2].memories[1] =
        (struct description_memory){.guest = 0x10000000, .physical = 0x90000000, .bytes = 0x8000};
    fixture.description.shared_device_count = 1;
    fixture.description.shared_devices[0] = (struct description_shared_device){
        .physical = fixture.physical,
        .page = PAGE,
        .client = 2,
        .backend = 0,
        .config_bytes = 3,
        .config = {7, 8, 9},
        .window_count = 2,
        .windows = {{.client = 0x40001000, .backend = 0x50000000, .bytes = 0x2000},
                    {.client = 0x10000000, .backend = 0x60000000, .bytes = 0x8000}},
    };
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    boot_fixture_end();
    return 0;
}

static void expect(const uint64_t *root, uint64_t guest, uint64_t output, uint64_t attributes)
{
    uint64_t found_output = 0, found_attributes = UNMAPPED;

    (void)tables_find(root, guest, &found_output, &found_attributes);
    assert_int_equal(found_attributes, attributes);
    assert_int_equal(found_output, output);
}

static void backend_reads_the_page_and_has_the_windows(void **state)
{
    uint64_t *root = boot_fixture_root();

    (void)state;
    shared_device_connect(&fixture.partitions[0], root);
    expect(root, PAGE, fixture.physical, STAGE2_CONSTANTS);
    expect(root, PAGE - PAGE_BYTES, 0, UNMAPPED);
    expect(root, PAGE + PAGE_BYTES, 0, UNMAPPED); /* the page that no guest has */
    expect(root, 0x50000000, 0x80001000, STAGE2_DATA);
    expect(root, 0x50001000, 0x80002000, STAGE2_DATA);
    expect(root, 0x4ffff000, 0, UNMAPPED);
    expect(root, 0x50002000, 0, UNMAPPED);
    expect(root, 0x60007000, 0x90007000, STAGE2_DATA);
    expect(root, 0x60008000, 0, UNMAPPED);
    assert_int_equal(fixture.cleaned, 0);
    assert_int_equal(*(const uint8_t *)(uintptr_t)fixture.physical,
                     BOOT_UNTOUCHED); /* the client's part */
}

static void client_has_nothing_mapped(void **state)
{
    const uint8_t *byte = (const uint8_t *)(uintptr_t)fixture.physical;
    const struct shared_device_state *hidden = (const void *)(byte + PAGE_BYTES);
    static const uint8_t config[SHARED_DEVICE_CONFIG_BYTES] = {7, 8, 9};
    uint64_t *root = boot_fixture_root();

    (void)state;
    shared_device_connect(&fixture.partitions[2], root);
    shared_device_connect(&fixture.partitions[1], root);
    for (unsigned i = 0; i < 512; i++) {
        assert_int_equal(root[i], 0);
    }
    for (uint64_t i = 0; i < PAGE_BYTES; i++) {
        assert_int_equal(byte[i], 0);
    }
    assert_memory_equal(hidden->registers.config, config, sizeof(config));
    assert_int_equal(hidden->serves | hidden->acknowledged | hidden->lock.next, 0);
    assert_int_equal(byte[SHARED_DEVICE_BYTES - 1], 0);
    assert_int_equal(byte[SHARED_DEVICE_BYTES], BOOT_UNTOUCHED);
    assert_int_equal(byte[-1], BOOT_UNTOUCHED);
    assert_int_equal(fixture.cleaned, fixture.physical);
    assert_int_equal(fixture.cleaned_end, fixture.physical + SHARED_DEVICE_BYTES);
}

static void monitors_of_both_map_both_pages(void **state)
{
    uint64_t root = 0;

    (void)state;
    shared_device_map(&root, &fixture.partitions[1]);
    assert_int_equal(fixture.mappings, 0);
    shared_device_map(&root, &fixture.partitions[0]);
    shared_device_map(&root, &fixture.partitions[2]);
    assert_int_equal(fixture.mappings, 2);
    assert_int_equal(fixture.mapped, fixture.physical);
    assert_int_equal(fixture.mapped_bytes, SHARED_DEVICE_BYTES);
}

static void boot_core_maps_all(void **state)
{
    uint64_t root = 0;

    (void)state;
    shared_device_prepare(&fixture.description, &root);
    assert_int_equal(fixture.probed, fixture.physical + SHARED_DEVICE_BYTES - 4);
    assert_int_equal(fixture.mappings, 1);
    assert_int_equal(fixture.mapped, fixture.physical);
    assert_int_equal(fixture.mapped_bytes, SHARED_DEVICE_BYTES);
}

static void invalid_devices_end_the_boot(void **state)
{
    uint64_t root = 0;

    (void)state;
    fixture.problem = "they are wrong";
    if (setjmp(fixture.refused) == 0) {
        shared_device_prepare(&fixture.description, &root);
        fail();
    }
    assert_int_equal(fixture.mappings, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(backend_reads_the_page_and_has_the_windows, setup,
                                        tear_down),
        cmocka_unit_test_setup_teardown(client_has_nothing_mapped, setup, tear_down),
        cmocka_unit_test_setup_teardown(monitors_of_both_map_both_pages, setup, tear_down),
        cmocka_unit_test_setup_teardown(boot_core_maps_all, setup, tear_down),
        cmocka_unit_test_setup_teardown(invalid_devices_end_the_boot, setup, tear_down),
    };

    return cmocka_run_group_tests_name("shared_device_boot", tests, NULL, NULL);
}
