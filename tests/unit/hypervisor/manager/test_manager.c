/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests hypervisor/manager: which calls are accepted, which orders in which state, which images. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gic/sgi.h"
#include "health/health.h"
#include "hypercall/manager.h"
#include "manager/check.h"
#include "manager/checksum.h"
#include "manager/image.h"
#include "manager/order.h"
#include "manager/orders.h"
#include <stdlib.h>
#include <string.h>

#define PARTITIONS    3u
#define MANAGER       1u
#define STAGING_BYTES 0x8000u
#define IMAGE_BYTES   0x1234u
#define MIB           UINT64_C(0x100000)
#define ENTRY         (0x40000000 + 0x80000)
#define ROOM          (4 * MIB)
#define RANDOM_CALLS  10000u

static struct description description;
static struct partition partitions[PARTITIONS];
static struct manager_orders orders;
static struct vcpu manager;
static _Alignas(4096) uint8_t staging[STAGING_BYTES];
static uint32_t called[DESCRIPTION_CORES_MAX]; /* messages, by core */

void recall(const struct vcpu *vcpu, uint32_t partition)
{
    assert_ptr_equal(vcpu->partition, &partitions[MANAGER]);
    called[description_boot_core(&description.partitions[partition])]++;
}

/* The log of partition 2: the records 5 to 8. */
uint64_t health_errors(const struct partition *partition)
{
    return partition == &partitions[2] ? 9 : 0;
}

bool health_read(const struct partition *partition, uint64_t from, struct health_record *record)
{
    uint64_t number = from < 5 ? 5 : from;

    if (partition != &partitions[2] || number > 8) {
        return false;
    }
    *record = (struct health_record){.number = number,
                                     .time = 100 * number,
                                     .address = UINT64_MAX,
                                     .syndrome = 0x92000046,
                                     .pc = number,
                                     .error = HEALTH_ERROR_REFUSED_DMA,
                                     .action = HEALTH_ACTION_RESTART,
                                     .source = 0xffff0010};
    return true;
}

static void put_image(uint64_t text_offset, uint64_t image_size)
{
    static const uint32_t magic = 0x644d5241; /* "ARM\x64" */

    for (uint32_t i = 0; i < STAGING_BYTES; i++) {
        staging[i] = (uint8_t)(i * 7);
    }
    memcpy(staging + 8, &text_offset, sizeof(text_offset));
    memcpy(staging + 16, &image_size, sizeof(image_size));
    memcpy(staging + 56, &magic, sizeof(magic));
}

static int setup(void **state)
{
    (void)state;
    memset(&description, 0, sizeof(description));
    memset(partitions, 0, sizeof(partitions));
    memset(&orders, 0, sizeof(orders));
    memset(called, 0, sizeof(called));
    description.partition_count = PARTITIONS;
    description.manager = (struct description_manager){
        .partition = MANAGER, .staging = (uintptr_t)staging, .staging_bytes = STAGING_BYTES};
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        struct description_partition *described = &description.partitions[i];

        described->entry = ENTRY;
        described->vcpus[0].core = i + 4;
        described->memory_count = 1;
        described->memories[0] =
            (struct description_memory){.guest = 0x40000000, .bytes = 32 * MIB};
        described->image_count = 2;
        described->images[0].guest = ENTRY;
        described->images[1].guest = ENTRY + ROOM;
        partitions[i].constant.system = &description;
        partitions[i].constant.described = described;
        partitions[i].constant.index = i;
        partitions[i].constant.orders = &orders;
        orders.partitions[i] = &partitions[i];
    }
    manager = (struct vcpu){.partition = &partitions[MANAGER]};
    put_image(0x80000, ROOM);
    return 0;
}

static int64_t call(uint32_t function, uint64_t partition, uint64_t second, uint64_t third)
{
    uint64_t registers[4] = {function, partition, second, third};

    return manager_call(&manager, registers);
}

static int64_t replace(uint64_t offset, uint64_t bytes, uint32_t checksum)
{
    int64_t result;

    do {
        result = call(CALL_PARTITION_REPLACE, 0, offset << 32 | bytes, checksum);
    } while (result == MANAGER_AGAIN);
    return result;
}

static void checksum_is_that_of_the_standard(void **state)
{
    (void)state;
    assert_int_equal(checksum_add(0, "123456789", 9), 0xcbf43926u);
    assert_int_equal(checksum_add(checksum_add(0, "1234", 4), "56789", 5), 0xcbf43926u);
    assert_int_equal(checksum_add(0, "", 0), 0);
}

