/* SPDX-License-Identifier: BSD-2-Clause */
/* Token buckets: the exact time of each byte, the limit in any interval, and times that wrap or
 * jump. */
#include "backend/token_bucket.h"
#include "backend_test.h"

#define PASSED_MAX 2000u

static struct token_bucket bucket;

/* Bytes that have passed, for check_intervals(). */
static struct {
    uint64_t time;
    uint64_t bytes;
} passed[PASSED_MAX];

static void begin(uint64_t rate, uint32_t burst, uint64_t now)
{
    assert_true(token_bucket_init(&bucket, rate, burst, now));
}

static uint32_t bytes_at(uint64_t now)
{
    token_bucket_refill(&bucket, now);
    return token_bucket_bytes(&bucket);
}

static void test_parameters(void **state)
{
    (void)state;
    assert_false(token_bucket_init(&bucket, TOKEN_BUCKET_RATE_MAX + 1, 1, 0));
    assert_false(token_bucket_init(&bucket, 1, 0, 0));
    assert_true(token_bucket_init(&bucket, 1, 1, 0));
    assert_true(token_bucket_init(&bucket, TOKEN_BUCKET_RATE_MAX, UINT32_MAX, 0));
}

static void test_no_limit(void **state)
{
    (void)state;
    begin(0, 0, 5);
    for (unsigned i = 0; i < 10; i++) {
        assert_true(bytes_at(i) == UINT32_MAX);
        token_bucket_charge(&bucket, UINT32_MAX);
        assert_true(token_bucket_wait(&bucket, UINT32_MAX) == 0);
    }
}

/* 3 bytes/s: a byte each third of a second, to the nanosecond. */
static void test_bytes_come_exactly_in_time(void **state)
{
    (void)state;
    begin(3, 10, 0);
    token_bucket_charge(&bucket, 10);
    assert_true(token_bucket_wait(&bucket, 1) == SECOND / 3 + 1);
    assert_true(token_bucket_wait(&bucket, 3) == SECOND);
    assert_true(bytes_at(SECOND / 3) == 0);
    assert_true(bytes_at(SECOND / 3 + 1) == 1);
    assert_true(bytes_at(SECOND) == 3);
    token_bucket_charge(&bucket, 3);
    assert_true(bytes_at(4 * SECOND) == 9);
    assert_true(bytes_at(100 * SECOND) == 10);
}

/* Any number of refills adds up to what one adds. */
static void test_nothing_is_lost_between_refills(void **state)
{
    uint64_t random = 1, now = 0, charged = 0;

    (void)state;
    begin(999999937, UINT32_MAX, 0);
    token_bucket_charge(&bucket, UINT32_MAX);
    for (unsigned i = 0; i < 100000; i++) {
        uint32_t bytes;

        now += random_below(&random, 3000);
        bytes = (uint32_t)random_below(&random, (uint64_t)bytes_at(now) + 1);
        token_bucket_charge(&bucket, bytes);
        charged += bytes;
    }
    /* now * rate is less than 2^64. */
    assert_true(charged + bytes_at(now) == now * 999999937 / SECOND);
}

/* In each interval between two of the passages, at most burst + rate * time bytes have passed. */
static void check_intervals(unsigned count, uint64_t rate, uint32_t burst)
{
    for (unsigned first = 0; first < count; first++) {
        uint64_t bytes = 0;

        for (unsigned i = first; i < count; i++) {
            uint64_t time = passed[i].time - passed[first].time;

            bytes += passed[i].bytes;
            assert_true(bytes <= burst + time / SECOND * rate + time % SECOND * rate / SECOND);
        }
    }
}

static void test_no_interval_exceeds_the_limit(void **state)
{
    uint64_t random = 7;

    (void)state;
    for (unsigned round = 0; round < 20; round++) {
        uint64_t now = UINT64_MAX - random_below(&random, 1000000);
        uint64_t rate = random_between(&random, 1, UINT64_C(1) << random_between(&random, 1, 33));
        uint32_t burst = (uint32_t)random_between(&random, 1, 100000);

        begin(rate, burst, now);
        for (unsigned i = 0; i < 300; i++) {
            uint32_t bytes = (uint32_t)random_between(&random, 1, burst);
            uint64_t wait;

            token_bucket_refill(&bucket, now);
            wait = token_bucket_wait(&bucket, bytes);
            if (wait > 0) {
                /* Not one nanosecond earlier. */
                assert_true(bytes_at(now + wait - 1) < bytes);
            }
            now += wait + random_below(&random, 2) * random_below(&random, 2 * wait + 1);
            assert_true(bytes_at(now) >= bytes);
            token_bucket_charge(&bucket, bytes);
            passed[i].time = now;
            passed[i].bytes = bytes;
        }
        check_intervals(300, rate, burst);
    }
}

static void test_the_clock_wraps(void **state)
{
    (void)state;
    begin(SECOND, 1000, UINT64_MAX - 9);
    token_bucket_charge(&bucket, 1000);
    assert_true(bytes_at(UINT64_MAX) == 9);
    assert_true(bytes_at(5) == 15);
}

/* After a jump back, the bucket neither gains credit nor waits for the old time. */
static void test_the_time_jumps_back(void **state)
{
    (void)state;
    begin(SECOND, 1000, 3600 * SECOND);
    token_bucket_charge(&bucket, 900);
    assert_true(bytes_at(5) == 100);
    assert_true(token_bucket_wait(&bucket, 150) == 50);
    assert_true(bytes_at(55) == 150);
}

static void test_the_time_jumps_forward(void **state)
{
    (void)state;
    begin(TOKEN_BUCKET_RATE_MAX, UINT32_MAX, 0);
    token_bucket_charge(&bucket, UINT32_MAX);
    assert_true(bytes_at(INT64_MAX) == UINT32_MAX);
    begin(1, UINT32_MAX, 0);
    token_bucket_charge(&bucket, UINT32_MAX);
    assert_true(token_bucket_wait(&bucket, UINT32_MAX) == UINT32_MAX * SECOND);
    assert_true(bytes_at(INT64_MAX) == UINT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_no_limit),
        cmocka_unit_test(test_bytes_come_exactly_in_time),
        cmocka_unit_test(test_nothing_is_lost_between_refills),
        cmocka_unit_test(test_no_interval_exceeds_the_limit),
        cmocka_unit_test(test_the_clock_wraps),
        cmocka_unit_test(test_the_time_jumps_back),
        cmocka_unit_test(test_the_time_jumps_forward),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
