/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests hypervisor/health: the action of each error, what is recorded, and how often a partition
 * may restart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "health/account.h"
#include "health/health.h"
#include "health/log.h"
#include "health/state.h"
#include <string.h>

#define HZ        1000000u /* a tick is a microsecond */
#define MS        UINT64_C(1000)
#define WINDOW_MS 60000u
#define CORE      3u

static struct description_partition described;
/* The page of the partition, and that of its health. */
static _Alignas(4096) uint8_t pages[2 * 4096];
static struct vcpu vcpu;
static uint64_t now;

uint64_t fake_register(const char *name)
{
    return strcmp(name, "cntfrq_el0") == 0 ? HZ : now;
}

static struct partition *partition(void)
{
    return (struct partition *)(uintptr_t)pages;
}

static const struct health *health(void)
{
    return health_of(partition());
}

static int setup(void **state)
{
    (void)state;
    memset(pages, 0, sizeof(pages));
    memset(&described, 0, sizeof(described));
    described.health.is_monitored = 1;
    described.health.restarts = 3;
    described.health.window = WINDOW_MS;
    partition()->constant.described = &described;
    vcpu = (struct vcpu){.partition = partition(), .processor = CORE};
    now = 1000;
    return 0;
}

static enum health_action raise_error(enum health_error error, uint64_t address)
{
    const struct health_event event = {
        .error = error, .source = CORE, .address = address, .syndrome = 0x93000046, .pc = 0x4020};

    return health_raise(&vcpu, &event);
}

static const struct health_record *record(uint64_t number)
{
    const struct health_record *found = &health()->log.records[(number - 1) % HEALTH_LOG_RECORDS];

    assert_int_equal(found->number, number);
    return found;
}

static void each_error_has_its_action(void **state)
{
    static const enum health_action actions[HEALTH_TABLE_ERRORS] = {
        HEALTH_ACTION_RESTART, HEALTH_ACTION_LOG,  HEALTH_ACTION_STOP,   HEALTH_ACTION_IGNORE,
        HEALTH_ACTION_LOG,     HEALTH_ACTION_STOP, HEALTH_ACTION_RESTART};
    uint64_t number = 0;

    (void)state;
    for (uint32_t error = 0; error < HEALTH_TABLE_ERRORS; error++) {
        described.health.actions[error] = (uint8_t)actions[error];
    }
    for (uint32_t error = 0; error < HEALTH_TABLE_ERRORS; error++) {
        now += 10;
        assert_int_equal(raise_error((enum health_error)error, 0x40000000 + error), actions[error]);
        if (actions[error] == HEALTH_ACTION_IGNORE) {
            continue;
        }
        number++;
        assert_int_equal(record(number)->error, error);
        assert_int_equal(record(number)->action, actions[error]);
        assert_int_equal(record(number)->time, now);
        assert_int_equal(record(number)->address, 0x40000000 + error);
        assert_int_equal(record(number)->syndrome, 0x93000046);
        assert_int_equal(record(number)->pc, 0x4020);
        assert_int_equal(record(number)->source, CORE);
    }
    assert_int_equal(health()->log.written, HEALTH_TABLE_ERRORS - 1);
    assert_int_equal(health()->errors, HEALTH_TABLE_ERRORS);
}

/* Of a partition that is being stopped nothing else follows. */
static void later_errors_are_only_recorded(void **state)
{
    (void)state;
    described.health.actions[HEALTH_ERROR_SERROR] = HEALTH_ACTION_RESTART;
    partition()->atomic.request = REQUEST_RECOVER;
    assert_int_equal(raise_error(HEALTH_ERROR_SERROR, 0), HEALTH_ACTION_RESTART);
    assert_int_equal(record(1)->action, HEALTH_ACTION_LOG);
    partition()->atomic.request = REQUEST_STOPPED;
    assert_int_equal(raise_error(HEALTH_ERROR_REFUSED_DMA, 0), HEALTH_ACTION_STOP);
    assert_int_equal(record(2)->action, HEALTH_ACTION_LOG);
}

static void partition_without_a_table_stops(void **state)
{
    (void)state;
    memset(&described.health, 0, sizeof(described.health));
    assert_int_equal(raise_error(HEALTH_ERROR_MEMORY_VIOLATION, 0), HEALTH_ACTION_STOP);
    assert_false(health_has_to_wait(partition()));
    health_begin_account(partition());
    for (size_t i = 4096; i < sizeof(pages); i++) {
        assert_int_equal(pages[i], 0);
    }
}

static void old_records_are_overwritten(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 3 * HEALTH_LOG_RECORDS + 5; i++) {
        (void)raise_error(HEALTH_ERROR_PANIC, i);
        assert_int_equal(health()->log.written, i);
        for (uint64_t n = i > HEALTH_LOG_RECORDS ? i - HEALTH_LOG_RECORDS + 1 : 1; n <= i; n++) {
            assert_int_equal(record(n)->address, n);
        }
    }
}

