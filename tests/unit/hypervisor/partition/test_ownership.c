/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests hypervisor/partition/ownership.c with the SMMU's real stream table: a function moves
 * between partitions, by an order or after an error, and either side stops at each step. After each
 * step at most one partition reaches the function, and DMA is blocked unless the owner sees it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "console/terminal.h"
#include "gic/moved.h"
#include "partition/ownership.h"
#include "partition/ownership_state.h"
#include "partition/recall.h"
#include "partition/refused_dma.h"
#include "pci/config_space.h"
#include "smmu/registers.h"
#include "smmu/smmu.h"
#include <arch/device_access.h>
#include <arch/hypercalls.h>
#include <string.h>

#define HZ          1000000u /* a tick is a microsecond */
#define SMMU        UINT64_C(0x09050000)
#define CARD        0x10u /* 00:02.0: moves between the partitions 0 and 1, and has entry 1 of both */
#define FIXED       0x18u /* 00:03.0: always that of partition 0 */
#define OTHER       0x20u /* 00:04.0: always that of partition 1 */
#define SPI         37u
#define CARD_ENTRY  ((size_t)CARD * STE_WORDS)
#define FIXED_ENTRY ((size_t)FIXED * STE_WORDS)
#define STEPS_MAX   200u
#define PARTITIONS  3u /* the last one is the manager */
#define MANAGER     2u

static struct description description;
static struct partition partitions[PARTITIONS];
static struct vcpu vcpus[PARTITIONS];
static uint64_t streams[64 * STE_WORDS], commands[COMMANDS * COMMAND_WORDS];
static uint64_t now;
static uint32_t produced, consumed; /* indices of the command queue */
static unsigned lag;                /* looks until the SMMU has consumed its commands */
static unsigned looks;              /* left */
static unsigned reset_steps;        /* of the function */
static bool reset_fails, gic_fails, gic_waits;
static unsigned recalled; /* bit n: partition n was */
static unsigned listing;  /* bit n: the SPI would be listed for partition n */
static const char *printed;
static bool is_reset; /* the function was, since a guest could access it last */

uint64_t fake_register(const char *name)
{
    return strcmp(name, "cntfrq_el0") == 0 ? HZ : now;
}

uint32_t device_read32(uintptr_t address)
{
    if (address - SMMU == SMMU_CMDQ_CONS && consumed != produced) {
        consumed = looks-- == 0 ? produced : consumed;
    }
    return address - SMMU == SMMU_CMDQ_PROD ? produced : consumed;
}

void device_write32(uintptr_t address, uint32_t value)
{
    assert_int_equal(address - SMMU, SMMU_CMDQ_PROD);
    produced = value;
    looks = lag;
}

void device_publish(void)
{
}

void terminal_print_event(const struct partition *partition, const char *format, ...)
{
    (void)partition;
    printed = format;
}

void recall(const struct vcpu *vcpu, uint32_t partition)
{
    assert_ptr_equal(vcpu, &vcpus[MANAGER]);
    recalled |= 1u << partition;
}

enum step_outcome refused_dma_drain(const struct vcpu *vcpu, uint32_t *event)
{
    (void)vcpu;
    return (*event)++ == 1 ? STEP_DONE : STEP_PENDING;
}

/* Returns STE.Config of the card. */
static uint64_t config(void)
{
    return streams[CARD_ENTRY] & ~STE_VALID;
}

enum step_outcome pci_reset_one(struct partition *partition, uint32_t index,
                                struct reset_progress *progress, uint32_t *microseconds)
{
    assert_int_equal(index, 1);
    assert_true(partition->functions.views[1].hidden);
    assert_int_equal(config(), 0);
    *microseconds = 10;
    if (progress->polls++ < reset_steps) {
        return STEP_PENDING;
    }
    is_reset = !reset_fails;
    return reset_fails ? STEP_FAILED : STEP_DONE;
}

enum step_outcome gic_release_interrupt(struct vcpu *vcpu, uint32_t interrupt)
{
    assert_int_equal(interrupt, SPI);
    assert_true(vcpu->partition->functions.views[1].hidden);
    if (gic_waits) {
        gic_waits = false;
        return STEP_PENDING;
    }
    return gic_fails ? STEP_FAILED : STEP_DONE;
}

void gic_lose_interrupt(struct vcpu *vcpu, uint32_t interrupt)
{
    assert_int_equal(interrupt, SPI);
    listing &= ~(1u << vcpu->partition->constant.index);
}

