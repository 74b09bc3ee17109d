/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests what the boot maps of shared devices: for the back-end, and for the monitors of both. */
#include "boot/boot.h"
#include "console/terminal.h"
#include "partition/load.h"
#include "shared_device/check.h"
#include "shared_device/shared_device.h"
#include "shared_device/state.h"
#include <arch/device_access.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define POOL_PAGES 64u
#define PAGE       UINT64_C(0x30000000)
#define UNMAPPED   UINT64_MAX

struct page_pool boot_pool;

static struct description description;
static struct partition partitions[3];
static uint8_t *memory;   /* pages of the pool, then those of the device, then one page more */
static uint64_t physical; /* of the device */
static uint64_t probed, cleaned, cleaned_end, mapped, mapped_bytes;
static unsigned mappings;
static const char *problem; /* what shared_device_check() returns */
static jmp_buf refused;

const char *shared_device_check(const struct description *system, uint64_t *value)
{
    assert_ptr_equal(system, &description);
    *value = 5;
    return problem;
}

_Noreturn void boot_refuse(const char *text, uint64_t number)
{
    assert_non_null(text);
    assert_int_equal(number, 5);
    longjmp(refused, 1);
}

void terminal_explain(const char *text)
{
    assert_string_equal(text, "the board has no memory at");
}

uint32_t device_read32(uintptr_t address)
{
    probed = address;
    return 0;
}

void boot_map(uint64_t *root, uint64_t start, uint64_t bytes, uint64_t attributes)
{
    assert_non_null(root);
    assert_int_equal(attributes, MONITOR_DATA);
    mapped = start;
    mapped_bytes = bytes;
    mappings++;
}

void load_clean(uint64_t at, uint64_t end)
{
    cleaned = at;
    cleaned_end = end;
}

static int setup(void **state)
{
    const size_t bytes = (size_t)((POOL_PAGES + 3) * PAGE_BYTES);

    memory = aligned_alloc(PAGE_BYTES, bytes);
    assert_non_null(memory);
    memset(memory, 0xa5, bytes);
    *state = memory;
    boot_pool.next = (uint64_t)(uintptr_t)memory;
    boot_pool.end = boot_pool.next + POOL_PAGES * PAGE_BYTES;
    physical = boot_pool.end;
    memset(&description, 0, sizeof(description));
    description.partition_count = 3;
    description.partitions[2].memory_count = 2;
    description.partitions[2].memories[0] =
        (struct description_memory){.guest = 0x40000000, .physical = 0x80000000, .bytes = 0x8000};
    description.partitions[2].memories[1] =
        (struct description_memory){.guest = 0x10000000, .physical = 0x90000000, .bytes = 0x8000};
    description.shared_device_count = 1;
    description.shared_devices[0] = (struct description_shared_device){
        .physical = physical,
        .page = PAGE,
        .client = 2,
        .backend = 0,
        .config_bytes = 3,
        .config = {7, 8, 9},
        .window_count = 2,
        .windows = {{.client = 0x40001000, .backend = 0x50000000, .bytes = 0x2000},
                    {.client = 0x10000000, .backend = 0x60000000, .bytes = 0x8000}},
    };
    for (uint32_t i = 0; i < 3; i++) {
        partitions[i] = (struct partition){.constant = {.system = &description, .index = i}};
    }
    problem = NULL;
    probed = cleaned = mapped = 0;
    mappings = 0;
    return 0;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

static uint64_t *new_root(void)
{
    return (uint64_t *)(uintptr_t)page_pool_take(&boot_pool, 1);
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
    uint64_t *root = new_root();

    (void)state;
    shared_device_connect(&partitions[0], root);
    expect(root, PAGE, physical, STAGE2_CONSTANTS);
    expect(root, PAGE - PAGE_BYTES, 0, UNMAPPED);
    expect(root, PAGE + PAGE_BYTES, 0, UNMAPPED); /* the page that no guest has */
    expect(root, 0x50000000, 0x80001000, STAGE2_DATA);
    expect(root, 0x50001000, 0x80002000, STAGE2_DATA);
    expect(root, 0x4ffff000, 0, UNMAPPED);
    expect(root, 0x50002000, 0, UNMAPPED);
    expect(root, 0x60007000, 0x90007000, STAGE2_DATA);
    expect(root, 0x60008000, 0, UNMAPPED);
    assert_int_equal(cleaned, 0);
    assert_int_equal(*(const uint8_t *)(uintptr_t)physical, 0xa5); /* the client's part */
}

static void client_has_nothing_mapped(void **state)
{
    const uint8_t *byte = (const uint8_t *)(uintptr_t)physical;
    const struct shared_device_state *hidden = (const void *)(byte + PAGE_BYTES);
    static const uint8_t config[SHARED_DEVICE_CONFIG_BYTES] = {7, 8, 9};
    uint64_t *root = new_root();

    (void)state;
    shared_device_connect(&partitions[2], root);
    shared_device_connect(&partitions[1], root);
    for (unsigned i = 0; i < 512; i++) {
        assert_int_equal(root[i], 0);
    }
    for (uint64_t i = 0; i < PAGE_BYTES; i++) {
        assert_int_equal(byte[i], 0);
    }
    assert_memory_equal(hidden->registers.config, config, sizeof(config));
    assert_int_equal(hidden->serves | hidden->acknowledged | hidden->lock.next, 0);
    assert_int_equal(byte[SHARED_DEVICE_BYTES - 1], 0);
    assert_int_equal(byte[SHARED_DEVICE_BYTES], 0xa5);
    assert_int_equal(byte[-1], 0xa5);
    assert_int_equal(cleaned, physical);
    assert_int_equal(cleaned_end, physical + SHARED_DEVICE_BYTES);
}

static void monitors_of_both_map_both_pages(void **state)
{
    uint64_t root = 0;

    (void)state;
    shared_device_map(&root, &partitions[1]);
    assert_int_equal(mappings, 0);
    shared_device_map(&root, &partitions[0]);
    shared_device_map(&root, &partitions[2]);
    assert_int_equal(mappings, 2);
    assert_int_equal(mapped, physical);
    assert_int_equal(mapped_bytes, SHARED_DEVICE_BYTES);
}

static void boot_core_maps_all(void **state)
{
    uint64_t root = 0;

    (void)state;
    shared_device_prepare(&description, &root);
    assert_int_equal(probed, physical + SHARED_DEVICE_BYTES - 4);
    assert_int_equal(mappings, 1);
    assert_int_equal(mapped, physical);
    assert_int_equal(mapped_bytes, SHARED_DEVICE_BYTES);
}

static void invalid_devices_end_the_boot(void **state)
{
    uint64_t root = 0;

    (void)state;
    problem = "they are wrong";
    if (setjmp(refused) == 0) {
        shared_device_prepare(&description, &root);
        fail();
    }
    assert_int_equal(mappings, 0);
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
