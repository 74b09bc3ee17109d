/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests who pays for each tick of a shared core: by cause, and that no tick has two payers or none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "scheduler/core.h"
#include "scheduler/ledger.h"

#define VCPUS    4u
#define START    1000u
#define BUDGET   100u
#define PERIOD   1000u
#define WAY_BACK 3u
#define LEAVE    4u
#define ENTER    3u

static _Alignas(SCHEDULER_TRACE_BYTES) uint8_t ring[SCHEDULER_TRACE_BYTES];
static struct shared_core core;
static struct shared_vcpu shared[VCPUS];
static struct vcpu vcpus[VCPUS];
static struct vcpu_times shown[VCPUS];
static const struct ledger_costs costs = {.way_back = WAY_BACK, .leave = LEAVE, .enter = ENTER};

/* Each VCPU has budget and work; VCPU n has level n. */
static int begin_with(uint64_t quantum)
{
    memset(&core, 0, sizeof(core));
    memset(vcpus, 0, sizeof(vcpus));
    memset(shared, 0, sizeof(shared));
    core.trace.ring = (uint64_t)(uintptr_t)ring;
    policy_init(&core.policy, quantum);
    ledger_init(&core, START, &costs);
    for (unsigned n = 0; n < VCPUS; n++) {
        vcpus[n].shared = &shared[n];
        shared[n].level = n;
        shared[n].expiry = UINT64_MAX;
        core.vcpus[n] = &vcpus[n];
        times_init(&shared[n].times, &shown[n], 1000000000);
        times_unblock(&shared[n].times, START);
        if (quantum != 0) {
            credit_add(&core.policy.credit, n, n + 1);
        } else {
            assert_int_equal(sporadic_server_init(&shared[n].server.main, BUDGET, PERIOD, 8, START),
                             SCHEDULE_OK);
            reservation_add(&core.policy.reservation, n, &shared[n].server);
        }
        policy_unblock(&core.policy, n, START);
    }
    return 0;
}

static int begin(void **state)
{
    (void)state;
    return begin_with(0);
}

static const struct trace_record *last_record(void)
{
    return (const struct trace_record *)(const void *)(ring + (core.trace.written - 16) %
                                                                  SCHEDULER_TRACE_BYTES);
}

static uint64_t record_count(void)
{
    return core.trace.written / sizeof(struct trace_record);
}

static void assert_record(enum trace_kind kind, unsigned level, uint64_t now)
{
    assert_int_equal(last_record()->event, now | (uint64_t)level << TRACE_LEVEL_SHIFT |
                                               (uint64_t)kind << TRACE_KIND_SHIFT);
}

static void test_nobody_pays_before_the_first_choice(void **state)
{
    (void)state;
    assert_int_equal(ledger_charge(&core, START + 7), START + 7);
    assert_int_equal(core.ledger.idle, 7);
    assert_int_equal(record_count(), 0);
}

static void test_the_vcpu_that_executes_pays(void **state)
{
    (void)state;
    ledger_execute(&core, &vcpus[2]);
    assert_record(TRACE_CHOICE, 2, START);
    (void)ledger_charge(&core, START + 30);
    (void)ledger_charge(&core, START + 40);
    assert_int_equal(vcpus[2].report.used, 40);
    assert_int_equal(core.ledger.idle, 0);
    /* its budget, too: it is used up after the rest */
    (void)ledger_charge(&core, START + BUDGET);
    assert_false(policy_is_ready(&core.policy, 2));
}

/* The interrupted VCPU pays until the exception, and then not before its guest continues. */
static void test_the_vcpu_of_an_interrupt_pays_for_the_whole_exit(void **state)
{
    (void)state;
    ledger_execute(&core, &vcpus[3]);
    (void)ledger_charge(&core, START + 5); /* the exception */
    ledger_interrupt(&core, &vcpus[1]);
    assert_record(TRACE_INTERRUPT, 1, START + 5);
    assert_false(ledger_next_pays(&core, &vcpus[3], &vcpus[3]));
    ledger_return(&core, START + 25);
    ledger_execute(&core, &vcpus[3]);
    assert_int_equal(vcpus[3].report.used, 5);
    assert_int_equal(vcpus[1].report.used, 20 + WAY_BACK);
    (void)ledger_charge(&core, START + 25 + WAY_BACK - 1); /* the way back was shorter */
    assert_int_equal(vcpus[3].report.used, 5);
    assert_int_equal(vcpus[1].report.used, 20 + WAY_BACK);
    (void)ledger_charge(&core, START + 26 + WAY_BACK);
    assert_int_equal(vcpus[3].report.used, 6);
}

static void test_an_interrupt_of_the_payer_needs_no_record(void **state)
{
    (void)state;
    ledger_execute(&core, &vcpus[1]);
    (void)ledger_charge(&core, START + 5);
    ledger_interrupt(&core, &vcpus[1]);
    assert_int_equal(record_count(), 1);
    (void)ledger_charge(&core, START + 6);
    assert_int_equal(vcpus[1].report.used, 6);
}

