/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device of a client of a shared card: MMIO, split rings in order, indirect tables, commands.
 * Its back-end asks for a reset at any access of the driver, answers with other bits of the status,
 * has other features in its next life, or changes the configuration all the time. Each case ends
 * when the owner has stopped the driver and created it again, and frames pass both ways.
 */
#include "cases.h"
#include "steps.h"
#include <limits.h>

/* All that a shared device does not offer (virtio/device_net.h). */
#define WITHOUT_PAIRS 0x4000u
#define WITHOUT_SPEED 0x8000u
#define NOT_SHARED    (WITHOUT_PACKED | WITHOUT_QUEUE_RESET | WITHOUT_PAIRS | WITHOUT_SPEED)
#define OPTIONAL      16u
/* More accesses than a scenario has in all. */
#define ACCESSES_MAX 100000u

static void begin(unsigned without)
{
    cases_begin_merging(BUS_MMIO, 0, HEADER_COMMANDS, NOT_SHARED | without);
    assert_true(device_features(VIRTIO_F_IN_ORDER));
}

/* The driver starts, sends, receives and gives a command, on a device that may fail meanwhile. */
static void execute_scenario(void)
{
    step_restart(false, UINT_MAX, VIRTIO_NET_RECEIVE_BYTES);
    if (owner_net() == NULL) {
        return;
    }
    for (unsigned i = 0; i < 3; i++) {
        (void)owner_transmit(60 + 300 * i, 1 + i, false);
        owner_flush();
        traffic_receive(0, 1, 60 + 1400 * i, 0);
    }
    traffic_take(TRANSMIT, HELD_MAX);
    traffic_return(TRANSMIT, HELD_MAX, 0);
    (void)owner_command(COMMAND_MODE, 1, 1);
    owner_settle();
    (void)owner_fetch_packets(PACKET_SLOTS);
    owner_check();
}

/* Sets a snare for each access of the scenario in turn. Returns the number of accesses. */
static unsigned snare_each(enum access access, enum snare_effect effect, uint32_t value)
{
    unsigned place = 0;
    bool was_reached = true;

    while (was_reached) {
        begin(0);
        snare_set(&(struct snare){
            .access = access, .effect = effect, .countdown = ++place, .value = value});
        execute_scenario();
        was_reached = !snare_any();
        owner_check();
        program_finish();
        assert_true(place < ACCESSES_MAX);
    }
    return place - 1;
}

static void needs_reset_at_each_access(void **state)
{
    (void)state;
    assert_true(snare_each(ACCESS_ANY, SNARE_NEEDS_RESET, 0) > (snare_sees_memory() ? 300u : 50u));
}

static void needs_reset_is_noticed(void **state)
{
    (void)state;
    begin(0);
    device_fail();
    cases_expect_broken("reset");
}

/* Each bit of the status differs in one read. */
static void status_flips(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 8; bit++) {
        assert_true(snare_each(ACCESS_STATUS, SNARE_XOR, 1u << bit) > 3);
    }
    (void)snare_each(ACCESS_STATUS, SNARE_REPLACE, 0);
    (void)snare_each(ACCESS_STATUS, SNARE_REPLACE, UINT8_MAX);
}

/* The next life of a back-end offers one feature less, or more, than the life before. */
static void other_features_in_the_next_life(void **state)
{
    (void)state;
    for (unsigned first = 0; first < OPTIONAL; first++) {
        uint8_t header[PROGRAM_HEADER] = {HEADER_COMMANDS, 0, 0, 160, 7, 63, 63, 0};
        uint64_t before;

        for (unsigned i = 0; i < 2; i++) {
            unsigned without = NOT_SHARED ^ (i == 0 ? 1u << first : 0);

            header[1] = (uint8_t)without;
            header[2] = (uint8_t)(without >> 8);
            program_begin(header);
            before = settings.offered;
            device_fail();
            owner_interrupts();
            owner_bottom_half(true);
            assert_non_null(virtio_net_broken(owner_net()));
            settings.offered = before ^ (i == 0 ? 0 : VIRTIO_NET_F_MTU | VIRTIO_F_INDIRECT_DESC);
            step_restart(true, UINT_MAX, VIRTIO_NET_RECEIVE_BYTES);
            assert_non_null(owner_net());
            execute_scenario();
            assert_null(virtio_net_broken(owner_net()));
            program_finish();
        }
    }
}

/* The configuration's generation differs in each read: the driver does not wait for ever, and
 * says so (2.5.3). */
static void configuration_is_never_stable(void **state)
{
    (void)state;
    begin(0);
    snare_set(&(struct snare){
        .access = ACCESS_GENERATION, .effect = SNARE_XOR, .countdown = 1, .every = 2, .value = 1});
    cases_expect_refused(cases_start(), "configuration");
    assert_true(snare_each(ACCESS_GENERATION, SNARE_ADD, 1) > 0);
    assert_true(snare_each(ACCESS_CONFIG, SNARE_XOR, UINT32_MAX) > 0);
}

/* An interrupt without a cause, with each of the causes, and with reserved bits, again and again.
 */
static void interrupt_storm(void **state)
{
    static const uint8_t causes[] = {0, VIRTIO_CAUSE_QUEUE, VIRTIO_CAUSE_CONFIG, 0xfc, 0xff};

    (void)state;
    for (unsigned i = 0; i < sizeof(causes); i++) {
        begin(0);
        device.lies |= LIE_REGISTER;
        for (unsigned round = 0; round < 1000; round++) {
            device.cause = causes[i];
            owner_interrupt(0);
            if (round % 16 == 0) {
                owner_bottom_half(false);
            }
        }
        owner_check();
        program_finish();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(needs_reset_at_each_access),
        cmocka_unit_test(needs_reset_is_noticed),
        cmocka_unit_test(status_flips),
        cmocka_unit_test(other_features_in_the_next_life),
        cmocka_unit_test(configuration_is_never_stable),
        cmocka_unit_test(interrupt_storm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