bool gic_take_interrupt(struct partition *partition, uint32_t interrupt)
{
    assert_int_equal(interrupt, SPI);
    listing |= 1u << partition->constant.index;
    return !gic_fails;
}

static bool has_spi(uint32_t partition)
{
    return partition_owns_interrupt(&partitions[partition], SPI);
}

static bool sees(uint32_t partition)
{
    return !partitions[partition].functions.views[1].hidden;
}

/* The partition whose stage 2 the SMMU would use. */
static uint32_t translated_by(void)
{
    uint32_t vmid = (uint32_t)(streams[CARD_ENTRY + 2] & STE_VMID_MASK);

    assert_int_equal(streams[CARD_ENTRY + 3], 0x1000 * vmid);
    return vmid - 1;
}

/* Checks after a step that one partition at most reaches the function. */
static void check(void)
{
    unsigned seeing = sees(0) + sees(1), spis = has_spi(0) + has_spi(1);
    unsigned having =
        !partitions[0].functions.views[1].foreign + !partitions[1].functions.views[1].foreign;

    assert_true(seeing <= 1 && spis <= 1 && having <= 1);
    for (uint32_t i = 0; i < 2; i++) {
        bool has = !partitions[i].functions.views[1].foreign;

        assert_true(has || (!sees(i) && !has_spi(i) && (listing & 1u << i) == 0));
        assert_true(has || config() == 0 || translated_by() != i);
    }
    if (having == 0) {
        assert_int_equal(config(), 0);
        assert_true(is_reset);
    }
    /* Other functions never change. */
    assert_false(partitions[0].functions.views[0].hidden);
    assert_false(partitions[1].functions.views[0].foreign);
    if (partitions[0].boot_vcpu.transition.phase == TRANSITION_NONE) {
        assert_int_not_equal(streams[FIXED_ENTRY] & ~STE_VALID, 0);
    }
}

static bool owns(uint32_t partition)
{
    return sees(partition) && has_spi(partition) && config() == STE_STAGE2 &&
           translated_by() == partition;
}

static void describe(void)
{
    static const uint16_t fixed[] = {FIXED, OTHER};

    description = (struct description){.partition_count = PARTITIONS, .movable_count = 1};
    description.board.smmu = SMMU;
    description.movables[0] = (struct description_movable){CARD, SPI, 0, 3};
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        struct description_partition *described = &description.partitions[i];

        described->vcpu_count = 1;
        if (i == MANAGER) {
            continue;
        }
        described->dma = DESCRIPTION_DMA_SMMU;
        described->standby = 2 - i;
        described->function_count = 2;
        described->functions[0].address = fixed[i];
        described->functions[1] = (struct description_function){.address = CARD, .movable = 1};
        described->interrupts[SPI / 32] = 1u << SPI % 32;
    }
}

static int setup(void **state)
{
    static const uint64_t roots[] = {0x1000, 0x2000, 0x3000};
    struct partition *all[PARTITIONS];

    (void)state;
    describe();
    memset(partitions, 0, sizeof(partitions));
    memset(&ownerships, 0, sizeof(ownerships));
    memset(streams, 0, sizeof(streams));
    now = 1000;
    produced = consumed = lag = looks = reset_steps = recalled = 0;
    reset_fails = gic_fails = gic_waits = is_reset = false;
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        partitions[i].constant = (struct partition_constants){
            .system = &description,
            .described = &description.partitions[i],
            .index = i,
            .smmu = {.commands = (uintptr_t)commands, .streams = (uintptr_t)streams}};
        vcpus[i] = (struct vcpu){.partition = &partitions[i]};
        all[i] = &partitions[i];
        ownership_begin_life(&partitions[i]);
    }
    ownership_boot(&description, all, roots);
    listing = 1; /* gic_reset_partition() at boot */
    streams[CARD_ENTRY] = STE_VALID | STE_STAGE2;
    streams[CARD_ENTRY + 2] = STE_RECORD | 1;
    streams[CARD_ENTRY + 3] = roots[0];
    streams[FIXED_ENTRY] = STE_VALID | STE_STAGE2;
    check();
    assert_true(owns(0));
    return 0;
}

static int64_t give(uint32_t to, bool begins)
{
    return ownership_give(&vcpus[MANAGER], CARD, to, begins);
}

