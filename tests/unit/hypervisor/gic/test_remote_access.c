/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the words by which VCPUs of a partition ask each other to access their private interrupts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gic/remote_access.h"

static const struct access accesses[] = {
    {.offset = 0, .bytes = 4},
    {.offset = 0xffff, .bytes = 1},
    {.offset = 0x404, .value = UINT32_MAX, .bytes = 4, .write = true},
    {.offset = 0x100, .value = 0, .bytes = 1, .write = true},
};

#define COUNT (sizeof(accesses) / sizeof(accesses[0]))

static void test_a_request_keeps_the_access(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        struct access found = remote_access(remote_request(15, &accesses[i]));

        assert_int_equal(found.offset, accesses[i].offset);
        assert_int_equal(found.value, accesses[i].value);
        assert_int_equal(found.bytes, accesses[i].bytes);
        assert_int_equal(found.write, accesses[i].write);
    }
}

static void test_a_request_is_for_one_vcpu(void **state)
{
    uint64_t request = remote_request(3, &accesses[0]);

    (void)state;
    for (uint32_t vcpu = 0; vcpu < DESCRIPTION_VCPUS_MAX; vcpu++) {
        assert_int_equal(remote_is_for(request, vcpu), vcpu == 3);
        assert_false(remote_is_for(0, vcpu));
        assert_false(remote_is_for(remote_answer(request, &accesses[0]), vcpu));
    }
}

static void test_a_read_gets_the_value(void **state)
{
    struct access done = accesses[0];
    uint64_t request = remote_request(3, &accesses[0]), answer;

    (void)state;
    done.value = 0x12345678;
    answer = remote_answer(request, &done);
    assert_true(remote_is_answer(answer, request));
    assert_int_equal(answer & REMOTE_VALUE, 0x12345678);
}

/* A guest may leave a repeated instruction for an interrupt, and make another access. */
static void test_an_answer_is_to_one_request(void **state)
{
    struct access other = accesses[2];

    (void)state;
    other.value--;
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t answer = remote_answer(remote_request(3, &accesses[i]), &accesses[i]);

        for (size_t j = 0; j < COUNT; j++) {
            assert_int_equal(remote_is_answer(answer, remote_request(3, &accesses[j])), i == j);
        }
        assert_false(remote_is_answer(answer, remote_request(4, &accesses[i])));
        assert_false(remote_is_answer(answer, remote_request(3, &other)));
        assert_false(
            remote_is_answer(remote_request(3, &accesses[i]), remote_request(3, &accesses[i])));
    }
    assert_false(remote_is_answer(0, remote_request(0, &accesses[0])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_request_keeps_the_access),
        cmocka_unit_test(test_a_request_is_for_one_vcpu),
        cmocka_unit_test(test_a_read_gets_the_value),
        cmocka_unit_test(test_an_answer_is_to_one_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
