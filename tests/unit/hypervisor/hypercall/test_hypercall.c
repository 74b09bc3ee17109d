/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests hypervisor/hypercall/hypercall.c with the PSCI of the hypervisor, and stubs of the other
 * owners. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "entropy/trng.h"
#include "hypercall/channel.h"
#include "hypercall/health.h"
#include "hypercall/hypercall.h"
#include "hypercall/manager.h"
#include "hypercall/services.h"
#include "hypercall/shared_device.h"
#include "vcpu/power.h"
#include <arch/hypercalls.h>
#include <string.h>

#define SERVED          77
#define MANAGED         78
#define CONNECTED       79
#define ENTROPY         80
#define CONNECTED_STATE 81
#define REPORTED        82
#define BACKED          83
#define PC              0x40200104

static struct partition partition;
static struct vcpu caller;
static bool has_channel;
static enum psci_action last_action; /* of PSCI; ACTION_RETURN before the first call */

bool services_have(const struct vcpu *vcpu, uint32_t function)
{
    assert_ptr_equal(vcpu, &caller);
    return function == CALL_PV_TIME_FEATURES;
}

int64_t services_call(const struct vcpu *vcpu, uint64_t registers[4])
{
    assert_ptr_equal(vcpu, &caller);
    registers[1] = SERVED;
    return SERVED;
}

bool channel_has_call(const struct vcpu *vcpu, uint32_t function)
{
    assert_ptr_equal(vcpu, &caller);
    return has_channel && function == CALL_CHANNEL_NOTIFY;
}

int64_t channel_notify(const struct vcpu *vcpu, uint32_t channel)
{
    assert_ptr_equal(vcpu, &caller);
    assert_int_equal(channel, 0);
    return CONNECTED;
}

int64_t channel_set_state(const struct vcpu *vcpu, uint32_t channel, uint32_t state)
{
    assert_ptr_equal(vcpu, &caller);
    assert_int_equal(channel, 0);
    assert_int_equal(state, 2);
    return CONNECTED_STATE;
}

bool shared_device_has_call(const struct vcpu *vcpu, uint32_t function)
{
    assert_ptr_equal(vcpu, &caller);
    return has_channel && function == CALL_SHARED_DEVICE_FAIL;
}

int64_t shared_device_call(const struct vcpu *vcpu, const uint64_t registers[4])
{
    assert_ptr_equal(vcpu, &caller);
    assert_true(registers[2] == 2 && registers[3] == 3);
    return BACKED;
}

bool health_has_call(const struct vcpu *vcpu, uint32_t function)
{
    assert_ptr_equal(vcpu, &caller);
    return function == CALL_HEALTH_REPORT;
}

int64_t health_report(struct vcpu *vcpu, uint32_t kind, uint64_t value, uint64_t pc)
{
    assert_ptr_equal(vcpu, &caller);
    assert_int_equal(kind, HEALTH_REPORT_PANIC);
    assert_int_equal(value, 2);
    assert_int_equal(pc, PC);
    return REPORTED;
}

/* NOLINTBEGIN(readability-non-const-parameter): the real functions write to registers */
int64_t trng_call(struct generator *generator, uint64_t registers[4])
{
    assert_ptr_equal(generator, &caller.generator);
    assert_true(registers[2] == 2 && registers[3] == 3);
    return ENTROPY;
}

int64_t manager_call(const struct vcpu *vcpu, uint64_t registers[4])
{
    assert_ptr_equal(vcpu, &caller);
    assert_true(registers[2] == 2 && registers[3] == 3);
    return MANAGED;
}
/* NOLINTEND(readability-non-const-parameter) */

void power_change(struct vcpu *vcpu, enum psci_action action, uint32_t target)
{
    assert_ptr_equal(vcpu, &caller);
    assert_int_equal(target, 0);
    last_action = action;
}

static int setup(void **state)
{
    static struct description_partition described;

    (void)state;
    described = (struct description_partition){.vcpu_count = 2};
    partition = (struct partition){.constant.described = &described};
    caller = (struct vcpu){.partition = &partition, .number = 1};
    partition.atomic.power[1].state = VCPU_ON;
    has_channel = false;
    last_action = ACTION_RETURN;
    return 0;
}

