/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests which exceptions of a monitor are a device's fault, and the result of the access. */
#include "entry/device_abort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Arm ARM, ESR_EL2: a data abort from EL2, IL, DFSC synchronous external abort. */
#define EXTERNAL (UINT64_C(0x25) << 26 | UINT64_C(1) << 25 | 0x10)
#define WRITE    (UINT64_C(1) << 6)

/* PAR_EL1: attributes as in MAIR_EL2. */
#define DEVICE UINT64_C(0x0400000009000b80)
#define NORMAL UINT64_C(0xff00000040000b80)
#define FAILED (DEVICE | 1)

static void test_accesses_to_devices(void **state)
{
    (void)state;
    assert_true(device_abort_can_skip(EXTERNAL, DEVICE));
    assert_true(device_abort_can_skip(EXTERNAL | WRITE, DEVICE));
    assert_false(device_abort_can_skip(EXTERNAL, NORMAL));
    assert_false(device_abort_can_skip(EXTERNAL, FAILED));
}

static void test_other_exceptions(void **state)
{
    static const uint64_t others[] = {
        UINT64_C(0x25) << 26 | 0x07,            /* a translation fault: an error of the monitor */
        UINT64_C(0x25) << 26 | 0x14,            /* of a table walk */
        UINT64_C(0x25) << 26 | 0x21,            /* alignment */
        UINT64_C(0x25) << 26 | 1u << 10 | 0x10, /* without an address */
        UINT64_C(0x21) << 26 | 0x10,            /* of an instruction */
        UINT64_C(0x24) << 26 | 0x10,            /* from a guest */
        0,
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_false(device_abort_can_skip(others[i], DEVICE));
    }
}

/* ldr w7, [x3]; ldrb w7, [x3]; ldr x7, [x3]; ldr wzr, [x3] */
static void test_loads(void **state)
{
    static const uint32_t loads[] = {0xb9400067, 0x39400067, 0xf9400067};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct registers registers = {.pc = 0x1000, .state = 0x3c9};

        device_abort_skip(&registers, EXTERNAL, loads[i]);
        assert_true(registers.pc == 0x1004);
        assert_true(registers.state == 0x3c9);
        for (unsigned x = 0; x < 31; x++) {
            assert_true(registers.x[x] == (x == 7 ? UINT64_MAX : 0));
        }
    }
    struct registers registers = {.pc = 0x1000};

    device_abort_skip(&registers, EXTERNAL, 0xb940007f);
    assert_true(registers.pc == 0x1004);
}

/* str w7, [x3] */
static void test_stores(void **state)
{
    struct registers registers = {.pc = 0x1000};

    (void)state;
    device_abort_skip(&registers, EXTERNAL | WRITE, 0xb9000067);
    assert_true(registers.pc == 0x1004);
    for (unsigned x = 0; x < 31; x++) {
        assert_true(registers.x[x] == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accesses_to_devices),
        cmocka_unit_test(test_other_exceptions),
        cmocka_unit_test(test_loads),
        cmocka_unit_test(test_stores),
    };

    return cmocka_run_group_tests_name("device_abort", tests, NULL, NULL);
}
