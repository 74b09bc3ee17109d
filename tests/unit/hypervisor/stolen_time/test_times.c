/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the times of VCPUs on shared cores, and the calls by which a guest finds them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hypercall/services.h"
#include "stolen_time/times.h"
#include <arch/hypercalls.h>

#define MHZ  UINT64_C(1000000)
#define PAGE UINT64_C(0x50000000)

static struct vcpu_times shown;
static struct times times;

static void test_virtual_time_stands_still_while_the_vcpu_is_out(void **state)
{
    (void)state;
    times_init(&times, &shown, 1000 * MHZ);
    times_unblock(&times, 5000);
    times_start(&times, 0, 5000);
    times_show(&times, 0, 5000);
    assert_int_equal(shown.absence.ticks, 5000);
    assert_int_equal(shown.stolen_time.nanoseconds, 0);
    /* Charged for 300, out for 200 with work. */
    times_show(&times, 300, 5500);
    assert_int_equal(shown.absence.ticks, 5200);
    assert_int_equal(shown.stolen_time.nanoseconds, 200);
    /* Charged for 100, out for 1000, of which it had no work for 900. */
    times_block(&times, 5600);
    times_unblock(&times, 6500);
    times_show(&times, 400, 6600);
    assert_int_equal(shown.absence.ticks, 6200);
    assert_int_equal(shown.stolen_time.nanoseconds, 300);
    /* Shown again without an absence. */
    times_show(&times, 450, 6650);
    assert_int_equal(shown.absence.ticks, 6200);
    assert_int_equal(shown.stolen_time.nanoseconds, 300);
}

/* Another VCPU pays for the way back to the guest in advance, until later than the guest's first
 * instruction. */
static void test_virtual_time_never_goes_back(void **state)
{
    (void)state;
    times_init(&times, &shown, 1000000000);
    times_show(&times, 300, 1000);
    assert_int_equal(1000 - shown.absence.ticks, 300); /* it is interrupted at 1000 */
    times_prepay(&times, 450);
    times_show(&times, 300, 2000 + 450); /* the clock shows 2000 */
    assert_int_equal(2000 - shown.absence.ticks, 300);
    assert_int_equal(3000 - shown.absence.ticks, 1300); /* it is interrupted at 3000 */
    times_prepay(&times, 450);
    times_show(&times, 300 + 550, 4000 + 450);
    assert_int_equal(4000 - shown.absence.ticks, 1300);
}

static void test_a_new_guest_has_lost_nothing(void **state)
{
    (void)state;
    times_init(&times, &shown, 1000 * MHZ);
    times_show(&times, 100, 900);
    assert_int_equal(shown.stolen_time.nanoseconds, 800);
    times_start(&times, 100, 900);
    times_show(&times, 100, 900);
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
        times_show(&times, 0, seconds * frequencies[i]);
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
        cmocka_unit_test(test_a_new_guest_has_lost_nothing),
        cmocka_unit_test(test_nanoseconds),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_identity),
    };

    return cmocka_run_group_tests_name("times", tests, NULL, NULL);
}
