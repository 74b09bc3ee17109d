/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of VCPUs that tools outside of the guest read (kernel/vcpu_report.h). */
#include "kernel/periodic.h"
#include "kernel/report.h"
#include "kernel/vcpu.h"
#include "kernel/vcpu_report.h"
#include "kernel_fixture.h"
#include <string.h>

/* Returns the table as a tool finds it. */
static const struct vcpu_report *published(void)
{
    const struct report *report = &report_directory.reports[0];

    CHECK_EQUAL(report_directory.count, 1);
    CHECK_EQUAL(report->kind, REPORT_VCPUS);
    CHECK_EQUAL(report->version, VCPU_REPORT_VERSION);
    CHECK_EQUAL(report->bytes, sizeof(struct vcpu_report));
    return (const struct vcpu_report *)(uintptr_t)report->address;
}

static void spin(void *argument)
{
    (void)argument;
    for (;;) {
        host_clock_advance(1);
    }
}

/* Checks that the first record has the numbers of vcpu_statistics(). */
static void check_counters(const struct vcpu_report *report)
{
    const struct vcpu_record *record = &report->records[0];
    struct vcpu_statistics statistics;

    CHECK_EQUAL(vcpu_statistics(&statistics, 1), 2);
    CHECK_EQUAL(report->accounted_until - record->since, statistics.age_nanoseconds);
    CHECK_EQUAL(record->received, statistics.received_nanoseconds);
    CHECK_EQUAL(record->background, statistics.background_nanoseconds);
    CHECK_EQUAL(record->exhaustions, statistics.exhaustions);
    CHECK_EQUAL(record->response_max, statistics.response_nanoseconds_max);
    CHECK_EQUAL(record->deadline_misses, statistics.deadline_misses);
}

static void init_records(void)
{
    struct vcpu_param spinner = {.policy = SCHED_SPORADIC, .C = 30, .T = 100, .name = "spinner"};
    struct vcpu_param io = {.policy = SCHED_PIBS, .C = 7, .T = 100};

    CHECK_EQUAL(vcpu_create(&spinner), 1);
    CHECK_EQUAL(vcpu_create(&io), 2);
    const struct vcpu_report *report = published();
    const struct vcpu_record *record = report->records;

    CHECK_EQUAL(report->frequency, NANOSECONDS_PER_SECOND);
    CHECK_EQUAL(report->record_count, VCPU_MAX);
    CHECK_EQUAL(report->record_bytes, sizeof(struct vcpu_record));
    CHECK_EQUAL(record[0].kind, VCPU_RECORD_MAIN);
    CHECK_EQUAL(record[1].kind, VCPU_RECORD_IO);
    CHECK_EQUAL(record[2].kind, VCPU_RECORD_FREE);
    CHECK(strcmp(record[0].name, "spinner") == 0);
    CHECK_EQUAL(record[0].budget, 30);
    CHECK_EQUAL(record[0].period, 100);
    CHECK_EQUAL(record[0].sequence, 2);

    struct thread *thread = start("spinner", 5, spin, NULL);

    CHECK_EQUAL(vcpu_bind_thread(thread, 1), 0);
    thread_sleep_until(950);
    check_counters(report);
    CHECK_EQUAL(record[0].received, 300);
    CHECK_EQUAL(record[0].background, 650);
    CHECK_EQUAL(record[0].exhaustions, 10);
    CHECK_EQUAL(record[0].deadline_misses, 0);

    spinner = (struct vcpu_param){.id = 1, .policy = SCHED_SPORADIC, .C = 20, .T = 50};
    CHECK_EQUAL(vcpu_setparam(&spinner), 0);
    CHECK_EQUAL(record[0].sequence, 4);
    CHECK_EQUAL(record[0].since, report->accounted_until);
    CHECK_EQUAL(record[0].budget, 20);
    CHECK_EQUAL(record[0].received + record[0].background, 0);
    CHECK_EQUAL(record[0].name[0], '\0');

    CHECK_EQUAL(vcpu_destroy(1, true), 0);
    CHECK_EQUAL(record[0].kind, VCPU_RECORD_FREE);
    CHECK_EQUAL(record[0].sequence, 6);
    CHECK_EQUAL(vcpu_create(&io), 1);
    CHECK_EQUAL(record[0].sequence, 8);
    CHECK_EQUAL(record[0].kind, VCPU_RECORD_IO);
}

/* The first job ends 50 after its deadline. The second begins at once. */
static void work(void *argument)
{
    const struct periodic_attributes attributes = {.period = 100, .first = 1000};
    struct periodic periodic;

    (void)argument;
    CHECK_EQUAL(vcpu_bind_task(1), 0);
    CHECK_EQUAL(periodic_start(&periodic, &attributes), RESULT_OK);
    CHECK_EQUAL(periodic_wait(&periodic), 1000);
    host_clock_advance(150);
    CHECK_EQUAL(periodic_wait(&periodic), 1100);
    host_clock_advance(20);
    periodic_stop(&periodic);
}

static void init_late(void)
{
    struct vcpu_param param = {.policy = SCHED_SPORADIC, .C = 30, .T = 100};

    CHECK_EQUAL(vcpu_create(&param), 1);
    struct thread *thread = start("late", 5, work, NULL);

    CHECK_EQUAL(thread_join(thread, DEADLINE_NONE), RESULT_OK);
    const struct vcpu_record *record = published()->records;

    CHECK_EQUAL(record->deadline_misses, 1);
    CHECK_EQUAL(record->response_max, 30); /* the job takes more than a budget */
    CHECK_EQUAL(record->received + record->background, 170);
}

static void test_late(void **state)
{
    (void)state;
    kernel_run(init_late);
}

static void test_records(void **state)
{
    (void)state;
    kernel_run(init_records);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_late),
    };

    return cmocka_run_group_tests_name("vcpu_report", tests, NULL, NULL);
}
