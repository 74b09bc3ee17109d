/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the firmware's TRNG as a source: firmware without it, and firmware that is out of entropy
 * or fails. */
#include "entropy/firmware_trng.h"

#include "hypervisor/firmware.h"
#include <arch/hypercalls.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define NOT_SUPPORTED      UINT64_MAX
#define INVALID_PARAMETERS ((uint64_t) - 2)
#define NO_ENTROPY         ((uint64_t) - 3)
#define TRIES              1000u
#define ALL_BITS           256u
#define UNTOUCHED          0x55555555u

/* A model of firmware. Of the calls for random bits, the first `refused` ones return `refusal`,
 * those after `granted` more return `end`, and the others return 64 bits. */
static struct {
    uint64_t psci, has_smccc, smccc, trng, has_random;
    unsigned refused, granted;
    uint64_t refusal, end;
    unsigned calls; /* for random bits */
    unsigned unknown_calls;
} firmware;
static uint32_t words[GENERATOR_WORDS];

static void answer_random(uint64_t registers[4])
{
    unsigned call = firmware.calls++;

    assert_int_equal(registers[1], 64);
    if (call < firmware.refused) {
        registers[0] = firmware.refusal;
    } else if (call >= firmware.refused + firmware.granted) {
        registers[0] = firmware.end;
    } else {
        registers[0] = 0;
        registers[1] = registers[2] = 0;
        registers[3] = UINT64_C(0x100000002) * (call + 1);
        return;
    }
    /* Of no meaning. */
    registers[1] = registers[2] = registers[3] = UINT64_C(0x1234567812345678);
}

void firmware_call_for_results(uint64_t registers[4])
{
    switch (registers[0]) {
    case PSCI_VERSION:
        registers[0] = firmware.psci;
        break;
    case PSCI_FEATURES:
        assert_true((uint32_t)firmware.psci >= 0x10000);
        assert_int_equal(registers[1], CALL_SMCCC_VERSION);
        registers[0] = firmware.has_smccc;
        break;
    case CALL_SMCCC_VERSION:
        assert_int_equal(firmware.has_smccc, 0);
        registers[0] = firmware.smccc;
        break;
    case CALL_TRNG_VERSION:
        assert_true((uint32_t)firmware.smccc >= 0x10001);
        registers[0] = firmware.trng;
        break;
    case CALL_TRNG_FEATURES:
        assert_int_equal(registers[1], CALL_TRNG_RND64);
        registers[0] = firmware.has_random;
        break;
    case CALL_TRNG_RND64:
        answer_random(registers);
        break;
    default:
        firmware.unknown_calls++;
        registers[0] = NOT_SUPPORTED;
        break;
    }
}

static int setup(void **state)
{
    (void)state;
    memset(&firmware, 0, sizeof(firmware));
    firmware.psci = 0x10001;
    firmware.smccc = 0x10002;
    firmware.trng = 0x10000;
    firmware.granted = UINT32_MAX - TRIES;
    for (unsigned i = 0; i < GENERATOR_WORDS; i++) {
        words[i] = UNTOUCHED;
    }
    return 0;
}

/* Reads, and checks the number of bits, that each call gave 64 bits of them, and that the other
 * words are unchanged. */
static void expect(uint32_t bits, unsigned calls)
{
    assert_int_equal(firmware_trng_read(words), bits);
    assert_int_equal(firmware.calls, calls);
    assert_int_equal(firmware.unknown_calls, 0);
    for (unsigned i = 0; i < GENERATOR_WORDS; i += 2) {
        bool is_read = 32 * i < bits;
        unsigned call = firmware.refused + i / 2 + 1;

        assert_int_equal(words[i], is_read ? 2 * call : UNTOUCHED);
        assert_int_equal(words[i + 1], is_read ? call : UNTOUCHED);
    }
}

static void all_bits_come_at_once(void **state)
{
    (void)state;
    expect(ALL_BITS, 4);
}

static void firmware_without_a_trng_is_asked_for_nothing_unknown(void **state)
{
    static uint64_t *const answers[] = {&firmware.psci, &firmware.has_smccc, &firmware.smccc,
                                        &firmware.trng, &firmware.has_random};
    static const uint64_t lacks[] = {2, NOT_SUPPORTED, 0x10000, NOT_SUPPORTED, NOT_SUPPORTED};

    for (unsigned i = 0; i < sizeof(lacks) / sizeof(lacks[0]); i++) {
        setup(state);
        *answers[i] = lacks[i];
        expect(0, 0);
        /* A call of 32 bits may leave the upper half of X0 as 0. */
        setup(state);
        *answers[i] = (uint32_t)lacks[i];
        expect(0, 0);
    }
}

static void entropy_that_comes_late_is_awaited(void **state)
{
    static const uint64_t refusals[] = {NO_ENTROPY, (uint32_t)NO_ENTROPY};

    for (unsigned i = 0; i < 2; i++) {
        setup(state);
        firmware.refusal = refusals[i];
        firmware.refused = TRIES - 4;
        expect(ALL_BITS, TRIES);
    }
}

static void entropy_that_never_comes_is_not_awaited_for_ever(void **state)
{
    (void)state;
    firmware.refusal = NO_ENTROPY;
    firmware.refused = UINT32_MAX;
    firmware.granted = 0;
    expect(0, TRIES);
}

static void fewer_bits_are_used(void **state)
{
    for (unsigned count = 0; count < 4; count++) {
        setup(state);
        firmware.granted = count;
        firmware.end = NO_ENTROPY;
        expect(64 * count, TRIES);
        setup(state);
        firmware.refusal = NO_ENTROPY;
        firmware.refused = TRIES - count;
        expect(64 * count, TRIES);
    }
}

static void errors_end_the_reading(void **state)
{
    static const uint64_t errors[] = {NOT_SUPPORTED, INVALID_PARAMETERS, (uint64_t)-4, 1,
                                      (uint32_t)-1};

    for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        for (unsigned count = 0; count < 4; count++) {
            setup(state);
            firmware.granted = count;
            firmware.end = errors[i];
            expect(64 * count, count + 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(all_bits_come_at_once, setup),
        cmocka_unit_test_setup(firmware_without_a_trng_is_asked_for_nothing_unknown, setup),
        cmocka_unit_test_setup(entropy_that_comes_late_is_awaited, setup),
        cmocka_unit_test_setup(entropy_that_never_comes_is_not_awaited_for_ever, setup),
        cmocka_unit_test_setup(fewer_bits_are_used, setup),
        cmocka_unit_test_setup(errors_end_the_reading, setup),
    };

    return cmocka_run_group_tests_name("firmware_trng", tests, NULL, NULL);
}
