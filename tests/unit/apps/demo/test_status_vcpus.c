/* SPDX-License-Identifier: BSD-2-Clause */
/* The VCPUs of the demo's status as JSON. */
#include "kernel/memory.h"
#include "kernel/vcpu.h"
#include "status_vcpus.h"
#include <setjmp.h>
#include <stdarg.h>

#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct vcpu_statistics vcpus[VCPU_MAX];
static size_t vcpu_count;
static uint64_t unpaid;
static bool memory_is_exhausted;
static unsigned blocks; /* allocated and not yet freed */
static char text[2 * STATUS_VCPUS_BYTES];

void *heap_allocate(size_t bytes)
{
    if (memory_is_exhausted) {
        return NULL;
    }
    blocks++;
    return malloc(bytes);
}

void heap_free(void *memory)
{
    blocks -= memory == NULL ? 0u : 1u;
    free(memory);
}

size_t vcpu_statistics(struct vcpu_statistics *statistics, size_t capacity)
{
    size_t written = vcpu_count < capacity ? vcpu_count : capacity;

    if (written > 0) {
        memcpy(statistics, vcpus, written * sizeof(*vcpus));
    }
    return vcpu_count;
}

uint64_t vcpu_unpaid_nanoseconds(void)
{
    return unpaid;
}

static const char *status(size_t count)
{
    struct json json;

    vcpu_count = count;
    json_init(&json, text, sizeof(text) - 1);
    json_object(&json, NULL);
    status_write_vcpus(&json);
    json_end_object(&json);
    assert_false(json.overflow);
    assert_int_equal(blocks, 0);
    text[json.length] = '\0';
    return text;
}

static unsigned count_listed(const char *listed)
{
    unsigned count = 0;

    for (listed = strstr(listed, "\"id\":"); listed != NULL;
         listed = strstr(listed + 1, "\"id\":")) {
        count++;
    }
    return count;
}

static void test_members(void **state)
{
    (void)state;
    vcpus[0] = (struct vcpu_statistics){
        .param = {.id = 1, .policy = SCHED_PIBS, .C = 2, .T = 3, .name = "net"},
        .age_nanoseconds = 4,
        .received_nanoseconds = 5,
        .background_nanoseconds = 6,
        .exhaustions = 7,
        .deadline_misses = 8,
        .response_nanoseconds_max = 9,
        .blocking_nanoseconds_max = 10,
        .threads = 11,
    };
    vcpus[1] = (struct vcpu_statistics){.param = {.id = 4, .policy = SCHED_SPORADIC, .name = "\""}};
    unpaid = 12;
    assert_string_equal(status(2),
                        "{\"vcpu_count\":2,\"vcpu_unpaid_ns\":12,"
                        "\"vcpus\":[{\"id\":1,\"name\":\"net\",\"policy\":\"io\","
                        "\"budget_ns\":2,\"period_ns\":3,\"age_ns\":4,\"received_ns\":5,"
                        "\"background_ns\":6,\"exhaustions\":7,\"deadline_misses\":8,"
                        "\"response_max_ns\":9,\"blocking_max_ns\":10,\"threads\":11},"
                        "{\"id\":4,\"name\":\"\\\"\",\"policy\":\"main\",\"budget_ns\":0,"
                        "\"period_ns\":0,\"age_ns\":0,\"received_ns\":0,\"background_ns\":0,"
                        "\"exhaustions\":0,\"deadline_misses\":0,\"response_max_ns\":0,"
                        "\"blocking_max_ns\":0,\"threads\":0}]}");
}

static void test_none(void **state)
{
    (void)state;
    unpaid = 0;
    assert_string_equal(status(0), "{\"vcpu_count\":0,\"vcpu_unpaid_ns\":0,\"vcpus\":[]}");
}

static void test_no_memory(void **state)
{
    (void)state;
    memory_is_exhausted = true;
    assert_string_equal(status(3), "{\"vcpu_count\":3,\"vcpu_unpaid_ns\":0,\"vcpus\":[]}");
    memory_is_exhausted = false;
}

/* The promised room suffices for the longest text, and more VCPUs are counted only. */
static void test_longest(void **state)
{
    (void)state;
    unpaid = UINT64_MAX;
    for (unsigned i = 0; i < VCPU_MAX; i++) {
        vcpus[i] = (struct vcpu_statistics){
            .param = {.id = VCPU_MAX, .C = UINT64_MAX, .T = UINT64_MAX},
            .age_nanoseconds = UINT64_MAX,
            .received_nanoseconds = UINT64_MAX,
            .background_nanoseconds = UINT64_MAX,
            .exhaustions = UINT64_MAX,
            .deadline_misses = UINT64_MAX,
            .response_nanoseconds_max = UINT64_MAX,
            .blocking_nanoseconds_max = UINT64_MAX,
            .threads = 1000,
        };
        memset(vcpus[i].param.name, '\n', VCPU_NAME_BYTES - 1);
    }
    assert_int_equal(count_listed(status(VCPU_MAX)), 16);
    assert_true(strlen(text) <= STATUS_VCPUS_BYTES);
    assert_true(strlen(text) > STATUS_VCPUS_BYTES * 3 / 4);
    assert_non_null(strstr(text, "\"vcpu_count\":32,"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_longest),
    };

    return cmocka_run_group_tests_name("status_vcpus", tests, NULL, NULL);
}
