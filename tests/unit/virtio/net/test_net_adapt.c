/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests how the number of exposed receive buffers changes between its bounds
 * (virtio/net/adapt.c). */
#include "owner.h"

static struct owner owner;

static void start(uint16_t least, uint16_t most, uint16_t ring)
{
    owner_prepare(&owner, FAKE_MMIO, 0);
    owner.parameters.rx_buffers = least;
    owner.parameters.rx_buffers_max = most;
    if (ring != 0) {
        owner.device.queue[0].size_max = ring;
    }
    owner_start(&owner);
}

/* The device fills this number of buffers before the driver runs. */
static void burst(unsigned frames)
{
    for (unsigned i = 0; i < frames; i++) {
        assert_true(owner_inject(&owner, 64));
    }
    owner_settle(&owner);
    owner_check_balance(&owner);
}

static unsigned exposed(void)
{
    unsigned count = fake_available(0);

    assert_int_equal(owner_statistics(&owner).rx_exposed, count);
    return count;
}

static void grows_when_the_device_runs_dry(void **state)
{
    static const unsigned steps[] = {5, 10, 20, 24, 24};

    (void)state;
    start(5, 24, 0);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(exposed(), steps[i]);
        assert_int_equal(owner_statistics(&owner).rx_target, steps[i]);
        for (unsigned k = 0; k < 20; k++) {
            burst(steps[i] - 1); /* one buffer was left, so the number stays */
            assert_int_equal(exposed(), steps[i]);
        }
        burst(steps[i]);
    }
    assert_int_equal(exposed(), 24);
    assert_int_equal(owner_statistics(&owner).rx_dry, 5);
    assert_int_equal(owner_statistics(&owner).rx_target_changes, 3);
    owner_finish(&owner);
}

/* The handler takes interrupt_budget buffers at a time, so it never finds more than that used in
 * one run, not even if all are used. */
static void grows_above_the_interrupt_budget(void **state)
{
    (void)state;
    for (uint16_t budget = 1; budget <= 8; budget++) {
        owner_prepare(&owner, FAKE_MMIO, 0);
        owner.parameters.rx_buffers = 8;
        owner.parameters.rx_buffers_max = 48;
        owner.parameters.interrupt_budget = budget;
        owner_start(&owner);
        for (unsigned i = 0; i < 3; i++) {
            burst(exposed());
        }
        assert_int_equal(exposed(), 48);
        owner_finish(&owner);
    }
}

/* A driver that keeps up finds an empty ring after two handler runs, however often that happens. */
static void exhausted_budget_is_no_reason_to_grow(void **state)
{
    (void)state;
    owner_prepare(&owner, FAKE_MMIO, 0);
    owner.parameters.rx_buffers = 16;
    owner.parameters.rx_buffers_max = 48;
    owner.parameters.interrupt_budget = 4;
    owner_start(&owner);
    for (unsigned i = 0; i < 1000; i++) {
        burst(4);
        burst(8);
        burst(11);
    }
    assert_int_equal(exposed(), 16);
    assert_int_equal(owner_statistics(&owner).rx_dry, 0);
    owner_finish(&owner);
}

static void shrinks_when_few_are_used(void **state)
{
    (void)state;
    start(8, 32, 0);
    burst(8);
    burst(16);
    assert_int_equal(exposed(), 32);
    for (unsigned i = 0; i < 3 * 4096 / 9; i++) { /* more than a quarter at once: stays */
        burst(9);
    }
    assert_int_equal(exposed(), 32);
    for (unsigned i = 0; i < 3 * 4096 / 4; i++) { /* 8 are a quarter of 32, but not of 16 */
        burst(i % 2 == 0 ? 1 : 7);
    }
    assert_int_equal(exposed(), 16);
    for (unsigned i = 0; i < 10 * 4096; i++) {
        burst(1);
    }
    assert_int_equal(exposed(), 8); /* the lower bound */
    owner_finish(&owner);
}

static void constant_without_a_range(void **state)
{
    static const uint16_t most[] = {0, 3, 8};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        start(8, most[i], 0);
        for (unsigned k = 0; k < 1000; k++) {
            burst(k % 9);
            assert_int_equal(exposed(), 8);
        }
        assert_int_equal(owner_statistics(&owner).rx_target_changes, 0);
        owner_finish(&owner);
    }
}

static void no_more_than_the_ring(void **state)
{
    (void)state;
    start(8, 64, 16);
    for (unsigned i = 0; i < 4; i++) {
        burst(exposed());
    }
    assert_int_equal(exposed(), 16);
    owner_finish(&owner);
}

/* The owner has no memory for more buffers: the driver continues with those that there are. */
static void no_more_than_the_owner_has(void **state)
{
    (void)state;
    start(4, 32, 0);
    owner.buffers_usable = 11;
    for (unsigned i = 0; i < 100; i++) {
        unsigned before = exposed();

        assert_in_range(before, 4, 11);
        burst(before);
    }
    assert_int_equal(owner_statistics(&owner).rx_frames, owner.received);
    owner_finish(&owner);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_when_the_device_runs_dry),
        cmocka_unit_test(grows_above_the_interrupt_budget),
        cmocka_unit_test(exhausted_budget_is_no_reason_to_grow),
        cmocka_unit_test(shrinks_when_few_are_used),
        cmocka_unit_test(constant_without_a_range),
        cmocka_unit_test(no_more_than_the_ring),
        cmocka_unit_test(no_more_than_the_owner_has),
    };

    fake_choose_ring(count, arguments);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