static void test_a_vcpu_that_preempts_pays_for_the_change(void **state)
{
    (void)state;
    ledger_execute(&core, &vcpus[2]);
    assert_true(ledger_next_pays(&core, &vcpus[2], &vcpus[0]));
}

static void test_a_vcpu_that_blocks_pays_for_the_change(void **state)
{
    (void)state;
    ledger_execute(&core, &vcpus[0]);
    policy_block(&core.policy, 0);
    assert_false(ledger_next_pays(&core, &vcpus[0], &vcpus[1]));
    ledger_return(&core, START + 9); /* after the change */
    ledger_execute(&core, &vcpus[1]);
    (void)ledger_charge(&core, START + 10 + WAY_BACK);
    assert_int_equal(vcpus[0].report.used, 9 + WAY_BACK);
    assert_int_equal(vcpus[1].report.used, 1);
}

static void test_a_vcpu_without_budget_pays_for_the_change(void **state)
{
    (void)state;
    ledger_execute(&core, &vcpus[0]);
    (void)ledger_charge(&core, START + BUDGET);
    assert_false(ledger_next_pays(&core, &vcpus[0], &vcpus[1]));
}

/* The VCPU for which an interrupt has come pays already, even if the one before has blocked. */
static void test_a_vcpu_that_pays_already_pays_for_the_change_to_it(void **state)
{
    (void)state;
    ledger_execute(&core, &vcpus[0]);
    policy_block(&core.policy, 0);
    (void)ledger_charge(&core, START + 5);
    ledger_interrupt(&core, &vcpus[1]);
    assert_true(ledger_next_pays(&core, &vcpus[0], &vcpus[1]));
    assert_false(ledger_next_pays(&core, &vcpus[0], &vcpus[2]));
}

static void test_nobody_pays_for_idle_time(void **state)
{
    (void)state;
    ledger_execute(&core, &vcpus[0]);
    ledger_idle(&core, START + 8);
    (void)ledger_charge(&core, START + 20);
    assert_int_equal(core.ledger.idle, 12 - LEAVE);
    assert_int_equal(vcpus[0].report.used, 8 + LEAVE);
    policy_block(&core.policy, 0);
    assert_true(ledger_next_pays(&core, &vcpus[0], &vcpus[1])); /* the end of it */
}

/* VCPU 0 executes, the core is idle, and `next` executes. */
static void idle_before(struct vcpu *next)
{
    ledger_execute(&core, &vcpus[0]);
    ledger_idle(&core, START + 10);
    (void)ledger_charge(&core, START + 50);
    ledger_end_idle(&core, &vcpus[0], next);
    ledger_execute(&core, next);
}

/* It needed no change after the idle time, and pays for one as if there were other VCPUs. */
static void test_a_vcpu_that_continues_after_an_idle_time_pays_for_a_change_once(void **state)
{
    (void)state;
    idle_before(&vcpus[0]);
    (void)ledger_charge(&core, START + 60);
    assert_int_equal(vcpus[0].report.used, 20 + LEAVE);
    ledger_idle(&core, START + 60);
    assert_int_equal(vcpus[0].report.used, 20 + 2 * LEAVE + ENTER);
    (void)ledger_charge(&core, START + 80);
    ledger_interrupt(&core, &vcpus[0]); /* it has no budget for it */
    ledger_idle(&core, START + 82);
    assert_int_equal(vcpus[0].report.used, 22 + 3 * LEAVE + ENTER);
}

static void test_a_vcpu_that_was_changed_to_pays_for_no_change_from_an_idle_core(void **state)
{
    (void)state;
    idle_before(&vcpus[1]);
    ledger_idle(&core, START + 60);
    assert_int_equal(vcpus[1].report.used, 10 + LEAVE);
    (void)ledger_charge(&core, START + 80);
    ledger_end_idle(&core, &vcpus[1], &vcpus[1]);
    ledger_execute(&core, &vcpus[2]); /* it preempts VCPU 1, and blocks */
    vcpus[1].report.switches++;
    ledger_execute(&core, &vcpus[1]);
    ledger_idle(&core, START + 90);
    assert_int_equal(vcpus[1].report.used, 20 + 2 * LEAVE);
}

/* A VCPU that blocks within the time that was charged in advance sleeps all the same, until its
 * timer expires. */
static void test_a_vcpu_falls_asleep_within_time_that_is_charged(void **state)
{
    (void)state;
    ledger_execute(&core, &vcpus[0]);
    policy_block(&core.policy, 0);
    ledger_idle(&core, START + 5);
    ledger_interrupt(&core, &vcpus[1]);
    policy_block(&core.policy, 1);
    shared[1].expiry = START + 500;
    ledger_return(&core, START + 6);
    assert_int_equal(vcpus[1].report.used, 0);
    assert_true(shared[1].is_blocked);
    policy_block(&core.policy, 2);
    policy_block(&core.policy, 3);
    assert_int_equal(policy_next_choice(&core.policy, POLICY_NONE, START + 7), START + 500);
}