static void only_the_boot_vcpu_of_the_manager_may_call(void **state)
{
    (void)state;
    manager.number = 1;
    assert_int_equal(call(CALL_PARTITION_STOP, 0, 0, 0), MANAGER_NOT_SUPPORTED);
    manager.number = 0;
    manager.partition = &partitions[0];
    for (uint32_t function = CALL_PARTITION_STATUS; function <= CALL_PARTITION_CRASH; function++) {
        assert_int_equal(call(function, 2, 0, 0), MANAGER_NOT_SUPPORTED);
    }
    manager.partition = &partitions[MANAGER];
    assert_int_equal(call(CALL_PARTITION_STATUS - 1, 0, 0, 0), MANAGER_NOT_SUPPORTED);
    assert_int_equal(call(CALL_PARTITION_CRASH + 1, 0, 0, 0), MANAGER_NOT_SUPPORTED);
    memset(&description.manager, 0, sizeof(description.manager));
    description.manager.partition = MANAGER;
    assert_int_equal(call(CALL_PARTITION_STOP, 0, 0, 0), MANAGER_NOT_SUPPORTED);
}

static void an_order_goes_to_another_partition(void **state)
{
    (void)state;
    assert_int_equal(call(CALL_PARTITION_STOP, MANAGER, 0, 0), MANAGER_INVALID);
    assert_int_equal(call(CALL_PARTITION_STOP, PARTITIONS, 0, 0), MANAGER_INVALID);
    assert_int_equal(call(CALL_PARTITION_STOP, UINT64_C(1) << 32, 0, 0), MANAGER_INVALID);
    assert_int_equal(call(CALL_PARTITION_STATUS, PARTITIONS, 0, 0), MANAGER_INVALID);
    assert_int_equal(call(CALL_PARTITION_STOP, 2, 0, 0), MANAGER_DONE);
    assert_int_equal(orders.orders[2].number, 1);
    assert_int_equal(orders.orders[2].command, ORDER_STOP);
    assert_int_equal(called[2 + 4], 1);
    assert_int_equal(orders.orders[0].number, 0);
    assert_int_equal(call(CALL_PARTITION_STATUS, 2, 0, 0), PARTITION_STATE_BUSY);
    assert_int_equal(call(CALL_PARTITION_DESTROY, 2, 0, 0), MANAGER_BUSY);
    assert_int_equal(orders.orders[2].command, ORDER_STOP);
    partitions[2].boot_vcpu.management.answered = 1;
    partitions[2].atomic.request = REQUEST_STOPPED;
    assert_int_equal(call(CALL_PARTITION_STATUS, 2, 0, 0), PARTITION_STATE_STOPPED);
    assert_int_equal(call(CALL_PARTITION_DESTROY, 2, 0, 0), MANAGER_DONE);
}

/* An order that the partition would refuse does not interrupt its core, however often it comes. */
static void a_refused_order_is_not_sent(void **state)
{
    (void)state;
    description.partitions[0].restart = DESCRIPTION_RESTART_NEVER;
    partitions[0].boot_vcpu.starts = 1;
    partitions[0].atomic.request = REQUEST_STOPPED;
    partitions[2].atomic.request = REQUEST_STOPPED;
    for (unsigned i = 0; i < 1000; i++) {
        assert_int_equal(call(CALL_PARTITION_STOP, 2, 0, 0), MANAGER_WRONG_STATE);
        assert_int_equal(call(CALL_PARTITION_CREATE, 2, 0, 0), MANAGER_WRONG_STATE);
        assert_int_equal(call(CALL_PARTITION_START, 0, 0, 0), MANAGER_NEVER_RESTARTS);
    }
    assert_int_equal(called[2 + 4] + called[0 + 4], 0);
    assert_int_equal(orders.orders[2].number + orders.orders[0].number, 0);
    assert_int_equal(call(CALL_PARTITION_START, 2, 0, 0), MANAGER_DONE);
    assert_int_equal(called[2 + 4], 1);
}

static void status_has_the_last_result(void **state)
{
    uint64_t registers[4] = {CALL_PARTITION_STATUS, 0, 0, 0};

    (void)state;
    partitions[0].boot_vcpu.management.result = MANAGER_CHANGED;
    assert_int_equal(manager_call(&manager, registers), PARTITION_STATE_RUNNING);
    assert_int_equal((int64_t)registers[1], MANAGER_CHANGED);
}