static void records_are_read_by_number(void **state)
{
    struct health_record found = {.number = 0};

    (void)state;
    assert_false(health_read(partition(), 0, &found));
    for (uint64_t i = 1; i <= 5; i++) {
        (void)raise_error(HEALTH_ERROR_PANIC, i);
    }
    assert_true(health_read(partition(), 0, &found));
    assert_int_equal(found.number, 1);
    assert_true(health_read(partition(), 5, &found));
    assert_int_equal(found.address, 5);
    assert_false(health_read(partition(), 6, &found));
    assert_false(health_read(partition(), UINT64_MAX, &found));
    for (uint64_t i = 6; i <= HEALTH_LOG_RECORDS + 10; i++) {
        (void)raise_error(HEALTH_ERROR_PANIC, i);
    }
    /* Record 11 has the place of the next one, which may be being written. */
    assert_true(health_read(partition(), 3, &found));
    assert_int_equal(found.number, 12);
    assert_int_equal(found.address, 12);
    assert_int_equal(health_errors(partition()), HEALTH_LOG_RECORDS + 10);
    described.health.is_monitored = 0;
    assert_false(health_read(partition(), 12, &found));
    assert_int_equal(health_errors(partition()), 0);
}

static void restarts_are_used_up(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        now += 1000 * MS;
        assert_true(health_admit_restart(&vcpu));
    }
    assert_int_equal(health()->log.written, 0);
    now += 1000 * MS;
    assert_false(health_admit_restart(&vcpu));
    assert_int_equal(record(1)->error, HEALTH_ERROR_RESTARTS);
    assert_int_equal(record(1)->action, HEALTH_ACTION_STOP);
    assert_int_equal(record(1)->syndrome, 3);
    assert_int_equal(record(1)->source, CORE);
    health_begin_account(partition());
    assert_true(health_admit_restart(&vcpu));
    assert_false(health_has_to_wait(partition()));
}

static void second_restart_waits(void **state)
{
    (void)state;
    assert_true(health_admit_restart(&vcpu));
    assert_false(health_has_to_wait(partition()));
    assert_true(health_admit_restart(&vcpu));
    assert_true(health_has_to_wait(partition()));
    now += 10 * MS - 1;
    assert_true(health_has_to_wait(partition()));
    now++;
    assert_false(health_has_to_wait(partition()));
    assert_true(health_admit_restart(&vcpu));
    assert_true(health_has_to_wait(partition()));
    health_begin_account(partition()); /* an order */
    assert_false(health_has_to_wait(partition()));
}

static void waits_double_up_to_a_second(void **state)
{
    static const uint64_t waits[] = {0, 10, 20, 40, 80, 160, 320, 640, 1000, 1000};
    const struct restart_limit limit = {DESCRIPTION_RESTARTS_MAX, 60000 * MS, HZ};
    struct restart_account account = {.next = 0};

    (void)state;
    for (unsigned i = 0; i < DESCRIPTION_RESTARTS_MAX; i++) {
        now += MS;
        assert_true(account_admit(&account, &limit, now));
        assert_int_equal(account.earliest - now, waits[i < 10 ? i : 9] * MS);
    }
    assert_false(account_admit(&account, &limit, now));
}

/* Restarts count until the window has passed, each by itself, and the wait becomes shorter. */
static void window_slides(void **state)
{
    const struct restart_limit limit = {2, 100 * MS, HZ};
    struct restart_account account = {.next = 0};

    (void)state;
    now = 0; /* a restart at 0 counts, too */
    assert_true(account_admit(&account, &limit, now));
    now = 50 * MS;
    assert_true(account_admit(&account, &limit, now));
    now = 100 * MS;
    assert_false(account_admit(&account, &limit, now));
    now = 100 * MS + 1;
    assert_true(account_admit(&account, &limit, now));
    assert_int_equal(account.earliest - now, 10 * MS);
    now = 150 * MS - 1;
    assert_false(account_admit(&account, &limit, now));
    now = 150 * MS;
    assert_true(account_admit(&account, &limit, now));
    now = 1000 * MS;
    assert_true(account_admit(&account, &limit, now));
    assert_int_equal(account.earliest, now);
}

/* Compares with a list of all restarts. */
static void random_restarts(void **state)
{
    enum { COUNT = 20000 };
    static uint64_t times[COUNT];
    uint32_t random = 1;

    (void)state;
    for (uint32_t most = 1; most <= DESCRIPTION_RESTARTS_MAX; most++) {
        const struct restart_limit limit = {most, 1000, HZ};
        struct restart_account account = {.next = 0};
        uint32_t count = 0;

        now = 1;
        for (unsigned i = 0; i < COUNT / 10; i++) {
            uint32_t before = 0;

            random = random * 1664525 + 1013904223;
            now += (random >> 16) % (2 * 1000 / most);
            for (uint32_t k = 0; k < count; k++) {
                before += now - times[k] < limit.window;
            }
            assert_int_equal(account_admit(&account, &limit, now), before < most);
            if (before < most) {
                times[count++] = now;
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_error_has_its_action, setup),
        cmocka_unit_test_setup(later_errors_are_only_recorded, setup),
        cmocka_unit_test_setup(partition_without_a_table_stops, setup),
        cmocka_unit_test_setup(old_records_are_overwritten, setup),
        cmocka_unit_test_setup(records_are_read_by_number, setup),
        cmocka_unit_test_setup(restarts_are_used_up, setup),
        cmocka_unit_test_setup(second_restart_waits, setup),
        cmocka_unit_test_setup(waits_double_up_to_a_second, setup),
        cmocka_unit_test_setup(window_slides, setup),
        cmocka_unit_test_setup(random_restarts, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