/* Makes a call that returns at once. */
static int64_t answer(uint64_t function, uint64_t first)
{
    struct registers registers = {.x = {function, first, 2, 3}, .pc = PC};

    hypercall_handle(&caller, &registers);
    assert_int_equal(last_action, ACTION_RETURN);
    assert_int_equal(registers.x[1], (int64_t)registers.x[0] == SERVED ? SERVED : first);
    assert_true(registers.x[2] == 2 && registers.x[3] == 3);
    return (int64_t)registers.x[0];
}

static void test_architecture(void **state)
{
    (void)state;
    assert_int_equal(answer(CALL_SMCCC_VERSION, 0), 0x10001);
    assert_int_equal(answer(UINT64_C(0x5500000000) | CALL_SMCCC_VERSION, 0), 0x10001);
    assert_int_equal(answer(CALL_SMCCC_ARCH_FEATURES, CALL_SMCCC_VERSION), CALL_SUCCESS);
    assert_int_equal(answer(CALL_SMCCC_ARCH_FEATURES, CALL_SMCCC_ARCH_FEATURES), CALL_SUCCESS);
    assert_int_equal(answer(CALL_SMCCC_ARCH_FEATURES, CALL_PV_TIME_FEATURES), CALL_SUCCESS);
    assert_int_equal(answer(CALL_SMCCC_ARCH_FEATURES, CALL_PV_TIME_ST), CALL_NOT_SUPPORTED);
    assert_int_equal(answer(CALL_SMCCC_ARCH_FEATURES, 0x80008000), CALL_NOT_SUPPORTED);
    assert_int_equal(answer(CALL_SMCCC_ARCH_FEATURES, 0x84000000), CALL_NOT_SUPPORTED);
    assert_int_equal(answer(0x80000002, 0), CALL_NOT_SUPPORTED);
    assert_int_equal(answer(0xc0000000, 0), CALL_NOT_SUPPORTED);
}

/* A guest may discard its branch predictions where the hypervisor does it by the same call. */
static void test_branch_predictions(void **state)
{
    static const uint32_t first = CALL_SMCCC_ARCH_WORKAROUND_1,
                          third = CALL_SMCCC_ARCH_WORKAROUND_3;
    static const struct {
        uint32_t workaround;
        int64_t first, third;
    } cases[] = {
        {0, CALL_NOT_SUPPORTED, CALL_NOT_SUPPORTED},
        {first, CALL_SUCCESS, CALL_NOT_SUPPORTED},
        {third, CALL_SUCCESS, CALL_SUCCESS},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        caller.branch_workaround = cases[i].workaround;
        assert_int_equal(answer(CALL_SMCCC_ARCH_FEATURES, first), cases[i].first);
        assert_int_equal(answer(CALL_SMCCC_ARCH_FEATURES, third), cases[i].third);
        assert_int_equal(answer(first, 0), cases[i].first);
        assert_int_equal(answer(third, 0), cases[i].third);
    }
}

