/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the trace of a shared core: where records are written, and what they say of the scheduler.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "scheduler/policy.h"
#include "scheduler/trace.h"

#define CAPACITY  (SCHEDULER_TRACE_BYTES / sizeof(struct trace_record))
#define UNTOUCHED UINT64_C(0xa5a5a5a5a5a5a5a5)

/* The ring lies between two areas that no record may change. */
static _Alignas(SCHEDULER_TRACE_BYTES) struct trace_record memory[3 * CAPACITY];
static struct trace_record *const ring = memory + CAPACITY;
static struct trace trace;

static int begin(void **state)
{
    (void)state;
    memset(memory, (int)(UNTOUCHED & 0xff), sizeof(memory));
    trace = (struct trace){.ring = (uint64_t)(uintptr_t)ring};
    return 0;
}

static const struct trace_record *place(uint64_t number)
{
    return &ring[number % CAPACITY];
}

static uint64_t time_of(uint64_t number)
{
    return place(number)->event & ((UINT64_C(1) << TRACE_LEVEL_SHIFT) - 1);
}

static void choose(uint64_t now, unsigned level)
{
    trace_write(&trace, now, TRACE_CHOICE, level, 0, 0);
}

/* Asserts the last record that the policy has written. */
static void assert_sets(const struct policy *policy, uint32_t runnable, uint32_t second)
{
    uint64_t number = trace.written / sizeof(struct trace_record);

    policy_trace(policy, &trace, 1, TRACE_CHOICE, 0);
    assert_int_equal(place(number)->runnable, runnable);
    assert_int_equal(place(number)->second, second);
}

static void assert_untouched(const struct trace_record *start, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(start[i].event, UNTOUCHED);
        assert_int_equal(start[i].runnable, (uint32_t)UNTOUCHED);
        assert_int_equal(start[i].second, (uint32_t)UNTOUCHED);
    }
}

static void test_fields_of_a_record(void **state)
{
    (void)state;
    trace_write(&trace, (UINT64_C(1) << 56) - 1, TRACE_CHOICE, TRACE_NONE, 0x80, 0xfffffffe);
    trace_write(&trace, 5, TRACE_START, 31, 0, 0);
    assert_int_equal(place(0)->event, UINT64_C(0x20ffffffffffffff));
    assert_int_equal(place(0)->runnable, 0x80);
    assert_int_equal(place(0)->second, 0xfffffffe);
    assert_int_equal(place(1)->event, UINT64_C(0x9f00000000000005));
    assert_int_equal(trace.written, 32);
    assert_untouched(&ring[2], CAPACITY - 2);
}

/* At any time the ring has the latest records. */
static void test_the_ring_keeps_the_latest_records(void **state)
{
    (void)state;
    for (uint64_t count = 1; count <= 3 * CAPACITY + 5; count++) {
        choose(1000 + count, 1);
        assert_int_equal(trace.written, 16 * count);
        assert_int_equal(time_of(count - 1), 1000 + count);
        if (count > CAPACITY) { /* the oldest record that is left */
            assert_int_equal(time_of(count - CAPACITY), 1001 + count - CAPACITY);
        }
    }
    assert_untouched(memory, CAPACITY);
    assert_untouched(&ring[CAPACITY], CAPACITY);
}

/* The VCPU of level 0 has used its budget; that of level 1 has some, and has no work after it
 * blocks. */
static void test_state_by_budgets(void **state)
{
    static struct policy policy;
    static union reservation_server servers[2];

    (void)state;
    policy_init(&policy, 0);
    for (unsigned level = 0; level < 2; level++) {
        assert_int_equal(sporadic_server_init(&servers[level].main, 100, 1000, 4, 0), SCHEDULE_OK);
        reservation_add(&policy.reservation, level, &servers[level]);
        policy_unblock(&policy, level, 0);
    }
    assert_int_equal(policy_choose_level(&policy, 0), 0);
    assert_sets(&policy, 3, 3);
    policy_charge(&policy, 0, 100, 100, UINT64_MAX);
    assert_int_equal(policy_choose_level(&policy, 100), 1);
    assert_sets(&policy, 3, 2);
    policy_charge(&policy, 1, 50, 150, UINT64_MAX);
    policy_block(&policy, 1);
    assert_int_equal(policy_choose_level(&policy, 150), POLICY_NONE);
    assert_sets(&policy, 1, 0);
    assert_int_equal(policy_choose_level(&policy, 1000), 0);
    assert_sets(&policy, 1, 1);
}

/* A VCPU that wakes preempts the other one, with a boost. */
static void test_state_by_weights(void **state)
{
    static struct policy policy;

    (void)state;
    policy_init(&policy, 1000);
    credit_add(&policy.credit, 0, 1);
    credit_add(&policy.credit, 1, 1);
    policy_unblock(&policy, 0, 0);
    assert_int_equal(policy_choose_level(&policy, 0), 0);
    policy_charge(&policy, 0, 5000, 5000, UINT64_MAX);
    assert_int_equal(policy_choose_level(&policy, 5000), 0);
    assert_sets(&policy, 1, 0);
    policy_unblock(&policy, 1, 5000);
    assert_int_equal(policy_choose_level(&policy, 5000), 1);
    assert_sets(&policy, 3, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_fields_of_a_record, begin),
        cmocka_unit_test_setup(test_the_ring_keeps_the_latest_records, begin),
        cmocka_unit_test_setup(test_state_by_budgets, begin),
        cmocka_unit_test_setup(test_state_by_weights, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