/* A VCPU that has work and does not pay is robbed of time; one that has blocked is not. */
static void test_stolen_time_ends_when_a_vcpu_blocks(void **state)
{
    (void)state;
    ledger_execute(&core, &vcpus[0]);
    policy_block(&core.policy, 0);
    (void)ledger_charge(&core, START + 10);
    ledger_execute(&core, &vcpus[1]);
    (void)ledger_charge(&core, START + 50);
    times_unblock(&shared[0].times, START + 50);
    policy_unblock(&core.policy, 0, START + 50);
    (void)ledger_charge(&core, START + 60); /* VCPU 0 waits for VCPU 1 */
    times_show_stolen(&shared[0].times, vcpus[0].report.used, START + 60);
    assert_int_equal(shown[0].stolen_time.nanoseconds, 10);
    times_show_stolen(&shared[2].times, vcpus[2].report.used, START + 60);
    assert_int_equal(shown[2].stolen_time.nanoseconds, 60);
}

static uint32_t seed;

static uint32_t pick(uint32_t count)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % count;
}

/* One event of a shared core, `ticks` after the one before. Returns the payer of these ticks by the
 * rules at the head of ledger.h, as far as the test keeps them: `payer` is the payer so far. */
static const struct vcpu *random_event(const struct vcpu *payer, uint64_t now)
{
    struct vcpu *vcpu = &vcpus[pick(VCPUS)];

    (void)ledger_charge(&core, now);
    switch (pick(5)) {
    case 0:
        ledger_execute(&core, vcpu);
        return vcpu;
    case 1:
        if (!policy_is_runnable(&core.policy, vcpu->shared->level)) {
            times_unblock(&vcpu->shared->times, now);
            policy_unblock(&core.policy, vcpu->shared->level, now);
        }
        ledger_interrupt(&core, vcpu);
        return vcpu;
    case 2:
        ledger_idle(&core, now);
        return NULL;
    case 3:
        if (payer != vcpu && policy_is_runnable(&core.policy, vcpu->shared->level)) {
            policy_block(&core.policy, vcpu->shared->level);
            times_block(&vcpu->shared->times, now);
        }
        return payer;
    default:
        return payer;
    }
}

static void test_each_tick_has_one_payer(uint64_t quantum)
{
    for (seed = 1; seed < 200; seed += 7) {
        uint64_t expected[VCPUS + 1] = {0}, now = START;
        const struct vcpu *payer = NULL;

        (void)begin_with(quantum);
        for (unsigned step = 0; step < 500; step++) {
            uint64_t ticks = pick(50);
            unsigned pays = payer == NULL ? VCPUS : (unsigned)(payer - vcpus);
            bool was_idle = payer == NULL;

            now += ticks;
            expected[pays] += ticks;
            payer = random_event(payer, now);
            if (payer == NULL && !was_idle) {
                now += LEAVE;
                expected[pays] += LEAVE;
            }
            for (unsigned n = 0; n < VCPUS; n++) {
                assert_int_equal(vcpus[n].report.used, expected[n]);
            }
            assert_int_equal(core.ledger.idle, expected[VCPUS]);
        }
    }
}

static void test_each_tick_has_one_payer_with_budgets(void **state)
{
    (void)state;
    test_each_tick_has_one_payer(0);
}

static void test_each_tick_has_one_payer_with_weights(void **state)
{
    (void)state;
    test_each_tick_has_one_payer(100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nobody_pays_before_the_first_choice, begin),
        cmocka_unit_test_setup(test_the_vcpu_that_executes_pays, begin),
        cmocka_unit_test_setup(test_the_vcpu_of_an_interrupt_pays_for_the_whole_exit, begin),
        cmocka_unit_test_setup(test_an_interrupt_of_the_payer_needs_no_record, begin),
        cmocka_unit_test_setup(test_a_vcpu_that_preempts_pays_for_the_change, begin),
        cmocka_unit_test_setup(test_a_vcpu_that_blocks_pays_for_the_change, begin),
        cmocka_unit_test_setup(test_a_vcpu_without_budget_pays_for_the_change, begin),
        cmocka_unit_test_setup(test_a_vcpu_that_pays_already_pays_for_the_change_to_it, begin),
        cmocka_unit_test_setup(test_nobody_pays_for_idle_time, begin),
        cmocka_unit_test_setup(test_a_vcpu_that_continues_after_an_idle_time_pays_for_a_change_once,
                               begin),
        cmocka_unit_test_setup(test_a_vcpu_that_was_changed_to_pays_for_no_change_from_an_idle_core,
                               begin),
        cmocka_unit_test_setup(test_a_vcpu_falls_asleep_within_time_that_is_charged, begin),
        cmocka_unit_test_setup(test_stolen_time_ends_when_a_vcpu_blocks, begin),
        cmocka_unit_test_setup(test_each_tick_has_one_payer_with_budgets, begin),
        cmocka_unit_test_setup(test_each_tick_has_one_payer_with_weights, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