/* Asks until the owner has given the function up. Returns the result, and the number of steps. */
static int64_t give_all(uint32_t from, uint32_t to, unsigned *steps)
{
    int64_t result = give(to, true);

    for (*steps = 0; result == MANAGER_AGAIN; ++*steps) {
        assert_true(*steps < STEPS_MAX);
        assert_int_not_equal(recalled & 1u << from, 0);
        recalled = 0;
        now += 20;
        ownership_depart(&vcpus[from]);
        check();
        result = give(to, false);
    }
    return result;
}

/* The guest looks until the function is there. */
static void arrive(uint32_t partition)
{
    for (unsigned i = 0; !sees(partition) && !ownership_arrive(&partitions[partition], 1); i++) {
        assert_true(i < STEPS_MAX);
        check();
    }
    check();
    is_reset = false;
}

static void given_and_given_back(void **state)
{
    unsigned steps;

    (void)state;
    lag = 3;
    reset_steps = 4;
    gic_waits = true;
    for (uint32_t n = 0; n < 4; n++) {
        uint32_t from = n % 2, to = 1 - from;

        assert_true(owns(from));
        assert_false(ownership_arrive(&partitions[to], 1));
        assert_int_equal(give_all(from, to, &steps), MANAGER_DONE);
        assert_int_equal(config(), 0);
        assert_false(ownership_arrive(&partitions[from], 1));
        check();
        arrive(to);
        assert_true(owns(to));
        assert_int_equal(ownerships.moves[0], n + 1);
        assert_int_equal(give(to, true), MANAGER_DONE); /* it has it */
    }
}

static void wrong_orders(void **state)
{
    (void)state;
    assert_int_equal(give(MANAGER, true), MANAGER_INVALID);
    assert_int_equal(ownership_give(&vcpus[MANAGER], FIXED, 1, true), MANAGER_INVALID);
    assert_int_equal(ownership_give(&vcpus[MANAGER], CARD, 1, false), MANAGER_BUSY);
    assert_int_equal(give(1, true), MANAGER_AGAIN);
    assert_int_equal(give(0, true), MANAGER_BUSY);
    check();
}

/* As partition/life.c does when a partition stops. */
static void stop(uint32_t number)
{
    struct partition *partition = &partitions[number];
    struct smmu_change *change = &partition->boot_vcpu.transition.change;

    ownership_begin_transition(partition);
    partition->boot_vcpu.transition.phase = TRANSITION_BLOCK;
    while (smmu_settle(partition, change) == STEP_PENDING) {
        ownership_depart(&vcpus[number]); /* nothing moves meanwhile */
        check();
    }
    while (smmu_block_dma(partition, change) == STEP_PENDING) {
        check();
    }
    is_reset = is_reset || !partition->functions.views[1].foreign;
    check();
}

/* The partition stays stopped. */
static void end_stop(uint32_t number)
{
    partitions[number].boot_vcpu.transition.phase = TRANSITION_NONE;
    streams[FIXED_ENTRY] = STE_VALID | STE_STAGE2; /* for the check */
}

static void start(uint32_t number)
{
    struct partition *partition = &partitions[number];

    while (smmu_permit_dma(partition, &partition->boot_vcpu.transition.change) == STEP_PENDING) {
        check();
    }
    partition->boot_vcpu.transition.phase = TRANSITION_NONE;
    ownership_begin_life(partition);
    check();
}

/* The owner stops after each number of steps of the move, and starts again or does not. */
static void owner_stops_at_each_step(void **state)
{
    unsigned steps, all;

    (void)setup(state);
    lag = 2;
    reset_steps = 2;
    assert_int_equal(give_all(0, 1, &all), MANAGER_DONE);
    for (unsigned n = 0; n <= 2 * all; n++) {
        (void)setup(state);
        lag = 2;
        reset_steps = 2;
        assert_int_equal(give(1, true), MANAGER_AGAIN);
        for (unsigned i = 0; i < n / 2; i++) {
            now += 20;
            ownership_depart(&vcpus[0]);
            check();
        }
        stop(0);
        if (n % 2 == 0) {
            start(0);
        } else {
            end_stop(0);
        }
        assert_false(owns(1));
        (void)give(1, false);
        assert_int_equal(give_all(0, 1, &steps), MANAGER_DONE);
        arrive(1);
        assert_true(owns(1));
        assert_int_equal(ownerships.moves[0], 1);
    }
}

