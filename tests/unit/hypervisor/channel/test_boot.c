/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests what the boot maps of channels: for the guests of both ends, and for their monitors. */
#include "boot_fixture.h"
#include "channel/channel.h"
#include "channel/check.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SECTION_BYTES  UINT64_C(0x5000)
#define REGION_BYTES   (0x1000 + 2 * SECTION_BYTES)
#define GUEST_OF_FIRST UINT64_C(0x10000000)
#define GUEST_OF_LAST  UINT64_C(0x20001000)

const char *channel_check(const struct description *system, uint64_t *value)
{
    return boot_fixture_check(system, value);
}

static int setup(void **state)
{
    (void)state;
    boot_fixture_begin(REGION_BYTES);
    fixture.description.channel_count = 1;
    fixture.description.channels[0] = (struct description_channel){
        .physical = fixture.physical,
        .section_bytes = SECTION_BYTES,
        .ends = {{.partition = 2, .guest = GUEST_OF_FIRST},
                 {.partition = 0, .guest = GUEST_OF_LAST}},
    };
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    boot_fixture_end();
    return 0;
}

/* Returns the attributes with which a page of the region is mapped, or UNMAPPED. */
static uint64_t attributes_at(const uint64_t *root, uint64_t guest, uint64_t offset)
{
    uint64_t output, attributes;

    if (!tables_find(root, guest + offset, &output, &attributes)) {
        return UNMAPPED;
    }
    assert_int_equal(output, fixture.physical + offset);
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
    fixture.description.channels[0].common_pages = 1;
    for (unsigned i = 0; i < 3; i += 2) {
        uint64_t *root = boot_fixture_root(), guest = guests[i];
        uint64_t own = i == 2 ? 2 * PAGE_BYTES : 2 * PAGE_BYTES + SECTION_BYTES;
        uint64_t other = i == 2 ? 2 * PAGE_BYTES + SECTION_BYTES : 2 * PAGE_BYTES;

        channel_connect(&fixture.partitions[i], root);
        assert_int_equal(attributes_at(root, guest, 0), STAGE2_CONSTANTS);
        assert_int_equal(attributes_at(root, guest, PAGE_BYTES), STAGE2_DATA);
        assert_int_equal(attributes_at(root, guest, own), STAGE2_DATA);
        assert_int_equal(attributes_at(root, guest, other), STAGE2_CONSTANTS);
        assert_int_equal(attributes_at(root, guest, REGION_BYTES),
                         i == 2 ? STAGE2_CONSTANTS : STAGE2_DATA);
        assert_int_equal(attributes_at(root, guest, REGION_BYTES + PAGE_BYTES), UNMAPPED);
    }
    assert_int_equal(fixture.cleaned_end, fixture.physical + PAGE_BYTES + REGION_BYTES);
}

static void each_end_writes_its_section(void **state)
{
    uint64_t *root = boot_fixture_root();

    (void)state;
    channel_connect(&fixture.partitions[2], root);
    expect(root, GUEST_OF_FIRST, STAGE2_CONSTANTS, STAGE2_DATA, STAGE2_CONSTANTS);
    assert_int_equal(attributes_at(root, GUEST_OF_LAST, 0), UNMAPPED);
    root = boot_fixture_root();
    channel_connect(&fixture.partitions[0], root);
    expect(root, GUEST_OF_LAST, STAGE2_CONSTANTS, STAGE2_CONSTANTS, STAGE2_DATA);
    root = boot_fixture_root();
    channel_connect(&fixture.partitions[1], root);
    assert_int_equal(attributes_at(root, GUEST_OF_FIRST, 0), UNMAPPED);
    assert_int_equal(attributes_at(root, GUEST_OF_LAST, 0), UNMAPPED);
}

static void one_way_has_one_section(void **state)
{
    uint64_t *root = boot_fixture_root();

    (void)state;
    fixture.description.channels[0].one_way = 1;
    channel_connect(&fixture.partitions[0], root);
    expect(root, GUEST_OF_LAST, STAGE2_CONSTANTS, STAGE2_CONSTANTS, UNMAPPED);
    root = boot_fixture_root();
    channel_connect(&fixture.partitions[2], root);
    expect(root, GUEST_OF_FIRST, STAGE2_CONSTANTS, STAGE2_DATA, UNMAPPED);
    /* Memory behind the region is not zeroed. */
    assert_int_equal(fixture.cleaned_end, fixture.physical + PAGE_BYTES + SECTION_BYTES);
    assert_int_equal(((uint8_t *)(uintptr_t)fixture.physical)[PAGE_BYTES + SECTION_BYTES],
                     BOOT_UNTOUCHED);
}