/* The manager reads a failure with the state, and repeats the order. */
static void status_tells_a_failed_stop(void **state)
{
    uint64_t registers[4] = {CALL_PARTITION_STATUS, 2, 0, 0};

    (void)state;
    partitions[2].boot_vcpu.management.result = MANAGER_NOT_ISOLATED;
    partitions[2].atomic.request = REQUEST_FAILED;
    assert_int_equal(manager_call(&manager, registers), PARTITION_STATE_FAILED);
    assert_int_equal((int64_t)registers[1], MANAGER_NOT_ISOLATED);
    assert_int_equal(call(CALL_PARTITION_START, 2, 0, 0), MANAGER_WRONG_STATE);
    assert_int_equal(call(CALL_PARTITION_STOP, 2, 0, 0), MANAGER_DONE);
}

/* A core that has halted takes no order, also not the one before. */
static void a_halted_core_is_told(void **state)
{
    uint64_t registers[4] = {CALL_PARTITION_STATUS, 2, 0, 0};

    (void)state;
    assert_int_equal(call(CALL_PARTITION_STOP, 2, 0, 0), MANAGER_DONE);
    partitions[2].boot_vcpu.management.result = MANAGER_NOT_ISOLATED;
    partitions[2].atomic.power[0].state = VCPU_HALTED;
    assert_int_equal(manager_call(&manager, registers), PARTITION_STATE_FAILED);
    assert_int_equal((int64_t)registers[1], MANAGER_NOT_ISOLATED);
    assert_int_equal(call(CALL_PARTITION_DESTROY, 2, 0, 0), MANAGER_NOT_ISOLATED);
    assert_int_equal(called[2 + 4], 1);
}

/* The hypervisor knows the image of each partition, whatever the manager remembers. */
static void image_is_told(void **state)
{
    uint64_t registers[4] = {CALL_PARTITION_IMAGE, 2, 7, 7};

    (void)state;
    assert_int_equal(manager_call(&manager, registers), MANAGER_DONE);
    assert_int_equal(registers[1], 0);
    partitions[2].boot_vcpu.management.image =
        (struct staged_image){(uintptr_t)staging + 0x3000, IMAGE_BYTES, 0};
    registers[0] = CALL_PARTITION_IMAGE;
    registers[1] = 2;
    assert_int_equal(manager_call(&manager, registers), MANAGER_DONE);
    assert_int_equal(registers[1], UINT64_C(0x3000) << 32 | IMAGE_BYTES);
    assert_int_equal(call(CALL_PARTITION_STOP, 2, 0, 0), MANAGER_DONE);
    assert_int_equal(call(CALL_PARTITION_IMAGE, 2, 0, 0), MANAGER_BUSY);
    assert_int_equal(call(CALL_PARTITION_IMAGE, PARTITIONS, 0, 0), MANAGER_INVALID);
    assert_int_equal(call(CALL_PARTITION_IMAGE, MANAGER, 0, 0), MANAGER_DONE);
}

