/* SPDX-License-Identifier: BSD-2-Clause */
/* Translation of addresses: walks of one and of two stages through tables that the tests write, by
 * the encodings of the Arm ARM, and what the TLBs save of them. */
#include "model_test.h"
#include "translation.h"
#include <string.h>

#define TABLES_AT    UINT64_C(0x40000000)
#define TABLES_BYTES 0x100000u
#define VALID        UINT64_C(1)
#define TABLE        UINT64_C(3) /* or a page on level 3 */
#define NG           (UINT64_C(1) << 11)
#define ATTRIBUTES   UINT64_C(0x0060000000000704) /* XN, AF, SH, AttrIndx: of no effect here */

static uint64_t words[TABLES_BYTES / sizeof(uint64_t)];
static struct translation translation;
static struct translation_registers registers;
static struct translated result;

static bool read_word(void *context, uint64_t address, uint64_t *descriptor)
{
    (void)context;
    if (address - TABLES_AT >= TABLES_BYTES) {
        return false;
    }
    *descriptor = words[(address - TABLES_AT) / sizeof(uint64_t)];
    return true;
}

static const struct table_memory memory = {.read = read_word};

static void write_descriptor(uint64_t table, uint64_t index, uint64_t descriptor)
{
    words[(table - TABLES_AT) / sizeof(uint64_t) + index] = descriptor;
}

static int set_up(void **state)
{
    const struct translation_geometry geometry = {.whole = {.entries = 64, .ways = 4},
                                                  .stage2 = {.entries = 16, .ways = 4}};

    (void)state;
    memset(words, 0, sizeof(words));
    memset(&registers, 0, sizeof(registers));
    registers.exception_level = 1;
    assert_true(translation_create(&translation, &geometry));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    translation_destroy(&translation);
    return 0;
}

static bool find(uint64_t address)
{
    return translation_find(&translation, &registers, &memory, address, &result);
}

static void expect(uint64_t address, uint64_t physical, uint32_t stage1_reads,
                   uint32_t stage2_reads)
{
    assert_true(find(address));
    assert_int_equal(result.physical, physical);
    assert_int_equal(result.stage1_reads, stage1_reads);
    assert_int_equal(result.stage2_reads, stage2_reads);
    assert_true(result.is_miss == (stage1_reads + stage2_reads != 0));
}

/* A hit: no descriptor is read. */
static void expect_hit(uint64_t address, uint64_t physical)
{
    expect(address, physical, 0, 0);
    assert_true(result.is_used);
}

#define TG0_4K       UINT64_C(0)
#define TG0_64K      UINT64_C(0x4000)
#define TG0_16K      UINT64_C(0x8000)
#define TG1_16K      UINT64_C(0x40000000)
#define TG1_4K       UINT64_C(0x80000000)
#define TG1_64K      UINT64_C(0xc0000000)
#define T0SZ(bits)   ((uint64_t)(64 - (bits)))
#define T1SZ(bits)   ((uint64_t)(64 - (bits)) << 16)
#define SL0(value)   ((uint64_t)(value) << 6)
#define TTBR1_ASID   (UINT64_C(1) << 22)
#define ASID(number) ((uint64_t)(number) << 48)

static void turn_on_stage1(uint64_t control, uint64_t table)
{
    registers.sctlr_el1 = 1;
    registers.tcr_el1 = control;
    registers.ttbr0_el1 = table | 1; /* CnP */
}

static void turn_on_stage2(uint64_t control, uint64_t table)
{
    registers.hcr_el2 = 1;
    registers.vtcr_el2 = control;
    registers.vttbr_el2 = table | ASID(7);
}

static void test_no_translation(void **state)
{
    (void)state;
    for (uint32_t level = 0; level <= 3; level++) {
        registers.exception_level = level;
        assert_true(find(0x12345678));
        assert_int_equal(result.physical, 0x12345678);
        assert_false(result.is_used);
        assert_false(result.is_miss);
    }
    registers.hcr_el2 = 1; /* stage 2 is not for EL2 and EL3 */
    registers.sctlr_el1 = 1;
    registers.exception_level = 2;
    assert_true(find(0x12345678));
    assert_false(result.is_used);
    registers.sctlr_el2 = 1;
    registers.exception_level = 3;
    assert_true(find(0x12345678));
    assert_false(result.is_used);
}

