/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the choice between the ordinary driver and the polled one. */
#include "virtio/driver_choice.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)
#define DAY    (86400 * SECOND)

static struct virtio_driver_choice choice;

static void begin(uint16_t failures)
{
    choice = (struct virtio_driver_choice){
        .failures = failures, .window = 10 * SECOND, .retry = 60 * SECOND};
}

/* Returns true if the polled driver is chosen after failures at these seconds; 0 ends the list. */
static bool polled_after(const uint64_t *seconds)
{
    for (; *seconds != 0; seconds++) {
        assert_false(virtio_choice_is_polled(&choice));
        virtio_choice_failed(&choice, *seconds * SECOND, 0);
    }
    return virtio_choice_is_polled(&choice);
}

static void failures_within_the_window(void **state)
{
    (void)state;
    begin(3);
    assert_true(polled_after((const uint64_t[]){1, 2, 3, 0}));
    begin(3);
    assert_true(polled_after((const uint64_t[]){1, 2, 11, 0}));
    begin(3);
    assert_false(polled_after((const uint64_t[]){1, 2, 12, 0}));
    assert_false(polled_after((const uint64_t[]){13, 0}));
    begin(3);
    assert_true(polled_after((const uint64_t[]){1, 8, 13, 15, 0}));
    begin(1);
    assert_true(polled_after((const uint64_t[]){1, 0}));
}

static void largest_number(void **state)
{
    (void)state;
    begin(VIRTIO_FAILURES_MAX);
    for (unsigned i = 0; i < 100; i++) { /* ten in ten seconds */
        assert_false(polled_after((const uint64_t[]){100 + i, 0}));
    }
    for (unsigned i = 1; i < VIRTIO_FAILURES_MAX; i++) {
        virtio_choice_failed(&choice, 1000 * SECOND + i, 0);
        assert_false(virtio_choice_is_polled(&choice));
    }
    virtio_choice_failed(&choice, 1010 * SECOND, 0);
    assert_true(virtio_choice_is_polled(&choice));
}

static void no_alternative(void **state)
{
    (void)state;
    begin(0);
    for (unsigned i = 0; i < 100; i++) {
        assert_false(polled_after((const uint64_t[]){1, 0}));
    }
}

/* Two drivers that fail take turns. */
static void both_fail(void **state)
{
    (void)state;
    begin(3);
    assert_true(polled_after((const uint64_t[]){1, 2, 3, 0}));
    for (uint64_t second = 4; second < 100; second += 2) {
        virtio_choice_failed(&choice, second * SECOND, SECOND);
        assert_false(virtio_choice_is_polled(&choice));
        virtio_choice_failed(&choice, (second + 1) * SECOND, SECOND);
        assert_true(virtio_choice_is_polled(&choice));
    }
}

static void returns_later_each_time(void **state)
{
    uint64_t retry = 60 * SECOND;

    (void)state;
    begin(3);
    assert_true(polled_after((const uint64_t[]){1, 2, 3, 0}));
    for (unsigned i = 0; i < 15; i++) {
        assert_false(virtio_choice_return_due(&choice, retry - 1));
        assert_true(virtio_choice_return_due(&choice, retry));
        virtio_choice_return(&choice);
        assert_false(virtio_choice_is_polled(&choice));
        virtio_choice_failed(&choice, 1000 * SECOND, 10 * SECOND - 1); /* one suffices */
        assert_true(virtio_choice_is_polled(&choice));
        retry = 2 * retry < DAY ? 2 * retry : DAY;
    }
    assert_true(retry == DAY);
}

/* After it has worked for the window, the ordinary driver may fail as often as at first. */
static void probation_ends(void **state)
{
    (void)state;
    begin(3);
    assert_true(polled_after((const uint64_t[]){1, 2, 3, 0}));
    virtio_choice_return(&choice);
    virtio_choice_failed(&choice, 100 * SECOND, 10 * SECOND);
    assert_false(virtio_choice_is_polled(&choice));
    assert_true(polled_after((const uint64_t[]){101, 102, 0}));
}

static void stays(void **state)
{
    (void)state;
    begin(1);
    choice.retry = 0;
    assert_true(polled_after((const uint64_t[]){1, 0}));
    assert_false(virtio_choice_return_due(&choice, UINT64_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_within_the_window),
        cmocka_unit_test(largest_number),
        cmocka_unit_test(no_alternative),
        cmocka_unit_test(both_fail),
        cmocka_unit_test(returns_later_each_time),
        cmocka_unit_test(probation_ends),
        cmocka_unit_test(stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
