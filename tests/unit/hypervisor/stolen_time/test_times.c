/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the times of VCPUs on shared cores, and the calls by which a guest finds them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "hypercall/services.h"
#include "stolen_time/times.h"
#include <arch/hypercalls.h>

#define MHZ  UINT64_C(1000000)
#define PAGE UINT64_C(0x50000000)

static struct vcpu_times shown;
static struct times times;

#define WAY_BACK 450u

/* The guest is left at the end of a charge, and continues at `now`. */
static void go_on(uint64_t executed, uint64_t used, uint64_t charged, uint64_t now)
{
    times_show_stolen(&times, used, charged);
    times_return(&times, executed, used, charged, now, WAY_BACK);
}

/* The VCPU executes for 300, pays 60 for the change from it, is out for 200, and pays 90 for the
 * change to it. */
static void test_virtual_time_stands_still_while_the_vcpu_is_out(void **state)
{
    uint64_t executed;

    (void)state;
    times_init(&times, &shown, 1000 * MHZ);
    times_unblock(&times, 5000);
    times_start(&times, 0, 5000);
    go_on(times_executed(&times, 0), 0, 5000, 5000);
    assert_int_equal(shown.absence.ticks, 5000);
    assert_int_equal(shown.absence.ways_back, WAY_BACK);
    assert_int_equal(shown.stolen_time.nanoseconds, 0);
    executed = times_executed(&times, 300);
    assert_int_equal(executed, 300);
    go_on(executed, 360, 5560, 5650);
    assert_int_equal(5650 - shown.absence.ticks, 300);
    assert_int_equal(shown.absence.ways_back, 2 * WAY_BACK);
    assert_int_equal(shown.stolen_time.nanoseconds, 200);
    /* It executes for 100 and has no work for 900 from 5840 on. The changes cost the same. */
    executed = times_executed(&times, 360 + 90 + 100);
    assert_int_equal(executed, 400);
    times_block(&times, 5810);
    times_unblock(&times, 6710);
    go_on(executed, 360 + 90 + 160, 6710, 6800);
    assert_int_equal(6800 - shown.absence.ticks, 400);
    assert_int_equal(shown.stolen_time.nanoseconds, 200);
    /* It continues at once. */
    go_on(times_executed(&times, 360 + 90 + 160 + 90), 360 + 90 + 160 + 90, 6800, 6800);
    assert_int_equal(6800 - shown.absence.ticks, 400);
    assert_int_equal(shown.stolen_time.nanoseconds, 200);
}

/* Another VCPU pays for the way back to the guest in advance, until later than the guest's first
 * instruction. However early the guest is left again, its virtual time does not go back. */
static void test_virtual_time_never_goes_back(void **state)
{
    (void)state;
    for (uint64_t executes = 0; executes <= 2 * WAY_BACK; executes++) {
        uint64_t charged = 2000 + WAY_BACK, left = 2000 + executes, used = 300, seen;

        times_init(&times, &shown, 1000000000);
        go_on(300, 300, 1000, 1000);
        go_on(times_executed(&times, 300), used, charged, 2000); /* out from 1000 to 2000 */
        assert_int_equal(2000 - shown.absence.ticks, 300);
        seen = left - shown.absence.ticks;
        used += left > charged ? left - charged : 0;
        charged = left > charged ? left : charged;
        go_on(times_executed(&times, used), used, charged + 700, left + 700);
        assert_true(left + 700 - shown.absence.ticks >= seen);
        /* It is the time of the ledger at most. */
        assert_true(left + 700 - shown.absence.ticks <= used + WAY_BACK);
    }
}

/* The virtual time of random stays and absences is the time for which the guest has executed,
 * whoever pays for the changes. */
static void test_virtual_time_is_what_the_guest_executed(void **state)
{
    uint64_t now = 1000, charged = 1000, used = 0, executed = 0;

    (void)state;
    srand(1);
    times_init(&times, &shown, 1000000000);
    go_on(0, 0, now, now);
    for (unsigned i = 0; i < 10000; i++) {
        uint64_t stay = WAY_BACK + (uint64_t)(rand() % 1000), away = (uint64_t)(rand() % 1000);
        uint64_t own = (uint64_t)(rand() % 100), seen;

        now += stay;
        executed += stay;
        assert_int_equal(now - shown.absence.ticks, executed);
        used += now - charged;
        seen = times_executed(&times, used);
        used += own; /* the change from it */
        now += own + away;
        charged = now;
        if (rand() % 2 == 0) { /* it pays for the change to it; otherwise another one has paid */
            now += own;
        } else {
            charged += WAY_BACK;
        }
        go_on(seen, used, charged, now);
        assert_int_equal(now - shown.absence.ticks, executed);
    }
}

