/* SPDX-License-Identifier: BSD-2-Clause */
/* A TLB: sizes of pages, address spaces, replacement. */
#include "model_test.h"
#include "tlb.h"

#define PAGE UINT64_C(0x1000)

static const struct address_space first = {.regime = 1, .asid = 1},
                                  second = {.regime = 1, .asid = 2},
                                  other_regime = {.regime = 2, .asid = 1};

static void make(struct tlb *tlb, uint32_t entries, uint32_t ways)
{
    const struct tlb_geometry geometry = {.entries = entries, .ways = ways};

    assert_true(tlb_create(tlb, &geometry));
}

static void fill(struct tlb *tlb, struct address_space space, uint64_t address, uint8_t shift,
                 bool is_global)
{
    tlb_fill(tlb, &(struct tlb_entry){.page = address >> shift,
                                      .physical = UINT64_C(0x80000000),
                                      .space = space,
                                      .shift = shift,
                                      .is_global = is_global});
}

static void test_sizes(void **state)
{
    struct tlb tlb;

    (void)state;
    make(&tlb, 16, 4);
    fill(&tlb, first, 0x40000000, 12, false);
    fill(&tlb, first, 0x40200000, 21, false);
    fill(&tlb, first, 0x80000000, 30, false);
    assert_non_null(tlb_find(&tlb, first, 0x40000fff));
    assert_null(tlb_find(&tlb, first, 0x40001000));
    assert_int_equal(tlb_find(&tlb, first, 0x403fffff)->shift, 21);
    assert_null(tlb_find(&tlb, first, 0x40400000));
    assert_int_equal(tlb_find(&tlb, first, 0xbfffffff)->shift, 30);
    assert_null(tlb_find(&tlb, first, 0xc0000000));
    tlb_clear(&tlb);
    assert_null(tlb_find(&tlb, first, 0x40000000));
    assert_null(tlb_find(&tlb, first, 0x80000000));
    tlb_destroy(&tlb);
}

static void test_spaces(void **state)
{
    struct tlb tlb;

    (void)state;
    make(&tlb, 16, 4);
    fill(&tlb, first, PAGE, 12, false);
    assert_non_null(tlb_find(&tlb, first, PAGE));
    assert_null(tlb_find(&tlb, second, PAGE));
    assert_null(tlb_find(&tlb, other_regime, PAGE));
    fill(&tlb, first, 2 * PAGE, 12, true);
    assert_non_null(tlb_find(&tlb, second, 2 * PAGE));
    assert_null(tlb_find(&tlb, other_regime, 2 * PAGE));
    tlb_destroy(&tlb);
}

static void test_clear_of_regimes(void **state)
{
    struct tlb tlb;

    (void)state;
    make(&tlb, 16, 4);
    fill(&tlb, first, PAGE, 12, false);
    fill(&tlb, second, 2 * PAGE, 12, true);
    fill(&tlb, other_regime, 3 * PAGE, 12, false);
    tlb_clear_regimes(&tlb, 3, 1);
    assert_null(tlb_find(&tlb, first, PAGE));
    assert_null(tlb_find(&tlb, second, 2 * PAGE));
    assert_non_null(tlb_find(&tlb, other_regime, 3 * PAGE));
    tlb_clear_regimes(&tlb, 0, 0);
    assert_null(tlb_find(&tlb, other_regime, 3 * PAGE));
    tlb_destroy(&tlb);
}

static void test_replacement(void **state)
{
    struct tlb tlb;

    (void)state;
    make(&tlb, 4, 2);
    fill(&tlb, first, 0 * PAGE, 12, false);
    fill(&tlb, first, 2 * PAGE, 12, false);
    fill(&tlb, first, 1 * PAGE, 12, false); /* the other set */
    assert_non_null(tlb_find(&tlb, first, 0));
    fill(&tlb, first, 4 * PAGE, 12, false);
    assert_null(tlb_find(&tlb, first, 2 * PAGE));
    assert_non_null(tlb_find(&tlb, first, 0));
    assert_non_null(tlb_find(&tlb, first, 4 * PAGE));
    assert_non_null(tlb_find(&tlb, first, 1 * PAGE));
    tlb_destroy(&tlb);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_spaces),
        cmocka_unit_test(test_clear_of_regimes),
        cmocka_unit_test(test_replacement),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
