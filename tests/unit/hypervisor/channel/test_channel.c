/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the calls for channels, and the end of a partition that has some. */
#include "channel/channel.h"

#include "gic/doorbell.h"
#include "gic/setup.h"
#include "hypercall/channel.h"
#include "partition/load.h"
#include <arch/channel.h>
#include <arch/device_access.h>
#include <arch/hypercalls.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define PARTITIONS   4u /* the last one has no channel */
#define CHANNELS     3u
#define RANDOM_CALLS 20000u

static struct description description;
static struct partition partitions[PARTITIONS];
static _Alignas(4096) uint32_t pages[CHANNELS][1024];
static uint32_t rung[64];   /* how often, by interrupt */
static uint32_t rung_state; /* what the caller's word was then */
static const uint32_t *rung_word;
static uint64_t cleaned,
    rung_cleaned; /* address that was cleaned last, and that before the doorbell */

void doorbell_ring(const struct description *system, uint32_t interrupt)
{
    assert_ptr_equal(system, &description);
    assert_in_range(interrupt, 0, 63);
    rung[interrupt]++;
    if (rung_word != NULL) {
        rung_state = *rung_word;
        rung_cleaned = cleaned;
    }
}

void gic_make_pending(const struct description *system, uint32_t interrupt)
{
    (void)system;
    fail_msg("%u is no function's interrupt", (unsigned)interrupt);
}

void device_publish(void)
{
}

void load_clean(uint64_t at, uint64_t end)
{
    cleaned = at;
    assert_int_equal(end - at, 4);
}

static void connect(uint32_t index, uint32_t from, uint32_t to, uint32_t first_interrupt)
{
    description.channels[index] = (struct description_channel){
        .physical = (uintptr_t)pages[index],
        .section_bytes = 4096,
        .ends = {{.partition = from, .interrupt = first_interrupt},
                 {.partition = to, .interrupt = first_interrupt + 1}},
    };
}

static int setup(void **state)
{
    (void)state;
    memset(&description, 0, sizeof(description));
    memset(partitions, 0, sizeof(partitions));
    memset(pages, 0, sizeof(pages));
    memset(rung, 0, sizeof(rung));
    rung_word = NULL;
    cleaned = 0;
    description.partition_count = PARTITIONS;
    description.channel_count = CHANNELS;
    connect(0, 0, 1, 40);
    connect(1, 1, 2, 42);
    connect(2, 2, 0, 44);
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        partitions[i].constant.system = &description;
        partitions[i].constant.described = &description.partitions[i];
        partitions[i].constant.index = i;
    }
    return 0;
}

static int64_t call(uint32_t partition, uint32_t function, uint64_t channel, uint64_t value)
{
    const struct vcpu vcpu = {.partition = &partitions[partition], .number = 3};

    return function == CALL_CHANNEL_NOTIFY
               ? channel_notify(&vcpu, (uint32_t)channel)
               : channel_set_state(&vcpu, (uint32_t)channel, (uint32_t)value);
}

static uint32_t rung_in_all(void)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < 64; i++) {
        sum += rung[i];
    }
    return sum;
}

static void notify_rings_the_other_end(void **state)
{
    (void)state;
    assert_int_equal(call(0, CALL_CHANNEL_NOTIFY, 0, 0), CALL_SUCCESS);
    assert_int_equal(rung[41], 1);
    assert_int_equal(call(1, CALL_CHANNEL_NOTIFY, 0, 0), CALL_SUCCESS);
    assert_int_equal(rung[40], 1);
    assert_int_equal(call(0, CALL_CHANNEL_NOTIFY, 2, 0), CALL_SUCCESS);
    assert_int_equal(rung[44], 1);
    assert_int_equal(rung_in_all(), 3);
    for (unsigned i = 0; i < CHANNELS; i++) {
        assert_int_equal(pages[i][0] | pages[i][1], 0);
    }
}

/* The other end, once it is interrupted, reads the new state, with or without its caches. */
static void state_is_written_before_the_doorbell(void **state)
{
    (void)state;
    rung_word = &pages[1][1];
    assert_int_equal(call(2, CALL_CHANNEL_SET_STATE, 1, 77), CALL_SUCCESS);
    assert_int_equal(rung[42], 1);
    assert_int_equal(rung_state, 77);
    assert_int_equal(rung_cleaned, (uintptr_t)&pages[1][1]);
    assert_int_equal(pages[1][0], 0);
}