static void test_a_new_guest_has_lost_nothing(void **state)
{
    (void)state;
    times_init(&times, &shown, 1000 * MHZ);
    go_on(times_executed(&times, 100), 100, 900, 900);
    assert_int_equal(shown.stolen_time.nanoseconds, 800);
    times_start(&times, 100, 900);
    go_on(times_executed(&times, 100), 100, 900, 900);
    assert_int_equal(shown.stolen_time.nanoseconds, 0);
    assert_int_equal(shown.absence.ticks, 800);
}

/* Every frequency, and a time of 100 years. */
static void test_nanoseconds(void **state)
{
    static const uint64_t frequencies[] = {1,        32768,      19200000,  24 * MHZ,
                                           62500000, 1000 * MHZ, 3000 * MHZ};

    (void)state;
    for (size_t i = 0; i < sizeof(frequencies) / sizeof(frequencies[0]); i++) {
        uint64_t seconds = UINT64_C(100) * 365 * 24 * 3600;
        uint64_t right = seconds * TIMES_NANOSECONDS, wrong;

        times_init(&times, &shown, frequencies[i]);
        times_show_stolen(&times, 0, seconds * frequencies[i]);
        wrong = right - shown.stolen_time.nanoseconds;
        assert_true(shown.stolen_time.nanoseconds <= right);
        assert_true(wrong <= (seconds * frequencies[i] >> 32) + 1);
    }
}

static int64_t call(const struct vcpu *vcpu, uint32_t function, uint64_t first)
{
    uint64_t registers[4] = {function, first};

    return services_call(vcpu, registers);
}

static void test_calls(void **state)
{
    struct description_partition described = {.times = PAGE};
    struct partition partition = {.constant.described = &described};
    struct vcpu vcpu = {.partition = &partition, .number = 2};

    (void)state;
    assert_true(services_have(&vcpu, CALL_PV_TIME_FEATURES));
    assert_false(services_have(&vcpu, CALL_HYPERVISOR_TIMES));
    assert_int_equal(call(&vcpu, CALL_PV_TIME_FEATURES, CALL_PV_TIME_FEATURES), CALL_SUCCESS);
    assert_int_equal(call(&vcpu, CALL_PV_TIME_FEATURES, CALL_PV_TIME_ST), CALL_SUCCESS);
    assert_int_equal(call(&vcpu, CALL_PV_TIME_FEATURES, 0xc5000022), CALL_NOT_SUPPORTED);
    assert_int_equal(call(&vcpu, CALL_PV_TIME_ST, 0), PAGE + 256);
    assert_int_equal(call(&vcpu, CALL_HYPERVISOR_TIMES, 0), PAGE + 256 + 64);
    assert_int_equal(call(&vcpu, 0xc5000022, 0), CALL_NOT_SUPPORTED);
    assert_int_equal(call(&vcpu, 0xc6000001, 0), CALL_NOT_SUPPORTED);
    described.times = 0;
    assert_false(services_have(&vcpu, CALL_PV_TIME_FEATURES));
    assert_int_equal(call(&vcpu, CALL_PV_TIME_FEATURES, CALL_PV_TIME_ST), CALL_NOT_SUPPORTED);
    assert_int_equal(call(&vcpu, CALL_PV_TIME_ST, 0), CALL_NOT_SUPPORTED);
    assert_int_equal(call(&vcpu, CALL_HYPERVISOR_TIMES, 0), CALL_NOT_SUPPORTED);
}

static void test_identity(void **state)
{
    const struct vcpu vcpu = {0};
    uint64_t registers[4] = {CALL_HYPERVISOR_UID};

    (void)state;
    /* 951acda9-2c9c-432a-a2f6-acddceb95c85 */
    assert_int_equal(services_call(&vcpu, registers), 0xa9cd1a95);
    assert_int_equal(registers[1], 0x2a439c2c);
    assert_int_equal(registers[2], 0xddacf6a2);
    assert_int_equal(registers[3], 0x855cb9ce);
    registers[0] = CALL_HYPERVISOR_REVISION;
    assert_int_equal(services_call(&vcpu, registers), 1);
    assert_int_equal(registers[1], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_virtual_time_stands_still_while_the_vcpu_is_out),
        cmocka_unit_test(test_virtual_time_never_goes_back),
        cmocka_unit_test(test_virtual_time_is_what_the_guest_executed),
        cmocka_unit_test(test_a_new_guest_has_lost_nothing),
        cmocka_unit_test(test_nanoseconds),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_identity),
    };

    return cmocka_run_group_tests_name("times", tests, NULL, NULL);
}