/* Levels 0 to 3 of 4 KiB: blocks of 1 GiB and 2 MiB, and a page. */
static void test_granule_of_4_kib(void **state)
{
    const uint64_t top = TABLES_AT, level1 = TABLES_AT + 0x1000, level2 = TABLES_AT + 0x2000,
                   level3 = TABLES_AT + 0x3000;

    (void)state;
    turn_on_stage1(TG0_4K | T0SZ(48), top);
    write_descriptor(top, 1, level1 | TABLE);
    write_descriptor(level1, 2, UINT64_C(0xc0000000) | VALID | ATTRIBUTES);
    write_descriptor(level1, 3, level2 | TABLE);
    write_descriptor(level2, 4, UINT64_C(0x50200000) | VALID | ATTRIBUTES);
    write_descriptor(level2, 5, level3 | TABLE);
    write_descriptor(level3, 6, UINT64_C(0x60007000) | TABLE | ATTRIBUTES);
    expect(UINT64_C(0x8080123456), UINT64_C(0xc0123456), 2, 0);
    expect(UINT64_C(0x80c0812345), UINT64_C(0x50212345), 3, 0);
    expect(UINT64_C(0x80c0a06789), UINT64_C(0x60007789), 4, 0);
    expect_hit(UINT64_C(0x80bfffffff), UINT64_C(0xffffffff));
    expect_hit(UINT64_C(0x80c09fffff), UINT64_C(0x503fffff));
    expect_hit(UINT64_C(0x80c0a06fff), UINT64_C(0x60007fff));
    expect_hit(UINT64_C(0x5a000080c0a06fff), UINT64_C(0x60007fff)); /* a tag */
    assert_false(find(UINT64_C(0x80c0a07000)));
    assert_int_equal(result.stage1_reads, 4);
    write_descriptor(top, 2, UINT64_C(0x8000000000) | VALID); /* no block is that large */
    assert_false(find(UINT64_C(0x10000000000)));
    assert_false(find(UINT64_C(0x1000000000000))); /* more than 48 bits */
    assert_int_equal(result.stage1_reads, 0);
    translation_clear(&translation);
    expect(UINT64_C(0x8080123456), UINT64_C(0xc0123456), 2, 0);
}

static void test_granule_of_16_kib(void **state)
{
    const uint64_t top = TABLES_AT, level3 = TABLES_AT + 0x4000;

    (void)state;
    turn_on_stage1(TG0_16K | T0SZ(36), top); /* begins on level 2 */
    write_descriptor(top, 1, UINT64_C(0x84000000) | VALID);
    write_descriptor(top, 2, level3 | TABLE);
    write_descriptor(level3, 2047, UINT64_C(0x60004000) | TABLE);
    expect(UINT64_C(0x2345678), UINT64_C(0x84345678), 1, 0);
    expect(UINT64_C(0x5fffabc), UINT64_C(0x60007abc), 2, 0);
    expect_hit(UINT64_C(0x5ffc000), UINT64_C(0x60004000));
}

static void test_granule_of_64_kib(void **state)
{
    const uint64_t top = TABLES_AT, level3 = TABLES_AT + 0x10000;

    (void)state;
    turn_on_stage1(TG0_64K | T0SZ(42), top); /* begins on level 2 */
    write_descriptor(top, 1, UINT64_C(0xe0000000) | VALID);
    write_descriptor(top, 2, level3 | TABLE);
    write_descriptor(level3, 8191, UINT64_C(0x60010000) | TABLE);
    expect(UINT64_C(0x3fffffff), UINT64_C(0xffffffff), 1, 0);
    expect(UINT64_C(0x5ffff123), UINT64_C(0x6001f123), 2, 0);
}

/* The kernel's half of the address space, with another granule than the lower one. */
static void test_upper_half(void **state)
{
    (void)state;
    turn_on_stage1(TG0_64K | T0SZ(42) | TG1_4K | T1SZ(39), 0);
    registers.ttbr1_el1 = TABLES_AT; /* begins on level 1 */
    write_descriptor(TABLES_AT, 511, UINT64_C(0x40000000) | VALID);
    expect(UINT64_C(0xffffffffc0000010), UINT64_C(0x40000010), 1, 0);
    expect_hit(UINT64_C(0xffffffffffffffff), UINT64_C(0x7fffffff));
    registers.tcr_el1 = TG0_64K | T0SZ(42) | TG1_16K | T1SZ(36);
    translation_clear(&translation);
    write_descriptor(TABLES_AT, 2047, UINT64_C(0x86000000) | VALID);
    expect(UINT64_C(0xfffffffffe000010), UINT64_C(0x86000010), 1, 0);
    registers.tcr_el1 = TG0_64K | T0SZ(42) | TG1_64K | T1SZ(42);
    translation_clear(&translation);
    write_descriptor(TABLES_AT, 8191, UINT64_C(0xa0000000) | VALID);
    expect(UINT64_C(0xffffffffe0000010), UINT64_C(0xa0000010), 1, 0);
}