static void further_receivers_read_the_section(void **state)
{
    uint64_t *root = boot_fixture_root();
    const uint8_t *behind = (uint8_t *)(uintptr_t)fixture.physical + PAGE_BYTES + SECTION_BYTES;

    (void)state;
    fixture.description.channels[0].one_way = 1;
    fixture.description.channels[0].further_receivers = 1;
    fixture.description.channels[0].ends[2] = (struct description_channel_end){
        .partition = 1,
        .guest = GUEST_OF_LAST,
        .function = DESCRIPTION_CHANNEL_FUNCTION_CONTROL,
    };
    channel_connect(&fixture.partitions[1], root);
    /* The page behind the section, with the registers of receivers, is nobody's. */
    expect(root, GUEST_OF_LAST, STAGE2_CONSTANTS, STAGE2_CONSTANTS, UNMAPPED);
    root = boot_fixture_root();
    channel_connect(&fixture.partitions[2], root);
    expect(root, GUEST_OF_FIRST, STAGE2_CONSTANTS, STAGE2_DATA, UNMAPPED);
    assert_int_equal(fixture.cleaned_end, fixture.physical + 2 * PAGE_BYTES + SECTION_BYTES);
    assert_int_equal(behind[0] | behind[PAGE_BYTES - 1], 0);
    for (uint32_t i = 0; i < 3; i++) {
        fixture.mappings = 0;
        channel_map(root, &fixture.partitions[i]);
        assert_int_equal(fixture.mappings, 2);
        assert_int_equal(fixture.mapped, (uintptr_t)behind);
        assert_int_equal(fixture.mapped_bytes, PAGE_BYTES);
    }
    fixture.description.channels[0].ends[2].function = DESCRIPTION_CHANNEL_FUNCTION_WHOLE;
    root = boot_fixture_root();
    channel_connect(&fixture.partitions[0], root);
    assert_int_equal(attributes_at(root, GUEST_OF_LAST, PAGE_BYTES), STAGE2_UNCACHED_CONSTANTS);
}

/* The guest does not map the memory as a BAR, which would be uncached. */
static void channels_of_functions_without_memory_are_cached(void **state)
{
    uint64_t *root = boot_fixture_root();

    (void)state;
    fixture.description.channels[0].ends[0].function = DESCRIPTION_CHANNEL_FUNCTION_CONTROL;
    fixture.description.channels[0].ends[1].function = DESCRIPTION_CHANNEL_FUNCTION_CONTROL;
    channel_connect(&fixture.partitions[2], root);
    expect(root, GUEST_OF_FIRST, STAGE2_CONSTANTS, STAGE2_DATA, STAGE2_CONSTANTS);
}

/* Both ends, because one that used its cache would not see what the other one writes. */
static void channels_of_functions_are_uncached(void **state)
{
    (void)state;
    for (unsigned end = 0; end < 2; end++) {
        uint64_t *root = boot_fixture_root();

        fixture.description.channels[0].ends[end].function = 1;
        fixture.description.channels[0].ends[1 - end].function = 0;
        channel_connect(&fixture.partitions[2], root);
        expect(root, GUEST_OF_FIRST, STAGE2_UNCACHED_CONSTANTS, STAGE2_UNCACHED_DATA,
               STAGE2_UNCACHED_CONSTANTS);
        root = boot_fixture_root();
        channel_connect(&fixture.partitions[0], root);
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
    const uint8_t *byte = (const uint8_t *)(uintptr_t)fixture.physical;

    (void)state;
    channel_connect(&fixture.partitions[0], boot_fixture_root());
    assert_int_equal(fixture.cleaned, 0);
    assert_int_equal(byte[0], BOOT_UNTOUCHED);
    channel_connect(&fixture.partitions[2], boot_fixture_root());
    assert_int_equal(fixture.cleaned, fixture.physical);
    assert_int_equal(fixture.cleaned_end, fixture.physical + REGION_BYTES);
    for (uint64_t i = 0; i < REGION_BYTES; i++) {
        assert_int_equal(byte[i], 0);
    }
    assert_int_equal(byte[REGION_BYTES], BOOT_UNTOUCHED);
    assert_int_equal(byte[-1], BOOT_UNTOUCHED);
}

static void monitors_of_both_ends_map_the_states(void **state)
{
    uint64_t root = 0;

    (void)state;
    channel_map(&root, &fixture.partitions[1]);
    assert_int_equal(fixture.mappings, 0);
    channel_map(&root, &fixture.partitions[0]);
    channel_map(&root, &fixture.partitions[2]);
    assert_int_equal(fixture.mappings, 2);
    assert_int_equal(fixture.mapped, fixture.physical);
    assert_int_equal(fixture.mapped_bytes, PAGE_BYTES);
}

static void boot_core_maps_all(void **state)
{
    uint64_t root = 0;

    (void)state;
    channel_prepare(&fixture.description, &root);
    assert_int_equal(fixture.probed, fixture.physical + REGION_BYTES - 4);
    assert_int_equal(fixture.mappings, 1);
    assert_int_equal(fixture.mapped, fixture.physical);
    assert_int_equal(fixture.mapped_bytes, REGION_BYTES);
}

static void invalid_channels_end_the_boot(void **state)
{
    uint64_t root = 0;

    (void)state;
    fixture.problem = "they are wrong";
    if (setjmp(fixture.refused) == 0) {
        channel_prepare(&fixture.description, &root);
        fail();
    }
    assert_int_equal(fixture.mappings, 0);
    assert_int_equal(fixture.probed, 0);
    fixture.problem = "a channel can't be mapped at guest address";
    fixture.description.channels[0].ends[0].guest = 5;
    if (setjmp(fixture.refused) == 0) {
        channel_connect(&fixture.partitions[2], boot_fixture_root());
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
