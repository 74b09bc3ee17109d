/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests what the boot maps of channels: for the guests of both ends, and for their monitors. */
#include "boot/boot.h"
#include "channel/channel.h"
#include "channel/check.h"
#include "console/terminal.h"
#include "partition/load.h"
#include <arch/device_access.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define POOL_PAGES     64u
#define SECTION_BYTES  UINT64_C(0x5000)
#define REGION_BYTES   (0x1000 + 2 * SECTION_BYTES)
#define GUEST_OF_FIRST UINT64_C(0x10000000)
#define GUEST_OF_LAST  UINT64_C(0x20001000)
#define UNMAPPED       UINT64_MAX

struct page_pool boot_pool;

static struct description description;
static struct partition partitions[3];
static uint8_t *memory;   /* pages of the pool, then the region, then one page more */
static uint64_t physical; /* of the region */
static uint64_t probed, cleaned, cleaned_end;
static uint64_t mapped, mapped_bytes;
static unsigned mappings;
static const char *problem; /* what channel_check() returns */
static jmp_buf refused;

const char *channel_check(const struct description *system, uint64_t *value)
{
    assert_ptr_equal(system, &description);
    *value = 5;
    return problem;
}

_Noreturn void boot_refuse(const char *text, uint64_t number)
{
    assert_string_equal(text, problem);
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
    const size_t bytes = (size_t)(POOL_PAGES * PAGE_BYTES + REGION_BYTES + PAGE_BYTES);

    memory = aligned_alloc(PAGE_BYTES, bytes);
    assert_non_null(memory);
    memset(memory, 0xa5, bytes);
    *state = memory;
    boot_pool.next = (uint64_t)(uintptr_t)memory;
    boot_pool.end = boot_pool.next + POOL_PAGES * PAGE_BYTES;
    physical = boot_pool.end;
    memset(&description, 0, sizeof(description));
    description.channel_count = 1;
    description.channels[0] = (struct description_channel){
        .physical = physical,
        .section_bytes = SECTION_BYTES,
        .ends = {{.partition = 2, .guest = GUEST_OF_FIRST},
                 {.partition = 0, .guest = GUEST_OF_LAST}},
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

/* Returns the attributes with which a page of the region is mapped, or UNMAPPED. */
static uint64_t attributes_at(const uint64_t *root, uint64_t guest, uint64_t offset)
{
    uint64_t output, attributes;

    if (!tables_find(root, guest + offset, &output, &attributes)) {
        return UNMAPPED;
    }
    assert_int_equal(output, physical + offset);
    return attributes;
}

/* Checks all pages of a guest's view, and those around it. */
static void expect(const uint64_t *root, uint64_t guest, uint64_t states, uint64_t first,
                   uint64_t second)
{
    assert_int_equal(attributes_at(root, guest, -PAGE_BYTES), UNMAPPED);
    assert_int_equal(attributes_at(root, guest, 0), states);
    for (uint64_t offset = 0; offset < SECTION_BYTES; offset += PAGE_BYTES) {
        assert_int_equal(attributes_at(root, guest, PAGE_BYTES + offset), first);
        assert_int_equal(attributes_at(root, guest, PAGE_BYTES + SECTION_BYTES + offset), second);
    }
    assert_int_equal(attributes_at(root, guest, REGION_BYTES), UNMAPPED);
}

static void both_ends_write_the_common_section(void **state)
{
    const uint64_t guests[] = {GUEST_OF_LAST, 0, GUEST_OF_FIRST};

    (void)state;
    description.channels[0].common_pages = 1;
    for (unsigned i = 0; i < 3; i += 2) {
        uint64_t *root = new_root(), guest = guests[i];
        uint64_t own = i == 2 ? 2 * PAGE_BYTES : 2 * PAGE_BYTES + SECTION_BYTES;
        uint64_t other = i == 2 ? 2 * PAGE_BYTES + SECTION_BYTES : 2 * PAGE_BYTES;

        channel_connect(&partitions[i], root);
        assert_int_equal(attributes_at(root, guest, 0), STAGE2_CONSTANTS);
        assert_int_equal(attributes_at(root, guest, PAGE_BYTES), STAGE2_DATA);
        assert_int_equal(attributes_at(root, guest, own), STAGE2_DATA);
        assert_int_equal(attributes_at(root, guest, other), STAGE2_CONSTANTS);
        assert_int_equal(attributes_at(root, guest, REGION_BYTES),
                         i == 2 ? STAGE2_CONSTANTS : STAGE2_DATA);
        assert_int_equal(attributes_at(root, guest, REGION_BYTES + PAGE_BYTES), UNMAPPED);
    }
    assert_int_equal(cleaned_end, physical + PAGE_BYTES + REGION_BYTES);
}

static void each_end_writes_its_section(void **state)
{
    uint64_t *root = new_root();

    (void)state;
    channel_connect(&partitions[2], root);
    expect(root, GUEST_OF_FIRST, STAGE2_CONSTANTS, STAGE2_DATA, STAGE2_CONSTANTS);
    assert_int_equal(attributes_at(root, GUEST_OF_LAST, 0), UNMAPPED);
    root = new_root();
    channel_connect(&partitions[0], root);
    expect(root, GUEST_OF_LAST, STAGE2_CONSTANTS, STAGE2_CONSTANTS, STAGE2_DATA);
    root = new_root();
    channel_connect(&partitions[1], root);
    assert_int_equal(attributes_at(root, GUEST_OF_FIRST, 0), UNMAPPED);
    assert_int_equal(attributes_at(root, GUEST_OF_LAST, 0), UNMAPPED);
}

static void one_way_has_one_section(void **state)
{
    uint64_t *root = new_root();

    (void)state;
    description.channels[0].one_way = 1;
    channel_connect(&partitions[0], root);
    expect(root, GUEST_OF_LAST, STAGE2_CONSTANTS, STAGE2_CONSTANTS, UNMAPPED);
    root = new_root();
    channel_connect(&partitions[2], root);
    expect(root, GUEST_OF_FIRST, STAGE2_CONSTANTS, STAGE2_DATA, UNMAPPED);
    /* Memory behind the region is not zeroed. */
    assert_int_equal(cleaned_end, physical + PAGE_BYTES + SECTION_BYTES);
    assert_int_equal(((uint8_t *)(uintptr_t)physical)[PAGE_BYTES + SECTION_BYTES], 0xa5);
}

static void further_receivers_read_the_section(void **state)
{
    uint64_t *root = new_root();
    const uint8_t *behind = (uint8_t *)(uintptr_t)physical + PAGE_BYTES + SECTION_BYTES;

    (void)state;
    description.channels[0].one_way = 1;
    description.channels[0].further_receivers = 1;
    description.channels[0].ends[2] = (struct description_channel_end){
        .partition = 1,
        .guest = GUEST_OF_LAST,
        .function = DESCRIPTION_CHANNEL_FUNCTION_CONTROL,
    };
    channel_connect(&partitions[1], root);
    /* The page behind the section, with the registers of receivers, is nobody's. */
    expect(root, GUEST_OF_LAST, STAGE2_CONSTANTS, STAGE2_CONSTANTS, UNMAPPED);
    root = new_root();
    channel_connect(&partitions[2], root);
    expect(root, GUEST_OF_FIRST, STAGE2_CONSTANTS, STAGE2_DATA, UNMAPPED);
    assert_int_equal(cleaned_end, physical + 2 * PAGE_BYTES + SECTION_BYTES);
    assert_int_equal(behind[0] | behind[PAGE_BYTES - 1], 0);
    for (uint32_t i = 0; i < 3; i++) {
        mappings = 0;
        channel_map(root, &partitions[i]);
        assert_int_equal(mappings, 2);
        assert_int_equal(mapped, (uintptr_t)behind);
        assert_int_equal(mapped_bytes, PAGE_BYTES);
    }
    description.channels[0].ends[2].function = DESCRIPTION_CHANNEL_FUNCTION_WHOLE;
    root = new_root();
    channel_connect(&partitions[0], root);
    assert_int_equal(attributes_at(root, GUEST_OF_LAST, PAGE_BYTES), STAGE2_UNCACHED_CONSTANTS);
}

/* The guest does not map the memory as a BAR, which would be uncached. */
static void channels_of_functions_without_memory_are_cached(void **state)
{
    uint64_t *root = new_root();

    (void)state;
    description.channels[0].ends[0].function = DESCRIPTION_CHANNEL_FUNCTION_CONTROL;
    description.channels[0].ends[1].function = DESCRIPTION_CHANNEL_FUNCTION_CONTROL;
    channel_connect(&partitions[2], root);
    expect(root, GUEST_OF_FIRST, STAGE2_CONSTANTS, STAGE2_DATA, STAGE2_CONSTANTS);
}

/* Both ends, because one that used its cache would not see what the other one writes. */
static void channels_of_functions_are_uncached(void **state)
{
    (void)state;
    for (unsigned end = 0; end < 2; end++) {
        uint64_t *root = new_root();

        description.channels[0].ends[end].function = 1;
        description.channels[0].ends[1 - end].function = 0;
        channel_connect(&partitions[2], root);
        expect(root, GUEST_OF_FIRST, STAGE2_UNCACHED_CONSTANTS, STAGE2_UNCACHED_DATA,
               STAGE2_UNCACHED_CONSTANTS);
        root = new_root();
        channel_connect(&partitions[0], root);
        expect(root, GUEST_OF_LAST, STAGE2_UNCACHED_CONSTANTS, STAGE2_UNCACHED_CONSTANTS,
               STAGE2_UNCACHED_DATA);
    }
}

/* Stage 2 (Arm ARM, "Stage 2 memory type and Cacheability attributes"): MemAttr in bits 5:2 is
 * 0b1111 or 0b0101. All else is the same. */
static void uncached_differs_in_the_memory_type_alone(void **state)
{
    (void)state;
    assert_int_equal(STAGE2_DATA ^ STAGE2_UNCACHED_DATA, (0xf ^ 0x5) << 2);
    assert_int_equal(STAGE2_CONSTANTS ^ STAGE2_UNCACHED_CONSTANTS, (0xf ^ 0x5) << 2);
}

/* Stage 2 (Arm ARM, "Attribute fields in stage 2 descriptors"): XN[1:0] in bits 54:53 is 0b10,
 * S2AP in bits 7:6 is 0b11 or 0b01. */
static void nothing_is_executable(void **state)
{
    (void)state;
    assert_int_equal(STAGE2_DATA >> 53 & 3, 2);
    assert_int_equal(STAGE2_DATA >> 6 & 3, 3);
    assert_int_equal(STAGE2_CONSTANTS >> 53 & 3, 2);
    assert_int_equal(STAGE2_CONSTANTS >> 6 & 3, 1);
}

static void all_is_zeroed_once(void **state)
{
    const uint8_t *byte = (const uint8_t *)(uintptr_t)physical;

    (void)state;
    channel_connect(&partitions[0], new_root());
    assert_int_equal(cleaned, 0);
    assert_int_equal(byte[0], 0xa5);
    channel_connect(&partitions[2], new_root());
    assert_int_equal(cleaned, physical);
    assert_int_equal(cleaned_end, physical + REGION_BYTES);
    for (uint64_t i = 0; i < REGION_BYTES; i++) {
        assert_int_equal(byte[i], 0);
    }
    assert_int_equal(byte[REGION_BYTES], 0xa5);
    assert_int_equal(byte[-1], 0xa5);
}

static void monitors_of_both_ends_map_the_states(void **state)
{
    uint64_t root = 0;

    (void)state;
    channel_map(&root, &partitions[1]);
    assert_int_equal(mappings, 0);
    channel_map(&root, &partitions[0]);
    channel_map(&root, &partitions[2]);
    assert_int_equal(mappings, 2);
    assert_int_equal(mapped, physical);
    assert_int_equal(mapped_bytes, PAGE_BYTES);
}

static void boot_core_maps_all(void **state)
{
    uint64_t root = 0;

    (void)state;
    channel_prepare(&description, &root);
    assert_int_equal(probed, physical + REGION_BYTES - 4);
    assert_int_equal(mappings, 1);
    assert_int_equal(mapped, physical);
    assert_int_equal(mapped_bytes, REGION_BYTES);
}

static void invalid_channels_end_the_boot(void **state)
{
    uint64_t root = 0;

    (void)state;
    problem = "they are wrong";
    if (setjmp(refused) == 0) {
        channel_prepare(&description, &root);
        fail();
    }
    assert_int_equal(mappings, 0);
    assert_int_equal(probed, 0);
    problem = "a channel can't be mapped at guest address";
    description.channels[0].ends[0].guest = 5;
    if (setjmp(refused) == 0) {
        channel_connect(&partitions[2], new_root());
        fail();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(both_ends_write_the_common_section, setup, tear_down),
        cmocka_unit_test_setup_teardown(each_end_writes_its_section, setup, tear_down),
        cmocka_unit_test_setup_teardown(one_way_has_one_section, setup, tear_down),
        cmocka_unit_test_setup_teardown(further_receivers_read_the_section, setup, tear_down),
        cmocka_unit_test_setup_teardown(channels_of_functions_without_memory_are_cached, setup,
                                        tear_down),
        cmocka_unit_test_setup_teardown(channels_of_functions_are_uncached, setup, tear_down),
        cmocka_unit_test(uncached_differs_in_the_memory_type_alone),
        cmocka_unit_test(nothing_is_executable),
        cmocka_unit_test_setup_teardown(all_is_zeroed_once, setup, tear_down),
        cmocka_unit_test_setup_teardown(monitors_of_both_ends_map_the_states, setup, tear_down),
        cmocka_unit_test_setup_teardown(boot_core_maps_all, setup, tear_down),
        cmocka_unit_test_setup_teardown(invalid_channels_end_the_boot, setup, tear_down),
    };

    return cmocka_run_group_tests_name("channel_boot", tests, NULL, NULL);
}