static void test_each_call_goes_to_its_owner(void **state)
{
    static const struct {
        uint32_t function;
        int64_t result;
    } calls[] = {
        {CALL_PV_TIME_FEATURES, SERVED},
        {CALL_PV_TIME_ST, SERVED},
        {CALL_HYPERVISOR_TIMES, SERVED},
        {CALL_HYPERVISOR_UID, SERVED},
        {CALL_HYPERVISOR_REVISION, SERVED},
        {CALL_CHANNEL_NOTIFY, CONNECTED},
        {CALL_CHANNEL_SET_STATE, CONNECTED_STATE},
        {CALL_SHARED_DEVICE_INTERRUPT, BACKED},
        {CALL_SHARED_DEVICE_ACKNOWLEDGE, BACKED},
        {CALL_SHARED_DEVICE_CONFIGURE, BACKED},
        {CALL_SHARED_DEVICE_FAIL, BACKED},
        {CALL_PARTITION_STATUS, MANAGED},
        {CALL_PARTITION_CREATE, MANAGED},
        {CALL_PARTITION_START, MANAGED},
        {CALL_PARTITION_STOP, MANAGED},
        {CALL_PARTITION_REPLACE, MANAGED},
        {CALL_PARTITION_DESTROY, MANAGED},
        {CALL_PARTITION_IMAGE, MANAGED},
        {CALL_PARTITION_LOG, MANAGED},
        {CALL_DEVICE_GIVE, MANAGED},
        {CALL_PARTITION_CRASH, MANAGED},
        {CALL_HEALTH_REPORT, REPORTED},
        {CALL_TRNG_VERSION, ENTROPY},
        {CALL_TRNG_RND64, ENTROPY},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        assert_int_equal(answer(calls[i].function, 0), calls[i].result);
        assert_int_equal(answer(UINT64_C(0x5500000000) | calls[i].function, 0), calls[i].result);
    }
    /* The upper halves of their arguments are ignored, too. */
    assert_int_equal(answer(CALL_CHANNEL_NOTIFY, UINT64_C(0x5500000000)), CONNECTED);
    assert_int_equal(caller.report.exits[EXIT_HYPERCALL], 1 + 2 * sizeof(calls) / sizeof(calls[0]));
    assert_int_equal(caller.report.exits[EXIT_POWER], 0);
}

static void test_unknown_calls(void **state)
{
    /* Yielding calls; calls of all owners, next to those that exist. */
    static const uint32_t unknown[] = {
        0,          0x05000020, 0x45000020, 0x80000002, 0x82000000, 0x83fffff3,
        0x85000000, 0x85000020, 0xc5000022, 0xc500ffff, 0x86000000, 0x8600001f,
        0x86000026, 0x86000010, 0xc6000022, 0x86000024, 0xc6000001, 0xc600000f,
        0xc600001a, 0xc6000020, 0xc600002f, 0xc6000032, 0x86000030, 0x8600ff00,
        0x8600ff02, 0x8600ff04, 0xc600ff01, 0x87000000, 0xb0000000, 0xffffffff,
    };

    (void)state;
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        assert_int_equal(answer(unknown[i], 0), CALL_NOT_SUPPORTED);
    }
}

static void test_channels_are_announced_to_their_ends(void **state)
{
    (void)state;
    assert_int_equal(answer(CALL_SMCCC_ARCH_FEATURES, CALL_CHANNEL_NOTIFY), CALL_NOT_SUPPORTED);
    has_channel = true;
    assert_int_equal(answer(CALL_SMCCC_ARCH_FEATURES, CALL_CHANNEL_NOTIFY), CALL_SUCCESS);
    assert_int_equal(answer(CALL_SMCCC_ARCH_FEATURES, CALL_CHANNEL_SET_STATE), CALL_NOT_SUPPORTED);
    assert_int_equal(answer(CALL_SMCCC_ARCH_FEATURES, CALL_SHARED_DEVICE_FAIL), CALL_SUCCESS);
    assert_int_equal(answer(CALL_SMCCC_ARCH_FEATURES, CALL_SHARED_DEVICE_CONFIGURE),
                     CALL_NOT_SUPPORTED);
}

static void test_power(void **state)
{
    struct registers off = {.x = {PSCI_CPU_OFF}};

    (void)state;
    assert_int_equal(answer(PSCI_VERSION, 0), 0x10001);
    assert_int_equal(answer(0x840000ff, 0), CALL_NOT_SUPPORTED);
    hypercall_handle(&caller, &off);
    assert_int_equal(last_action, ACTION_CORE_OFF);
    assert_int_equal(partition.atomic.power[1].state, VCPU_OFF);
    assert_int_equal(caller.report.exits[EXIT_POWER], 3);
    assert_int_equal(caller.report.exits[EXIT_HYPERCALL], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_architecture, setup),
        cmocka_unit_test_setup(test_branch_predictions, setup),
        cmocka_unit_test_setup(test_each_call_goes_to_its_owner, setup),
        cmocka_unit_test_setup(test_unknown_calls, setup),
        cmocka_unit_test_setup(test_channels_are_announced_to_their_ends, setup),
        cmocka_unit_test_setup(test_power, setup),
    };

    return cmocka_run_group_tests_name("hypercall", tests, NULL, NULL);
}
