/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests hypervisor/hypercall/psci.c with calls of the first partition, which has three VCPUs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hypercall/psci.h"
#include "psci_calls.h"
#include <string.h>

#define SMC32(number) (0x84000000u + (number))
#define SMC64(number) (0xc4000000u + (number))

#define SUCCESS            0
#define NOT_SUPPORTED      (-1)
#define INVALID_PARAMETERS (-2)
#define ALREADY_ON         (-4)
#define ON_PENDING         (-5)
#define INTERNAL_FAILURE   (-6)
#define INVALID_ADDRESS    (-9)

static uint32_t target;

static int setup(void **state)
{
    (void)state;
    calls_reset();
    target = 99;
    return 0;
}

/* Makes a call on VCPU 0 and checks its result. */
static int64_t call(uint64_t function, uint64_t first, uint64_t second, uint64_t third,
                    enum psci_action expected)
{
    uint64_t registers[] = {function, first, second, third};

    assert_int_equal(psci_call(&calls_partition, 0, registers, &target), expected);
    assert_true(registers[1] == first && registers[2] == second && registers[3] == third);
    return (int64_t)registers[0];
}

static int64_t answer(uint64_t function, uint64_t first)
{
    return call(function, first, 0, 0, ACTION_RETURN);
}

static void test_versions(void **state)
{
    (void)state;
    assert_int_equal(answer(SMC32(0), 0), 0x10001);
    assert_int_equal(answer(SMC32(6), 0), 2);
    /* The upper half of X0 does not belong to the function's number. */
    assert_int_equal(answer(UINT64_C(0x5500000000) | SMC32(0), 0), 0x10001);
}

static void test_features(void **state)
{
    static const uint32_t there[] = {0,        SMC32(0), SMC32(1),  SMC64(1),  SMC32(2),
                                     SMC32(3), SMC64(3), SMC32(4),  SMC64(4),  SMC32(6),
                                     SMC32(8), SMC32(9), SMC32(10), SMC32(18), SMC64(18)};
    static const uint32_t absent[] = {SMC64(0),   SMC64(2),   SMC32(5),   SMC64(5),  SMC32(7),
                                      SMC64(8),   SMC64(9),   SMC64(10),  SMC32(11), SMC64(14),
                                      SMC32(17),  SMC32(19),  SMC32(32),  SMC32(35), 0x80000001,
                                      0x83fffff3, 0x86000001, 0xffffffff, 0};

    (void)state;
    for (size_t i = 1; i < sizeof(there) / sizeof(there[0]); i++) {
        assert_int_equal(answer(SMC32(10), there[i]), SUCCESS);
    }
    assert_int_equal(answer(SMC32(10), 0x80000000), SUCCESS);
    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
        assert_int_equal(answer(SMC32(10), absent[i]), NOT_SUPPORTED);
        assert_int_equal(answer(absent[i], 0), NOT_SUPPORTED);
    }
}

static void test_core_on(void **state)
{
    struct vcpu_power *power = &calls_partition.atomic.power[2];

    (void)state;
    assert_int_equal(call(SMC64(3), 2, CALLS_MEMORY + 8, 77, ACTION_CORE_START), SUCCESS);
    assert_int_equal(target, 2);
    assert_int_equal(power->state, VCPU_STARTING);
    assert_int_equal(power->entry, CALLS_MEMORY + 8);
    assert_int_equal(power->context, 77);
    assert_int_equal(call(SMC64(3), 2, CALLS_MEMORY, 78, ACTION_RETURN), ON_PENDING);
    power->state = VCPU_ON;
    assert_int_equal(call(SMC64(3), 2, CALLS_MEMORY, 78, ACTION_RETURN), ALREADY_ON);
    power->state = VCPU_HALTED;
    assert_int_equal(call(SMC64(3), 2, CALLS_MEMORY, 78, ACTION_RETURN), INTERNAL_FAILURE);
    assert_int_equal(call(SMC64(4), 2, 0, 0, ACTION_RETURN), 1); /* AFFINITY_INFO: off */
    assert_int_equal(power->entry, CALLS_MEMORY + 8);
    assert_int_equal(power->context, 77);
    /* The calling VCPU. */
    assert_int_equal(call(SMC64(3), 0, CALLS_MEMORY, 0, ACTION_RETURN), ALREADY_ON);
    /* SMC32 calls ignore the upper halves of the arguments. */
    assert_int_equal(call(SMC32(3), UINT64_C(1) << 40 | 1, UINT64_C(1) << 32 | CALLS_MEMORY,
                          UINT64_MAX, ACTION_CORE_START),
                     SUCCESS);
    assert_int_equal(target, 1);
    assert_int_equal(calls_partition.atomic.power[1].entry, CALLS_MEMORY);
    assert_int_equal(calls_partition.atomic.power[1].context, UINT32_MAX);
}