static void test_el2(void **state)
{
    (void)state;
    registers.exception_level = 2;
    registers.sctlr_el2 = 1;
    registers.tcr_el2 = TG0_4K | T0SZ(39);
    registers.ttbr0_el2 = TABLES_AT;
    write_descriptor(TABLES_AT, 1, UINT64_C(0x40000000) | VALID);
    turn_on_stage2(TG0_4K | T0SZ(39) | SL0(1), TABLES_AT);
    expect(UINT64_C(0x40000010), UINT64_C(0x40000010), 1, 0);
    assert_false(find(UINT64_C(0xffffffffc0000000)));
    registers.exception_level = 1; /* another regime: the entry is not for it */
    registers.hcr_el2 = 0;
    assert_true(find(UINT64_C(0x40000010)));
    assert_false(result.is_used);
}

static void test_stage2_alone(void **state)
{
    (void)state;
    /* Two concatenated tables on level 1: 40 bits. */
    turn_on_stage2(TG0_4K | T0SZ(40) | SL0(1), TABLES_AT);
    write_descriptor(TABLES_AT, 1, UINT64_C(0x80000000) | VALID);
    write_descriptor(TABLES_AT, 513, UINT64_C(0xc0000000) | VALID);
    expect(UINT64_C(0x40000123), UINT64_C(0x80000123), 0, 1);
    expect(UINT64_C(0x8040000123), UINT64_C(0xc0000123), 0, 1);
    expect_hit(UINT64_C(0x40000999), UINT64_C(0x80000999));
    registers.vttbr_el2 = TABLES_AT | ASID(8); /* another VMID */
    expect(UINT64_C(0x40000123), UINT64_C(0x80000123), 0, 1);
    registers.vttbr_el2 = TABLES_AT | ASID(7);
    expect_hit(UINT64_C(0x40000999), UINT64_C(0x80000999));
    assert_false(find(UINT64_C(0x10000000000)));
}

static void test_clear_of_a_vmid(void **state)
{
    struct translation_registers other;

    (void)state;
    turn_on_stage2(TG0_4K | T0SZ(40) | SL0(1), TABLES_AT);
    write_descriptor(TABLES_AT, 1, UINT64_C(0x80000000) | VALID);
    expect(UINT64_C(0x40000123), UINT64_C(0x80000123), 0, 1);
    other = registers;
    other.vttbr_el2 = TABLES_AT | ASID(8);
    translation_clear_vmid(&translation, &other);
    expect_hit(UINT64_C(0x40000123), UINT64_C(0x80000123));
    translation_clear_vmid(&translation, &registers);
    expect(UINT64_C(0x40000123), UINT64_C(0x80000123), 0, 1);
}

static void test_start_levels_of_stage2(void **state)
{
    static const struct {
        uint64_t control;
        uint64_t input;
        uint64_t index;
    } cases[] = {
        {TG0_4K | T0SZ(30) | SL0(0), 0x600000, 3},
        {TG0_4K | T0SZ(39) | SL0(1), UINT64_C(0xc0000000), 3},
        {TG0_16K | T0SZ(36) | SL0(1), 0x6000000, 3},
        {TG0_64K | T0SZ(42) | SL0(1), 0x60000000, 3},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        (void)tear_down(state);
        (void)set_up(state);
        turn_on_stage2(cases[i].control, TABLES_AT);
        write_descriptor(TABLES_AT, cases[i].index, UINT64_C(0xc00000000) | VALID);
        expect(cases[i].input + 0x123, UINT64_C(0xc00000123), 0, 1);
    }
}