static void log_is_read(void **state)
{
    static const struct {
        uint64_t partition, from, part;
        int64_t result;
        uint64_t first, second, third;
    } calls[] = {
        {2, 0, LOG_PART_EVENT, MANAGER_DONE, 5, 500, UINT64_C(0xffff001000030001)},
        {2, 8, LOG_PART_EVENT, MANAGER_DONE, 8, 800, UINT64_C(0xffff001000030001)},
        {2, 9, LOG_PART_EVENT, MANAGER_DONE, 0, 0, 0},
        {2, UINT64_MAX, LOG_PART_EVENT, MANAGER_DONE, 0, 0, 0},
        {0, 0, LOG_PART_EVENT, MANAGER_DONE, 0, 0, 0},
        {2, 6, LOG_PART_PLACE, MANAGER_DONE, UINT64_MAX, 0x92000046, 6},
        {2, 4, LOG_PART_PLACE, MANAGER_INVALID, 2, 4, LOG_PART_PLACE}, /* overwritten */
        {2, 9, LOG_PART_PLACE, MANAGER_INVALID, 2, 9, LOG_PART_PLACE},
        {0, 0, LOG_PART_PLACE, MANAGER_INVALID, 0, 0, LOG_PART_PLACE},
        {2, 6, 2, MANAGER_INVALID, 2, 6, 2},
        {2, 6, UINT64_MAX, MANAGER_INVALID, 2, 6, UINT64_MAX},
        {PARTITIONS, 0, 0, MANAGER_INVALID, PARTITIONS, 0, 0},
        {MANAGER, 0, 0, MANAGER_DONE, 0, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        uint64_t registers[4] = {CALL_PARTITION_LOG, calls[i].partition, calls[i].from,
                                 calls[i].part};

        assert_int_equal(manager_call(&manager, registers), calls[i].result);
        assert_int_equal(registers[1], calls[i].first);
        assert_int_equal(registers[2], calls[i].second);
        assert_int_equal(registers[3], calls[i].third);
    }
}

static void status_has_the_number_of_errors(void **state)
{
    uint64_t registers[4] = {CALL_PARTITION_STATUS, 2, 7, 7};

    (void)state;
    partitions[2].boot_vcpu.management.result = MANAGER_RESTARTS_USED_UP;
    assert_int_equal(manager_call(&manager, registers), PARTITION_STATE_RUNNING);
    assert_int_equal((int64_t)registers[1], MANAGER_RESTARTS_USED_UP);
    assert_int_equal(registers[2], 9);
    assert_int_equal(registers[3], 7);
}

static void an_image_is_checked_before_the_order(void **state)
{
    uint32_t checksum;

    (void)state;
    checksum = checksum_add(0, staging, IMAGE_BYTES);
    assert_int_equal(replace(0, IMAGE_BYTES, checksum ^ 1), MANAGER_DAMAGED);
    assert_int_equal(replace(0, IMAGE_BYTES - 1, checksum), MANAGER_DAMAGED);
    assert_int_equal(replace(0, 63, checksum), MANAGER_BAD_IMAGE);
    assert_int_equal(replace(0x1000, IMAGE_BYTES, checksum), MANAGER_BAD_IMAGE);
    assert_int_equal(replace(0x10, IMAGE_BYTES, checksum), MANAGER_TOO_LARGE);
    assert_int_equal(replace(STAGING_BYTES, IMAGE_BYTES, checksum), MANAGER_TOO_LARGE);
    assert_int_equal(replace(UINT32_MAX, UINT32_MAX, checksum), MANAGER_TOO_LARGE);
    assert_int_equal(replace(0x7000, 0x1001, checksum), MANAGER_TOO_LARGE);
    put_image(0x80000, ROOM + 1);
    assert_int_equal(replace(0, IMAGE_BYTES, checksum), MANAGER_TOO_LARGE);
    put_image(0x80000, 0);
    assert_int_equal(replace(0, IMAGE_BYTES, checksum), MANAGER_BAD_IMAGE);
    put_image(0x81000, ROOM);
    assert_int_equal(replace(0, IMAGE_BYTES, checksum), MANAGER_BAD_IMAGE);
    assert_int_equal(orders.orders[0].number, 0);
    put_image(0x80000, ROOM);
    assert_int_equal(replace(0, IMAGE_BYTES, checksum), MANAGER_DONE);
    assert_int_equal(orders.orders[0].number, 1);
    assert_int_equal(orders.orders[0].image.physical, (uintptr_t)staging);
    assert_int_equal(orders.orders[0].image.bytes, IMAGE_BYTES);
    assert_int_equal(orders.orders[0].image.checksum, checksum);
}

static void an_image_may_have_data_behind_its_size(void **state)
{
    uint32_t checksum;

    (void)state;
    put_image(0x80000, IMAGE_BYTES - 1);
    checksum = checksum_add(0, staging, IMAGE_BYTES);
    assert_int_equal(replace(0, IMAGE_BYTES, checksum), MANAGER_DONE);
    assert_int_equal(orders.orders[0].image.bytes, IMAGE_BYTES);
}

static void a_call_for_another_image_begins_a_new_check(void **state)
{
    uint32_t checksum = checksum_add(0, staging, IMAGE_BYTES);

    (void)state;
    assert_int_equal(call(CALL_PARTITION_REPLACE, 0, IMAGE_BYTES, checksum), MANAGER_AGAIN);
    assert_int_equal(call(CALL_PARTITION_REPLACE, 2, IMAGE_BYTES, checksum), MANAGER_AGAIN);
    assert_int_equal(replace(0, IMAGE_BYTES, checksum), MANAGER_DONE);
    assert_int_equal(orders.orders[2].number, 0);
}

static void a_partition_without_an_image_at_its_entry_gets_none(void **state)
{
    (void)state;
    description.partitions[0].images[0].guest = ENTRY - 0x1000;
    assert_int_equal(replace(0, IMAGE_BYTES, 0), MANAGER_BAD_IMAGE);
}

static void room_ends_at_the_next_image_or_with_the_memory(void **state)
{
    struct description_partition *described = &description.partitions[0];

    (void)state;
    assert_int_equal(image_room(described), ROOM);
    described->images[1].guest = ENTRY - 0x1000;
    assert_int_equal(image_room(described), 32 * MIB - 0x80000);
}

/* Every order in every state. '.' is done, 'w' wrong state, 'b' busy, 'n' never restarts. */
static void orders_are_refused_by_state(void **state)
{
    static const struct {
        struct situation situation;
        enum partition_state state;
        const char *create_start_stop_replace_destroy_crash;
    } cases[] = {
        {{PARTITION_PRESENT, REQUEST_NONE, false, false, true}, PARTITION_STATE_RUNNING, "ww...."},
        {{PARTITION_PRESENT, REQUEST_NONE, false, false, false}, PARTITION_STATE_RUNNING, "ww.n.."},
        {{PARTITION_PRESENT, REQUEST_NONE, true, false, true}, PARTITION_STATE_BUSY, "bb.bbb"},
        {{PARTITION_PRESENT, REQUEST_STOP, false, false, true}, PARTITION_STATE_BUSY, "bb.bbb"},
        {{PARTITION_PRESENT, REQUEST_RESET, true, false, true}, PARTITION_STATE_BUSY, "bb.bbb"},
        {{PARTITION_PRESENT, REQUEST_STOPPED, false, false, true},
         PARTITION_STATE_STOPPED,
         "w.w..w"},
        {{PARTITION_PRESENT, REQUEST_STOPPED, false, false, false},
         PARTITION_STATE_STOPPED,
         "wnwn.w"},
        {{PARTITION_ENDING, REQUEST_RESET, true, false, true}, PARTITION_STATE_BUSY, "bbbbbb"},
        {{PARTITION_PRESENT, REQUEST_FAILED, false, false, true}, PARTITION_STATE_FAILED, "ww.w.w"},
        {{PARTITION_ENDING, REQUEST_FAILED, false, false, true}, PARTITION_STATE_FAILED, "wwww.w"},
        {{PARTITION_ENDING, REQUEST_RESET, false, false, true}, PARTITION_STATE_BUSY, "bbbbbb"},
        {{PARTITION_ENDING, REQUEST_STOP, true, false, true}, PARTITION_STATE_BUSY, "bbbbbb"},
        {{PARTITION_ABSENT, REQUEST_FAILED, false, false, true}, PARTITION_STATE_FAILED, "wwww.w"},
        {{PARTITION_ABSENT, REQUEST_STOPPED, false, false, true}, PARTITION_STATE_ABSENT, ".wwwww"},
        {{PARTITION_ABSENT, REQUEST_NONE, false, false, true}, PARTITION_STATE_BUSY, "bbwbbb"},
        {{PARTITION_ABSENT, REQUEST_STOP, true, false, true}, PARTITION_STATE_BUSY, "bbwbbb"},
    };

    struct situation halted = {.is_halted = true, .may_start = true};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(order_state(&cases[i].situation), cases[i].state);
        for (uint32_t command = ORDER_CREATE; command <= ORDER_CRASH; command++) {
            enum manager_result result = order_judge(command, &cases[i].situation);
            char expected = cases[i].create_start_stop_replace_destroy_crash[command];

            assert_int_equal(expected, result == MANAGER_DONE          ? '.'
                                       : result == MANAGER_WRONG_STATE ? 'w'
                                       : result == MANAGER_BUSY        ? 'b'
                                                                       : 'n');
        }
    }
    halted.is_in_transition = true;
    assert_int_equal(order_state(&halted), PARTITION_STATE_FAILED);
    for (uint32_t command = ORDER_CREATE; command <= ORDER_CRASH; command++) {
        assert_int_equal(order_judge(command, &halted), MANAGER_NOT_ISOLATED);
    }
    assert_int_equal(order_judge(ORDER_CRASH + 1, &cases[0].situation), MANAGER_INVALID);
}