static void test_core_on_refused(void **state)
{
    (void)state;
    /* No VCPU. */
    assert_int_equal(call(SMC64(3), 3, CALLS_MEMORY, 0, ACTION_RETURN), INVALID_PARAMETERS);
    assert_int_equal(call(SMC64(3), 0x100, CALLS_MEMORY, 0, ACTION_RETURN), INVALID_PARAMETERS);
    assert_int_equal(call(SMC64(3), 9, CALLS_MEMORY, 0, ACTION_RETURN), INVALID_PARAMETERS);
    assert_int_equal(call(SMC64(3), 1u << 31 | 1, CALLS_MEMORY, 0, ACTION_RETURN),
                     INVALID_PARAMETERS);
    assert_int_equal(call(SMC64(3), UINT64_MAX, CALLS_MEMORY, 0, ACTION_RETURN),
                     INVALID_PARAMETERS);
    /* Outside of the partition's memory. */
    assert_int_equal(call(SMC64(3), 1, CALLS_MEMORY - 4, 0, ACTION_RETURN), INVALID_ADDRESS);
    assert_int_equal(call(SMC64(3), 1, CALLS_MEMORY + CALLS_MEMORY_BYTES, 0, ACTION_RETURN),
                     INVALID_ADDRESS);
    assert_int_equal(call(SMC64(3), 1, CALLS_DEVICE, 0, ACTION_RETURN), INVALID_ADDRESS);
    assert_int_equal(call(SMC64(3), 1, UINT64_MAX, 0, ACTION_RETURN), INVALID_ADDRESS);
    assert_int_equal(calls_partition.atomic.power[1].state, VCPU_OFF);
    assert_int_equal(calls_partition.atomic.power[2].state, VCPU_OFF);
    assert_int_equal(target, 99);
    /* Up to the last instruction of its second memory range. */
    assert_int_equal(
        call(SMC64(3), 1, CALLS_SECOND_MEMORY + CALLS_MEMORY_BYTES - 4, 0, ACTION_CORE_START),
        SUCCESS);
}

static void test_core_off(void **state)
{
    (void)state;
    calls_partition.atomic.power[1].state = VCPU_ON;
    (void)call(SMC32(2), 0, 0, 0, ACTION_CORE_OFF);
    assert_int_equal(calls_partition.atomic.power[0].state, VCPU_OFF);
    assert_int_equal(calls_partition.atomic.power[1].state, VCPU_ON);
}

static void test_affinity_info(void **state)
{
    (void)state;
    assert_int_equal(answer(SMC64(4), 0), 0);
    assert_int_equal(answer(SMC64(4), 2), 1);
    calls_partition.atomic.power[2].state = VCPU_STARTING;
    assert_int_equal(answer(SMC64(4), 2), 2);
    assert_int_equal(answer(SMC32(4), 1), 1);
    assert_int_equal(answer(SMC64(4), 3), INVALID_PARAMETERS);
    assert_int_equal(call(SMC64(4), 0, 1, 0, ACTION_RETURN), INVALID_PARAMETERS);
}

static void test_suspend(void **state)
{
    (void)state;
    assert_int_equal(call(SMC64(1), 0, 0, 0, ACTION_SUSPEND), SUCCESS);
    assert_int_equal(call(SMC32(1), 0x0300ffff, 0, 0, ACTION_SUSPEND), SUCCESS);
    /* Without power-down; reserved bits. */
    assert_int_equal(answer(SMC64(1), 1u << 16), INVALID_PARAMETERS);
    assert_int_equal(answer(SMC64(1), 1u << 17), INVALID_PARAMETERS);
    assert_int_equal(answer(SMC32(1), 1u << 26), INVALID_PARAMETERS);
}

static void test_system(void **state)
{
    (void)state;
    (void)call(SMC32(8), 0, 0, 0, ACTION_SYSTEM_OFF);
    (void)call(SMC32(9), 0, 0, 0, ACTION_SYSTEM_RESET);
    (void)call(SMC32(18), 0, 5, 0, ACTION_SYSTEM_RESET);
    (void)call(SMC64(18), 0, 0, 0, ACTION_SYSTEM_RESET);
    assert_int_equal(answer(SMC64(18), 1), INVALID_PARAMETERS);
    assert_int_equal(answer(SMC32(18), 1u << 31), INVALID_PARAMETERS);
}

/* A guest that makes arbitrary calls. */
static void test_random(void **state)
{
    static uint8_t data[3000 * CALLS_STEP_BYTES];
    uint64_t random = 1;

    (void)state;
    for (unsigned run = 0; run < 100; run++) {
        for (size_t at = 0; at < sizeof(data); at++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
            data[at] = (uint8_t)(random >> 56);
        }
        calls_run(data, sizeof(data));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_versions, setup),
        cmocka_unit_test_setup(test_features, setup),
        cmocka_unit_test_setup(test_core_on, setup),
        cmocka_unit_test_setup(test_core_on_refused, setup),
        cmocka_unit_test_setup(test_core_off, setup),
        cmocka_unit_test_setup(test_affinity_info, setup),
        cmocka_unit_test_setup(test_suspend, setup),
        cmocka_unit_test_setup(test_system, setup),
        cmocka_unit_test_setup(test_random, setup),
    };

    return cmocka_run_group_tests_name("psci", tests, NULL, NULL);
}
