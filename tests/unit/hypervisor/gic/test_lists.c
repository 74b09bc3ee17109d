/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the choices among the list registers on copies of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gic/lists.h"
#include <string.h>

#define COUNT 4u
#define SGI   3u
#define PPI   27u
#define SPI   40u

static struct vcpu vcpu;
static struct lists lists;

static int setup(void **state)
{
    (void)state;
    memset(&vcpu, 0, sizeof(vcpu));
    lists = (struct lists){
        .vcpu = &vcpu, .count = COUNT, .running = LISTS_IDLE, .threshold = LISTS_IDLE};
    vcpu.list.deactivation_trap = LIST_CONTROL_TRAP_DIR;
    return 0;
}

static void put(unsigned index, uint32_t number, uint32_t priority, uint64_t state)
{
    lists.values[index] = list_register(number, priority, state);
}

/* Fills all list registers: interrupt 32 + n has the priority priorities[n]. */
static void fill(uint64_t state, const uint32_t priorities[COUNT])
{
    for (unsigned i = 0; i < COUNT; i++) {
        put(i, 32 + i, priorities[i], state);
    }
}

static void test_find(void **state)
{
    (void)state;
    assert_int_equal(lists_find(&lists, 0), LISTS_NONE);
    put(1, SGI, 0x20, LIST_ACTIVE);
    put(3, SPI, 0x20, LIST_PENDING);
    assert_int_equal(lists_find(&lists, SGI), 1);
    assert_int_equal(lists_find(&lists, SPI), 3);
    assert_int_equal(lists_find(&lists, 0), LISTS_NONE);
    put(0, 0, 0, LIST_STATE);
    assert_int_equal(lists_find(&lists, 0), 0);
    lists.count = 3;
    assert_int_equal(lists_find(&lists, SPI), LISTS_NONE);
}

static void test_find_free(void **state)
{
    (void)state;
    fill(LIST_PENDING, (const uint32_t[COUNT]){1, 2, 3, 4});
    assert_int_equal(lists_find_free(&lists), LISTS_NONE);
    lists.values[3] = 0;
    assert_int_equal(lists_find_free(&lists), 3);
    lists.count = 3;
    assert_int_equal(lists_find_free(&lists), LISTS_NONE);
    lists.values[1] = 0;
    assert_int_equal(lists_find_free(&lists), 1);
}

/* An interrupt that is both is found as an active one alone. */
static void test_find_least_urgent(void **state)
{
    (void)state;
    assert_int_equal(lists_find_pending(&lists), LISTS_NONE);
    assert_int_equal(lists_find_active(&lists), LISTS_NONE);
    put(0, 1, 0, LIST_PENDING);
    put(1, 2, 0, LIST_ACTIVE);
    assert_int_equal(lists_find_pending(&lists), 0);
    assert_int_equal(lists_find_active(&lists), 1);
    put(2, 3, 0x80, LIST_STATE);
    assert_int_equal(lists_find_pending(&lists), 0);
    assert_int_equal(lists_find_active(&lists), 2);
    put(3, 4, 0x40, LIST_PENDING);
    assert_int_equal(lists_find_pending(&lists), 3);
    put(0, 1, 0x40, LIST_PENDING);
    assert_int_equal(lists_find_pending(&lists), 0);
    lists.values[0] = 0;
    assert_int_equal(lists_find_pending(&lists), 3);
}

static void test_count(void **state)
{
    (void)state;
    assert_int_equal(lists_count(&lists, LIST_STATE), 0);
    put(0, 1, 0, LIST_PENDING);
    put(1, 2, 0, LIST_ACTIVE);
    put(2, 3, 0, LIST_STATE);
    assert_int_equal(lists_count(&lists, LIST_STATE), 3);
    assert_int_equal(lists_count(&lists, LIST_ACTIVE), 2);
}

/* An SGI stays active. A PPI or SPI is never active and pending at once. */
static void test_pend(void **state)
{
    static const struct {
        uint32_t number;
        uint64_t before, after;
    } cases[] = {
        {SGI, LIST_PENDING, LIST_PENDING}, {SGI, LIST_ACTIVE, LIST_STATE},
        {SGI, LIST_STATE, LIST_STATE},     {PPI, LIST_PENDING, LIST_PENDING},
        {PPI, LIST_ACTIVE, LIST_PENDING},  {SPI, LIST_ACTIVE, LIST_PENDING},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        put(2, cases[i].number, 0x30, cases[i].before);
        lists_pend(&lists, 2);
        assert_int_equal(lists.values[2], list_register(cases[i].number, 0x30, cases[i].after));
    }
}

static void test_choose_free(void **state)
{
    (void)state;
    fill(LIST_PENDING, (const uint32_t[COUNT]){0x10, 0x10, 0x10, 0x10});
    lists.values[2] = 0;
    assert_int_equal(lists_choose(&lists, 0xf0), 2);
}

