/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests hypervisor/call/call.c with the PSCI of the hypervisor and services of this test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "call/call.h"
#include "call/function.h"
#include "call/services.h"
#include "channel/calls.h"
#include "manager/calls.h"
#include <arch/channel.h>
#include <string.h>

#define SMCCC_VERSION       0x80000000u
#define SMCCC_ARCH_FEATURES 0x80000001u
#define ANNOUNCED           0xc5000020u /* the only function of the services that is announced */
#define SERVED              77
#define MANAGED             78
#define CONNECTED           79

static struct partition partition;
static struct vcpu caller;
static uint32_t served; /* the function that the services were called with */
static bool has_manager, is_for_manager;
static bool has_channel;
static uint32_t target;

bool services_have(const struct vcpu *vcpu, uint32_t function)
{
    assert_ptr_equal(vcpu, &caller);
    return function == ANNOUNCED;
}

int64_t services_call(const struct vcpu *vcpu, uint64_t registers[4])
{
    assert_ptr_equal(vcpu, &caller);
    served = (uint32_t)registers[0];
    registers[1] = SERVED;
    return is_for_manager ? CALL_NOT_SUPPORTED : SERVED;
}

bool channel_has_call(const struct vcpu *vcpu, uint32_t function)
{
    assert_ptr_equal(vcpu, &caller);
    return has_channel && function == CALL_CHANNEL_NOTIFY;
}

int64_t channel_call(const struct vcpu *vcpu, const uint64_t registers[4])
{
    assert_ptr_equal(vcpu, &caller);
    return has_channel && (uint32_t)registers[0] == CALL_CHANNEL_NOTIFY ? CONNECTED
                                                                        : CALL_NOT_SUPPORTED;
}

int64_t manager_call(const struct vcpu *vcpu, uint64_t registers[4])
{
    assert_ptr_equal(vcpu, &caller);
    assert_int_equal(registers[0], served);
    return has_manager ? MANAGED : CALL_NOT_SUPPORTED;
}

static int setup(void **state)
{
    static struct description_partition described;

    (void)state;
    described = (struct description_partition){.vcpu_count = 2};
    partition = (struct partition){.described = &described};
    caller = (struct vcpu){.partition = &partition, .number = 1};
    partition.power[1].state = VCPU_ON;
    served = 0;
    has_manager = false;
    has_channel = false;
    is_for_manager = false;
    return 0;
}

/* Makes a call that returns at once. */
static int64_t answer(uint64_t function, uint64_t first)
{
    uint64_t registers[] = {function, first, 2, 3};

    assert_int_equal(call_handle(&caller, registers, &target), PSCI_RETURN);
    assert_int_equal(registers[1], served != 0 ? SERVED : first);
    assert_true(registers[2] == 2 && registers[3] == 3);
    return (int64_t)registers[0];
}

static void test_architecture(void **state)
{
    (void)state;
    assert_int_equal(answer(SMCCC_VERSION, 0), 0x10001);
    assert_int_equal(answer(UINT64_C(0x5500000000) | SMCCC_VERSION, 0), 0x10001);
    assert_int_equal(answer(SMCCC_ARCH_FEATURES, SMCCC_VERSION), CALL_SUCCESS);
    assert_int_equal(answer(SMCCC_ARCH_FEATURES, SMCCC_ARCH_FEATURES), CALL_SUCCESS);
    assert_int_equal(answer(SMCCC_ARCH_FEATURES, ANNOUNCED), CALL_SUCCESS);
    assert_int_equal(answer(SMCCC_ARCH_FEATURES, ANNOUNCED + 1), CALL_NOT_SUPPORTED);
    assert_int_equal(answer(SMCCC_ARCH_FEATURES, 0x80008000), CALL_NOT_SUPPORTED);
    assert_int_equal(answer(SMCCC_ARCH_FEATURES, 0x84000000), CALL_NOT_SUPPORTED);
    assert_int_equal(answer(0x80000002, 0), CALL_NOT_SUPPORTED);
    assert_int_equal(answer(0xc0000000, 0), CALL_NOT_SUPPORTED);
    assert_int_equal(served, 0);
}

static void test_each_call_goes_to_its_owner(void **state)
{
    static const uint32_t hypervisors[] = {0x85000000, 0xc5000020, 0xc500ffff,
                                           0x86000000, 0xc6000000, 0x8600ff01};
    /* A yielding call; the owners silicon, manufacturer, trusted applications, none. */
    static const uint32_t others[] = {0,          0x05000020, 0x45000020, 0x82000000,
                                      0x83fffff3, 0x87000000, 0xb0000000, 0xffffffff};

    (void)state;
    for (size_t i = 0; i < sizeof(hypervisors) / sizeof(hypervisors[0]); i++) {
        served = 0;
        assert_int_equal(answer(hypervisors[i], 0), SERVED);
        assert_int_equal(served, hypervisors[i]);
    }
    served = 0;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_int_equal(answer(others[i], 0), CALL_NOT_SUPPORTED);
    }
    assert_int_equal(served, 0);
}

/* The manager gets the calls that the services do not support. */
static void test_calls_of_the_manager(void **state)
{
    (void)state;
    is_for_manager = true;
    assert_int_equal(answer(0xc6000010, 0), CALL_NOT_SUPPORTED);
    has_manager = true;
    assert_int_equal(answer(0xc6000010, 0), MANAGED);
    is_for_manager = false;
    assert_int_equal(answer(0xc6000010, 0), SERVED);
}

static void test_calls_for_channels(void **state)
{
    (void)state;
    assert_int_equal(answer(SMCCC_ARCH_FEATURES, CALL_CHANNEL_NOTIFY), CALL_NOT_SUPPORTED);
    has_channel = true;
    assert_int_equal(answer(SMCCC_ARCH_FEATURES, CALL_CHANNEL_NOTIFY), CALL_SUCCESS);
    assert_int_equal(answer(SMCCC_ARCH_FEATURES, CALL_CHANNEL_SET_STATE), CALL_NOT_SUPPORTED);
    assert_int_equal(answer(CALL_CHANNEL_NOTIFY, 0), CONNECTED);
    assert_int_equal(answer(CALL_CHANNEL_SET_STATE, 0), SERVED);
}

static void test_power(void **state)
{
    uint64_t off[4] = {0x84000002};

    (void)state;
    assert_int_equal(answer(0x84000000, 0), 0x10001);
    assert_int_equal(answer(0x840000ff, 0), CALL_NOT_SUPPORTED);
    assert_int_equal(call_handle(&caller, off, &target), PSCI_CORE_OFF);
    assert_int_equal(partition.power[1].state, VCPU_OFF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_architecture, setup),
        cmocka_unit_test_setup(test_each_call_goes_to_its_owner, setup),
        cmocka_unit_test_setup(test_calls_of_the_manager, setup),
        cmocka_unit_test_setup(test_calls_for_channels, setup),
        cmocka_unit_test_setup(test_power, setup),
    };

    return cmocka_run_group_tests_name("call", tests, NULL, NULL);
}