/* Stage 1 has 3 levels at intermediate addresses 0 on, stage 2 has 2 levels. */
static void make_two_stages(void)
{
    const uint64_t stage2 = TABLES_AT + 0x10000, guest = TABLES_AT;

    turn_on_stage1(TG0_4K | T0SZ(39), 0x1000);
    turn_on_stage2(TG0_4K | T0SZ(30) | SL0(0), stage2);
    write_descriptor(stage2, 0, (stage2 + 0x1000) | TABLE);
    for (uint64_t page = 0; page < 16; page++) {
        write_descriptor(stage2 + 0x1000, page, (guest + page * 0x1000) | TABLE);
    }
    write_descriptor(stage2, 1, UINT64_C(0x80000000) | VALID); /* a block of 2 MiB */
    write_descriptor(guest + 0x1000, 0, UINT64_C(0x2000) | TABLE);
    write_descriptor(guest + 0x2000, 0, UINT64_C(0x3000) | TABLE);
    write_descriptor(guest + 0x3000, 5, UINT64_C(0x204000) | TABLE | NG);
    write_descriptor(guest + 0x3000, 6, UINT64_C(0x205000) | TABLE | NG);
    write_descriptor(guest + 0x3000, 7, UINT64_C(0x208000) | TABLE); /* global */
    write_descriptor(guest + 0x3000, 8, UINT64_C(0x40000000) | TABLE);
}

static void test_two_stages(void **state)
{
    (void)state;
    make_two_stages();
    /* Three descriptors of stage 1, each at a page of its own with two descriptors of stage 2; the
     * output is in the block. */
    expect(0x5123, UINT64_C(0x80004123), 3, 7);
    /* The TLB of stage 2 knows the tables' pages and the block. */
    expect(0x6123, UINT64_C(0x80005123), 3, 0);
    expect_hit(0x5999, UINT64_C(0x80004999));
    assert_false(find(0x8000)); /* stage 2 does not map the output */
    registers.ttbr0_el1 = UINT64_C(0x3ffff000);
    assert_false(find(0x9000)); /* nor a table */
}

static void test_address_spaces(void **state)
{
    (void)state;
    make_two_stages();
    registers.ttbr0_el1 |= ASID(1);
    expect(0x5123, UINT64_C(0x80004123), 3, 7);
    expect(0x7123, UINT64_C(0x80008123), 3, 0);
    registers.ttbr0_el1 = 0x1000 | ASID(2);
    expect_hit(0x7456, UINT64_C(0x80008456)); /* global */
    expect(0x5123, UINT64_C(0x80004123), 3, 0);
    registers.tcr_el1 |= TTBR1_ASID;
    registers.ttbr1_el1 = ASID(3);
    expect(0x5123, UINT64_C(0x80004123), 3, 0);
    registers.ttbr1_el1 = ASID(1);
    expect_hit(0x5123, UINT64_C(0x80004123));
    /* EL0 and EL1 have one regime. */
    registers.exception_level = 0;
    expect_hit(0x5123, UINT64_C(0x80004123));
    /* Without stage 1 the same address is another one. */
    registers.sctlr_el1 = 0;
    expect(0x5123, TABLES_AT + 0x5123, 0, 2);
}

/* Guests write their tables and registers: any content ends a walk soon, and reads only memory. */
static void test_any_tables(void **state)
{
    uint64_t random = 1;

    (void)state;
    for (unsigned turn = 0; turn < 200000; turn++) {
        uint64_t *const all = &registers.sctlr_el1;

        if (turn % 4 == 0) {
            for (size_t i = 0; i < 10; i++) {
                all[i] = random_below(&random, UINT64_MAX);
            }
            registers.ttbr0_el1 = TABLES_AT + random_below(&random, TABLES_BYTES);
            registers.vttbr_el2 = TABLES_AT + random_below(&random, TABLES_BYTES);
            registers.exception_level = (uint32_t)random_below(&random, 4);
        }
        words[random_below(&random, sizeof(words) / sizeof(words[0]))] =
            (TABLES_AT + random_below(&random, TABLES_BYTES)) | random_below(&random, 4);
        (void)find(random_below(&random, UINT64_C(1) << random_below(&random, 64)));
        assert_in_range(result.stage1_reads, 0, 4);
        assert_in_range(result.stage2_reads, 0, 5 * 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_translation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_granule_of_4_kib, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_granule_of_16_kib, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_granule_of_64_kib, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_upper_half, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_el2, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stage2_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_start_levels_of_stage2, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_clear_of_a_vmid, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_two_stages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_address_spaces, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_any_tables, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