/* A pending interrupt leaves its list register to a more urgent one alone. */
static void test_choose_among_pending(void **state)
{
    (void)state;
    fill(LIST_PENDING, (const uint32_t[COUNT]){0x20, 0x60, 0x40, 0x60});
    assert_int_equal(lists_choose(&lists, 0x50), 1);
    assert_int_equal(lists_choose(&lists, 0x60), LISTS_NONE);
    assert_int_equal(lists_choose(&lists, 0x70), LISTS_NONE);
    put(0, SGI, 0x80, LIST_ACTIVE);
    lists.running = 0x80;
    assert_int_equal(lists_choose(&lists, 0x50), 1);
    assert_int_equal(lists_choose(&lists, 0x60), LISTS_NONE);
}

/* If all are active, one is evicted for an interrupt that the guest would take now. */
static void test_choose_among_active(void **state)
{
    (void)state;
    fill(LIST_ACTIVE, (const uint32_t[COUNT]){0x50, 0x60, 0x80, 0x40});
    lists.running = 0x40;
    assert_int_equal(lists_choose(&lists, 0x30), 2);
    assert_int_equal(lists_choose(&lists, 0x40), LISTS_NONE);
    lists.running = LISTS_IDLE;
    assert_int_equal(lists_choose(&lists, 0xff), 2);
}

/* With EOImode 1 the active ones may have been ended, and are evicted first. */
static void test_choose_with_split_ends(void **state)
{
    (void)state;
    fill(LIST_PENDING, (const uint32_t[COUNT]){0x20, 0x60, 0x40, 0x60});
    lists.guest_splits = true;
    assert_int_equal(lists_choose(&lists, 0x60), LISTS_NONE);
    put(0, SGI, 0x20, LIST_ACTIVE);
    lists.running = 0x20;
    assert_int_equal(lists_choose(&lists, 0x60), 0);
    lists.guest_splits = false;
    assert_int_equal(lists_choose(&lists, 0x60), LISTS_NONE);
}

/* Those that are set aside are less urgent than the pending ones, and nothing else is known. */
static void test_has_aside_before(void **state)
{
    (void)state;
    assert_false(lists_has_aside_before(&lists, 0x40));
    vcpu.list.has_aside = true;
    assert_true(lists_has_aside_before(&lists, 0x40));
    put(0, SGI, 0x20, LIST_ACTIVE);
    assert_true(lists_has_aside_before(&lists, 0x40));
    put(1, SPI, 0x40, LIST_PENDING);
    assert_true(lists_has_aside_before(&lists, 0x40));
    assert_false(lists_has_aside_before(&lists, 0x3f));
    put(2, PPI, 0x80, LIST_PENDING);
    assert_false(lists_has_aside_before(&lists, 0x40));
}

static void test_evict_and_readmit(void **state)
{
    (void)state;
    put(0, SPI, 0x80, LIST_ACTIVE);
    put(1, SGI, 0x60, LIST_STATE);
    put(2, PPI, 0x40, LIST_ACTIVE);
    lists_evict(&lists, 0);
    lists_evict(&lists, 1);
    assert_int_equal(lists.values[0], 0);
    assert_int_equal(lists.values[1], 0);
    assert_int_equal(vcpu.list.evicted_count, 2);
    assert_int_equal(vcpu.list.evicted[0], SPI);
    assert_int_equal(vcpu.list.evicted[1], SGI | EVICTED_PENDING);
    lists_readmit(&lists, 0x60, false);
    assert_int_equal(lists.values[lists_find(&lists, SGI)], list_register(SGI, 0x60, LIST_STATE));
    lists_readmit(&lists, 0x80, false);
    assert_int_equal(lists.values[lists_find(&lists, SPI)], list_register(SPI, 0x80, LIST_ACTIVE));
    assert_int_equal(lists.values[2], list_register(PPI, 0x40, LIST_ACTIVE));
    assert_int_equal(vcpu.list.evicted_count, 0);
}

static void test_remove_evicted(void **state)
{
    static const uint16_t evicted[] = {SPI, SGI | EVICTED_PENDING, PPI};
    struct interrupt_list *list = &vcpu.list;

    (void)state;
    memcpy(list->evicted, evicted, sizeof(evicted));
    list->evicted_count = 3;
    assert_int_equal(lists_find_evicted(list, SGI), 1);
    assert_int_equal(lists_find_evicted(list, PPI), 2);
    assert_int_equal(lists_find_evicted(list, 0), 3);
    lists_remove_evicted(list, 0);
    assert_int_equal(list->evicted_count, 2);
    assert_int_equal(list->evicted[0], SGI | EVICTED_PENDING);
    assert_int_equal(list->evicted[1], PPI);
    lists_remove_evicted(list, 1);
    assert_int_equal(list->evicted_count, 1);
    assert_int_equal(lists_find_evicted(list, PPI), 1);
}

/* Only interrupts are signalled that are more urgent than all that are pending. Besides these, the
 * active one that the guest handles keeps its list register. */