static void others_may_not_call(void **state)
{
    (void)state;
    assert_int_equal(call(2, CALL_CHANNEL_NOTIFY, 0, 0), CALL_NOT_SUPPORTED);
    assert_int_equal(call(0, CALL_CHANNEL_SET_STATE, 1, 1), CALL_NOT_SUPPORTED);
    assert_int_equal(call(3, CALL_CHANNEL_SET_STATE, 0, 1), CALL_NOT_SUPPORTED);
    assert_int_equal(call(0, CALL_CHANNEL_NOTIFY, CHANNELS, 0), CALL_NOT_SUPPORTED);
    assert_int_equal(call(0, CALL_CHANNEL_NOTIFY, UINT32_MAX, 0), CALL_NOT_SUPPORTED);
    assert_int_equal(rung_in_all(), 0);
    for (unsigned i = 0; i < CHANNELS; i++) {
        assert_int_equal(pages[i][0] | pages[i][1], 0);
    }
}

static void calls_are_announced_to_ends(void **state)
{
    struct vcpu vcpu = {.partition = &partitions[2]};

    (void)state;
    assert_true(channel_has_call(&vcpu, CALL_CHANNEL_NOTIFY));
    assert_true(channel_has_call(&vcpu, CALL_CHANNEL_SET_STATE));
    assert_false(channel_has_call(&vcpu, CALL_CHANNEL_NOTIFY - 1));
    assert_false(channel_has_call(&vcpu, CALL_CHANNEL_SET_STATE + 1));
    vcpu.partition = &partitions[3];
    assert_false(channel_has_call(&vcpu, CALL_CHANNEL_NOTIFY));
    description.channel_count = 0;
    vcpu.partition = &partitions[2];
    assert_false(channel_has_call(&vcpu, CALL_CHANNEL_NOTIFY));
}

/* Takes all steps of the end of a partition's channels. Returns their number: one for each of its
 * channels. */
static unsigned end_all(unsigned partition)
{
    unsigned steps = 0;
    uint32_t index = 0;

    while (channel_end(&partitions[partition], &index) == STEP_PENDING) {
        steps++;
    }
    return steps;
}

static void end_makes_the_own_ends_absent(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CHANNELS; i++) {
        memset(pages[i], 0xa5, sizeof(pages[i]));
    }
    rung_word = &pages[1][0];
    assert_int_equal(end_all(1), 2);
    assert_int_equal(rung[40], 1);
    assert_int_equal(rung[43], 1);
    assert_int_equal(rung_in_all(), 2);
    assert_int_equal(rung_state, 0);
    assert_int_equal(pages[0][1], 0);
    assert_int_equal(pages[1][0], 0);
    pages[0][1] = pages[1][0] = 0xa5a5a5a5;
    for (unsigned i = 0; i < CHANNELS * 1024; i++) {
        assert_int_equal(pages[i / 1024][i % 1024], 0xa5a5a5a5);
    }
    assert_int_equal(end_all(3), 0);
    assert_int_equal(rung_in_all(), 2);
}

/* Calls with any arguments change the caller's own words only, and ring no doorbell of its own. */
static void no_call_reaches_others(void **state)
{
    uint64_t random = 1;

    (void)state;
    for (unsigned i = 0; i < RANDOM_CALLS; i++) {
        uint32_t before[CHANNELS][2], caller;

        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        caller = (uint32_t)(random >> 60) % PARTITIONS;
        memset(rung, 0, sizeof(rung));
        for (unsigned channel = 0; channel < CHANNELS; channel++) {
            memcpy(before[channel], pages[channel], sizeof(before[channel]));
        }
        (void)call(caller, CALL_CHANNEL_NOTIFY + (random >> 33) % 2, (random >> 40) % 5, random);
        for (unsigned channel = 0; channel < CHANNELS; channel++) {
            for (unsigned end = 0; end < 2; end++) {
                const struct description_channel_end *described =
                    &description.channels[channel].ends[end];

                assert_true(described->partition == caller ||
                            pages[channel][end] == before[channel][end]);
                assert_true(described->partition != caller || rung[described->interrupt] == 0);
            }
        }
        assert_in_range(rung_in_all(), 0, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(notify_rings_the_other_end, setup),
        cmocka_unit_test_setup(state_is_written_before_the_doorbell, setup),
        cmocka_unit_test_setup(others_may_not_call, setup),
        cmocka_unit_test_setup(calls_are_announced_to_ends, setup),
        cmocka_unit_test_setup(end_makes_the_own_ends_absent, setup),
        cmocka_unit_test_setup(no_call_reaches_others, setup),
    };

    return cmocka_run_group_tests_name("channel", tests, NULL, NULL);
}
