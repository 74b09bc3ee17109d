/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the network's random numbers (random.h): each bit of a seed matters, and no seed is
 * lost. */
#include "lwip/sys.h"
#include "random.h"
#include "virtio/platform.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SEED_BYTES 32u
#define NUMBERS    100000u

static uint64_t now;

uint64_t virtio_platform_now(void)
{
    return now;
}

sys_prot_t sys_arch_protect(void)
{
    return 0;
}

void sys_arch_unprotect(sys_prot_t pval)
{
    (void)pval;
}

/* Returns a hash with the present key. All tests add seeds to the same key, so comparing hashes
 * before and after shows the effect of a seed. */
static uint64_t fingerprint(void)
{
    return network_keyed_hash("fingerprint", 11);
}

static void test_every_bit_of_a_seed_matters(void **state)
{
    uint64_t seen[8 * SEED_BYTES];
    uint8_t seed[SEED_BYTES] = {0};

    (void)state;
    for (unsigned bit = 0; bit < 8 * SEED_BYTES; bit++) {
        seed[bit / 8] = (uint8_t)(1u << bit % 8);
        network_random_seed(seed, sizeof(seed));
        seed[bit / 8] = 0;
        seen[bit] = fingerprint();
        for (unsigned other = 0; other < bit; other++) {
            assert_true(seen[bit] != seen[other]);
        }
    }
}

/* A seed known to an attacker (all zero, at a known time) does not cancel earlier seeds. */
static void test_seeds_add_up(void **state)
{
    static const uint8_t zero[SEED_BYTES];
    uint64_t before = fingerprint();

    (void)state;
    network_random_seed(zero, sizeof(zero));
    assert_true(fingerprint() != before);
    before = fingerprint();
    network_random_seed(zero, 0);
    assert_true(fingerprint() != before);
}

static void test_time_changes_random_numbers(void **state)
{
    uint32_t first;

    (void)state;
    first = network_random();
    now++;
    assert_true(network_random() != first);
}

static int compare(const void *one, const void *other)
{
    uint32_t a = *(const uint32_t *)one;
    uint32_t b = *(const uint32_t *)other;

    return (a > b) - (a < b);
}

/* Among 100,000 random numbers of 32 bits one or two pairs are equal (birthday problem), and every
 * bit is set in half of them. */
static void test_numbers_look_random(void **state)
{
    static uint32_t number[NUMBERS];
    unsigned ones[32] = {0};
    unsigned alike = 0;

    (void)state;
    for (unsigned i = 0; i < NUMBERS; i++) {
        number[i] = network_random();
        for (unsigned bit = 0; bit < 32; bit++) {
            ones[bit] += number[i] >> bit & 1u;
        }
    }
    for (unsigned bit = 0; bit < 32; bit++) {
        assert_in_range(ones[bit], NUMBERS / 2 - 1000, NUMBERS / 2 + 1000);
    }
    qsort(number, NUMBERS, sizeof(number[0]), compare);
    for (unsigned i = 1; i < NUMBERS; i++) {
        if (number[i] == number[i - 1]) {
            alike++;
        }
    }
    assert_true(alike < 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_bit_of_a_seed_matters),
        cmocka_unit_test(test_seeds_add_up),
        cmocka_unit_test(test_time_changes_random_numbers),
        cmocka_unit_test(test_numbers_look_random),
    };

    return cmocka_run_group_tests_name("lwip_random", tests, NULL, NULL);
}