/* The partition that gets the function stops after each number of looks. */
static void taker_stops_at_each_step(void **state)
{
    for (unsigned n = 0; n < 8; n++) {
        unsigned steps;

        (void)setup(state);
        assert_int_equal(give_all(0, 1, &steps), MANAGER_DONE);
        lag = 4;
        for (unsigned i = 0; i < n; i++) {
            (void)ownership_arrive(&partitions[1], 1);
            check();
        }
        stop(1);
        assert_int_equal(config(), 0);
        if (n % 2 == 0) {
            start(1);
            arrive(1);
            assert_true(owns(1));
        } else {
            end_stop(1);
            assert_int_equal(give_all(1, 0, &steps), MANAGER_DONE);
            arrive(0);
            assert_true(owns(0));
        }
    }
}

/* The manager takes the function away from a partition that has not looked for it, or only begun.
 */
static void given_away_before_its_arrival(void **state)
{
    for (unsigned n = 0; n < 4; n++) {
        unsigned steps;

        (void)setup(state);
        assert_int_equal(give_all(0, 1, &steps), MANAGER_DONE);
        lag = 3;
        for (unsigned i = 0; i < n; i++) {
            (void)ownership_arrive(&partitions[1], 1);
        }
        assert_int_equal(give_all(1, 0, &steps), MANAGER_DONE);
        assert_false(ownership_arrive(&partitions[1], 1));
        arrive(0);
        assert_true(owns(0));
        assert_int_equal(ownerships.moves[0], 2);
    }
}

/* The SMMU has one queue, and a partition one change at a time. */
static void arrival_waits_for_another_functions_change(void **state)
{
    unsigned steps;

    (void)state;
    assert_int_equal(give_all(0, 1, &steps), MANAGER_DONE);
    ownerships.changing[1] = 1; /* that of function 0 */
    assert_false(ownership_arrive(&partitions[1], 1));
    check();
    assert_int_equal(config(), 0);
    ownerships.changing[1] = 0;
    arrive(1);
    assert_true(owns(1));
}

static int64_t state_of(uint32_t partition, uint64_t *moves)
{
    uint64_t registers[4] = {CALL_DEVICE_STATE, CARD, 0, 0};

    assert_int_equal(ownership_state(&vcpus[partition], registers), CALL_SUCCESS);
    *moves = registers[2];
    return (int64_t)registers[1];
}

/* Calls as a guest that adopts the function. Returns the moves at the last adoption. */
static uint64_t adopt(uint32_t partition)
{
    uint64_t registers[4] = {CALL_DEVICE_STATE, CARD, DEVICE_ADOPT, 0};

    assert_int_equal(ownership_state(&vcpus[partition], registers), CALL_SUCCESS);
    return registers[3];
}

/* A partition that has the function, and is stopped before it adopts it, leaves no trace. */
static void owners_adopt(void **state)
{
    unsigned steps;

    (void)state;
    assert_int_equal(adopt(0), 0);
    assert_int_equal(give_all(0, 1, &steps), MANAGER_DONE);
    assert_int_equal(adopt(1), 0); /* it has not arrived */
    arrive(1);
    assert_int_equal(adopt(0), 0); /* it has it no more */
    assert_int_equal(give_all(1, 0, &steps), MANAGER_DONE);
    arrive(0);
    assert_int_equal(adopt(0), 2);
    assert_int_equal(give_all(0, 1, &steps), MANAGER_DONE);
    arrive(1);
    assert_int_equal(adopt(0), 2);
    assert_int_equal(adopt(1), 3);
}

static void function_without_reset_is_nobodys(void **state)
{
    unsigned steps;
    uint64_t moves;

    for (unsigned kind = 0; kind < 2; kind++) {
        (void)setup(state);
        reset_fails = kind == 0;
        gic_fails = kind == 1;
        printed = NULL;
        assert_int_equal(give_all(0, 1, &steps), MANAGER_RESET_FAILED);
        assert_non_null(printed);
        for (uint32_t i = 0; i < 2; i++) {
            assert_false(ownership_arrive(&partitions[i], 1));
            assert_int_equal(state_of(i, &moves), DEVICE_STATE_LOST);
            assert_int_equal(moves, 0);
        }
        assert_int_equal(config(), 0);
        check();
        /* Another attempt succeeds. */
        reset_fails = gic_fails = false;
        assert_int_equal(give_all(0, 1, &steps), MANAGER_DONE);
        arrive(1);
        assert_true(owns(1));
    }
}