static void a_wrong_description_is_refused(void **state)
{
    struct description_manager right;
    struct description_partition *described = &description.partitions[MANAGER];

    (void)state;
    described->memories[0].physical = 0x50000000;
    described->vcpu_count = 1;
    right = (struct description_manager){
        .partition = MANAGER, .absent = 5, .staging = 0x51800000, .staging_bytes = 8 * MIB};
    description.manager = right;
    assert_null(manager_check(&description));
    described->memories[0].kept = 1;
    assert_non_null(manager_check(&description));
    described->memories[0].kept = 0;
    description.manager.partition = PARTITIONS;
    assert_non_null(manager_check(&description));
    description.manager = right;
    description.manager.absent = 1u << MANAGER;
    assert_non_null(manager_check(&description));
    description.manager.absent = 1u << PARTITIONS;
    assert_non_null(manager_check(&description));
    description.manager = right;
    description.manager.staging += 0x1000;
    assert_non_null(manager_check(&description));
    description.manager.staging = 0x50000000 - 0x1000;
    assert_non_null(manager_check(&description));
    description.manager.staging = 0x51000800;
    assert_non_null(manager_check(&description));
    description.manager = right;
    description.manager.staging_bytes = UINT64_MAX - 0xfff;
    assert_non_null(manager_check(&description));
    description.manager = right;
    described->vcpus[0].shared = 1;
    assert_non_null(manager_check(&description));
}