static void test_close_with_pending(void **state)
{
    (void)state;
    fill(LIST_ACTIVE, (const uint32_t[COUNT]){0x80, 0x60, 0x40, 0x20});
    put(3, SPI, 0x20, LIST_PENDING);
    lists.running = 0x40;
    lists_close(&lists);
    assert_int_equal(lists.threshold, 0x20);
    assert_int_equal(lists_count(&lists, LIST_STATE), 2);
    assert_int_equal(lists_find_active(&lists), 2);
    assert_int_equal(vcpu.list.evicted[0], 32);
    assert_int_equal(vcpu.list.evicted[1], 33);
    setup(state);
    fill(LIST_PENDING, (const uint32_t[COUNT]){0x30, 0x50, 0x20, 0x80});
    put(3, SPI, 0x80, LIST_ACTIVE);
    lists.running = 0x80;
    lists_close(&lists);
    assert_int_equal(lists.threshold, 0x50);
    assert_int_equal(vcpu.list.evicted_count, 0);
    lists_open(&lists);
    assert_int_equal(lists.threshold, LISTS_IDLE);
}

/* Without pending ones the two most urgent active ones keep theirs. */
static void test_close_without_pending(void **state)
{
    (void)state;
    fill(LIST_ACTIVE, (const uint32_t[COUNT]){0x40, 0x80, 0x20, 0x60});
    lists.running = 0x20;
    lists_close(&lists);
    assert_int_equal(lists.threshold, 0x20);
    assert_int_equal(lists_find(&lists, 33), LISTS_NONE);
    assert_int_equal(lists_find(&lists, 35), LISTS_NONE);
    assert_int_equal(vcpu.list.evicted_count, 2);
    assert_int_equal(vcpu.list.evicted[0], 33);
    assert_int_equal(vcpu.list.evicted[1], 35);
    setup(state);
    fill(LIST_ACTIVE, (const uint32_t[COUNT]){0x40, 0x80, 0x20, 0x60});
    lists.guest_splits = true;
    lists.running = 0x20;
    lists_close(&lists);
    assert_int_equal(lists.threshold, 0x20);
    assert_int_equal(vcpu.list.evicted_count, 0);
}

static void test_control(void **state)
{
    static const uint64_t wait = LIST_CONTROL_UNDERFLOW;
    static const uint64_t split_wait =
        LIST_CONTROL_UNDERFLOW | LIST_CONTROL_NONE_PENDING | LIST_CONTROL_TRAP_DIR;
    static const uint64_t evicted =
        LIST_CONTROL_UNDERFLOW | LIST_CONTROL_ABSENT | LIST_CONTROL_TRAP_DIR;
    static const uint64_t needed[2][2][2] = {
        {{0, evicted}, {wait, evicted}}, {{0, LIST_CONTROL_TRAP_DIR}, {split_wait, split_wait}}};

    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        lists.guest_splits = i / 4 != 0;
        lists.threshold = i / 2 % 2 != 0 ? 0x40 : LISTS_IDLE;
        vcpu.list.evicted_count = i % 2;
        lists.control = LIST_CONTROL_ENDS;
        assert_int_equal(lists_control(&lists),
                         LIST_CONTROL_ENABLE | needed[i / 4][i / 2 % 2][i % 2]);
    }
}

/* The guest changes to EOImode 0 while interrupts wait until none is pending. */
static void test_control_after_change_of_mode(void **state)
{
    (void)state;
    lists.control = LIST_CONTROL_NONE_PENDING;
    lists.threshold = 0x40;
    assert_int_equal(lists_control(&lists),
                     LIST_CONTROL_ENABLE | LIST_CONTROL_UNDERFLOW | LIST_CONTROL_NONE_PENDING);
    lists_open(&lists);
    assert_int_equal(lists_control(&lists), LIST_CONTROL_ENABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_find, setup),
        cmocka_unit_test_setup(test_find_free, setup),
        cmocka_unit_test_setup(test_find_least_urgent, setup),
        cmocka_unit_test_setup(test_count, setup),
        cmocka_unit_test_setup(test_pend, setup),
        cmocka_unit_test_setup(test_choose_free, setup),
        cmocka_unit_test_setup(test_choose_among_pending, setup),
        cmocka_unit_test_setup(test_choose_among_active, setup),
        cmocka_unit_test_setup(test_choose_with_split_ends, setup),
        cmocka_unit_test_setup(test_has_aside_before, setup),
        cmocka_unit_test_setup(test_evict_and_readmit, setup),
        cmocka_unit_test_setup(test_remove_evicted, setup),
        cmocka_unit_test_setup(test_close_with_pending, setup),
        cmocka_unit_test_setup(test_close_without_pending, setup),
        cmocka_unit_test_setup(test_control, setup),
        cmocka_unit_test_setup(test_control_after_change_of_mode, setup),
    };

    return cmocka_run_group_tests_name("lists", tests, NULL, NULL);
}