static void smmu_does_not_answer(void **state)
{
    (void)state;
    lag = UINT32_MAX;
    assert_int_equal(give(1, true), MANAGER_AGAIN);
    for (unsigned i = 0; i < STEPS_MAX && give(1, false) == MANAGER_AGAIN; i++) {
        now += HZ / 50;
        ownership_depart(&vcpus[0]);
    }
    assert_int_equal(give(1, false), MANAGER_RESET_FAILED);
    assert_false(ownership_arrive(&partitions[1], 1));
    assert_false(sees(0));
}

static void standby_takes_over_and_back(void **state)
{
    uint64_t moves;

    (void)state;
    assert_false(ownership_can_fail_over(&partitions[1])); /* it has no device */
    for (uint32_t n = 0; n < 4; n++) {
        uint32_t from = n % 2, to = 1 - from;

        assert_true(ownership_can_fail_over(&partitions[from]));
        stop(from);
        ownership_hand_over(&vcpus[from]);
        check();
        assert_int_equal(state_of(to, &moves), DEVICE_STATE_ABSENT);
        start(from); /* healed, before the standby has looked */
        assert_false(owns(from));
        arrive(to);
        assert_true(owns(to));
        assert_int_equal(state_of(to, &moves), DEVICE_STATE_OWNED);
        assert_int_equal(moves, n + 1);
        assert_int_equal(state_of(from, &moves), DEVICE_STATE_ABSENT);
    }
}

static void standby_is_down(void **state)
{
    (void)state;
    stop(1);
    assert_false(ownership_can_fail_over(&partitions[0]));
    start(1);
    assert_true(ownership_can_fail_over(&partitions[0]));
    description.partitions[0].standby = 0;
    assert_false(ownership_can_fail_over(&partitions[0]));
}

/* A function that the manager gives away goes where it was ordered to. */
static void failure_of_an_owner_that_gives(void **state)
{
    unsigned steps;

    (void)state;
    assert_int_equal(give(1, true), MANAGER_AGAIN);
    ownership_depart(&vcpus[0]);
    stop(0);
    ownership_hand_over(&vcpus[0]);
    start(0);
    assert_int_equal(give(1, false), MANAGER_DONE);
    arrive(1);
    assert_int_equal(give_all(1, 0, &steps), MANAGER_DONE);
    assert_int_equal(ownerships.moves[0], 2);
}

static void refused_dma_is_the_holders(void **state)
{
    struct smmu_event refused = {.stream = CARD, .partition = 0};
    uint32_t moves = ownership_moves();
    unsigned steps;

    (void)state;
    assert_int_equal(ownership_culprit(&description, &refused, moves), 0);
    assert_int_equal(give_all(0, 1, &steps), MANAGER_DONE);
    arrive(1);
    assert_int_equal(ownership_culprit(&description, &refused, moves), DESCRIPTION_NO_PARTITION);
    assert_int_equal(ownership_culprit(&description, &refused, ownership_moves()), 1);
    refused = (struct smmu_event){.stream = FIXED, .partition = 0};
    assert_int_equal(ownership_culprit(&description, &refused, moves), 0);
}

static void states_are_told_to_candidates(void **state)
{
    uint64_t registers[4] = {CALL_DEVICE_STATE, CARD, 0, 0};
    uint64_t moves;

    (void)state;
    assert_int_equal(ownership_state(&vcpus[MANAGER], registers), CALL_NOT_SUPPORTED);
    registers[1] = FIXED;
    assert_int_equal(ownership_state(&vcpus[0], registers), CALL_NOT_SUPPORTED);
    assert_int_equal(state_of(0, &moves), DEVICE_STATE_OWNED);
    assert_int_equal(state_of(1, &moves), DEVICE_STATE_ABSENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(given_and_given_back, setup),
        cmocka_unit_test_setup(wrong_orders, setup),
        cmocka_unit_test(owner_stops_at_each_step),
        cmocka_unit_test(taker_stops_at_each_step),
        cmocka_unit_test(given_away_before_its_arrival),
        cmocka_unit_test_setup(arrival_waits_for_another_functions_change, setup),
        cmocka_unit_test_setup(owners_adopt, setup),
        cmocka_unit_test(function_without_reset_is_nobodys),
        cmocka_unit_test_setup(smmu_does_not_answer, setup),
        cmocka_unit_test_setup(standby_takes_over_and_back, setup),
        cmocka_unit_test_setup(standby_is_down, setup),
        cmocka_unit_test_setup(failure_of_an_owner_that_gives, setup),
        cmocka_unit_test_setup(refused_dma_is_the_holders, setup),
        cmocka_unit_test_setup(states_are_told_to_candidates, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