static uint64_t random_number(void)
{
    static uint64_t seed = 1;

    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return seed >> 33;
}

static uint64_t random_argument(void)
{
    switch (random_number() % 4) {
    case 0:
        return random_number() % 4;
    case 1:
        return random_number() << 33 | random_number();
    case 2:
        return (random_number() % 9 * 4096) << 32 | random_number() % (UINT64_C(2) * STAGING_BYTES);
    default:
        return UINT64_C(1) << random_number() % 64;
    }
}

/* The sanitizers see each access outside of staging. */
static void random_calls_reach_nothing_else(void **state)
{
    uint32_t orders_given = 0, messages = 0;

    (void)state;
    for (uint32_t i = 0; i < RANDOM_CALLS; i++) {
        uint32_t partition = (uint32_t)(random_number() % PARTITIONS);

        (void)call(CALL_PARTITION_STATUS + (uint32_t)(random_number() % 8), random_argument(),
                   random_argument(), random_argument());
        partitions[partition].boot_vcpu.management.answered = orders.orders[partition].number;
        staging[random_number() % 64] ^= (uint8_t)(random_number() % 8 == 0);
        put_image(0x80000, random_number() % 2 == 0 ? ROOM : random_argument());
    }
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        orders_given += orders.orders[i].number;
        messages += called[i + 4];
    }
    assert_int_equal(orders.orders[MANAGER].number, 0);
    assert_int_equal(orders_given, messages);
    assert_true(orders_given > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(checksum_is_that_of_the_standard, setup),
        cmocka_unit_test_setup(only_the_boot_vcpu_of_the_manager_may_call, setup),
        cmocka_unit_test_setup(an_order_goes_to_another_partition, setup),
        cmocka_unit_test_setup(a_refused_order_is_not_sent, setup),
        cmocka_unit_test_setup(status_has_the_last_result, setup),
        cmocka_unit_test_setup(status_tells_a_failed_stop, setup),
        cmocka_unit_test_setup(a_halted_core_is_told, setup),
        cmocka_unit_test_setup(image_is_told, setup),
        cmocka_unit_test_setup(log_is_read, setup),
        cmocka_unit_test_setup(status_has_the_number_of_errors, setup),
        cmocka_unit_test_setup(an_image_is_checked_before_the_order, setup),
        cmocka_unit_test_setup(an_image_may_have_data_behind_its_size, setup),
        cmocka_unit_test_setup(a_call_for_another_image_begins_a_new_check, setup),
        cmocka_unit_test_setup(a_partition_without_an_image_at_its_entry_gets_none, setup),
        cmocka_unit_test_setup(room_ends_at_the_next_image_or_with_the_memory, setup),
        cmocka_unit_test_setup(orders_are_refused_by_state, setup),
        cmocka_unit_test_setup(a_wrong_description_is_refused, setup),
        cmocka_unit_test_setup(random_calls_reach_nothing_else, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
