/* SPDX-License-Identifier: BSD-2-Clause */
/* The boot argument `vcpus`: its meaning, every error with its position, and damaged texts. */
#include "boot/vcpu_arguments.h"
#include "kernel_fixture.h"
#include "vcpu_text.h"
#include <stdio.h>
#include <string.h>

static struct vcpu_arguments arguments;
static struct vcpu_argument_error error;

static void accept(const char *text)
{
    if (!vcpu_arguments_parse(&arguments, text, &error)) {
        fail_msg("%s is refused at %zu: %s", text, error.position, error.what);
    }
}

static void refuse(const char *text, size_t position, const char *what)
{
    assert_false(vcpu_arguments_parse(&arguments, text, &error));
    assert_string_equal(error.what, what);
    assert_int_equal(error.position, position);
    assert_int_equal(arguments.vcpu_count, 0);
}

/* Checks the name of the VCPU for a thread; "" means none. */
static void assert_vcpu_of(const char *thread, const char *expected)
{
    const struct vcpu_argument *vcpu = vcpu_arguments_find(&arguments, thread);

    assert_string_equal(vcpu == NULL ? "" : vcpu->name, expected);
}

static void test_a_set(void **state)
{
    (void)state;
    accept("control:main:1ms/10ms,net:io:10us/100us:net-bottom-half+network,"
           "apps:main:20ns/1s:init+*");
    assert_int_equal(arguments.vcpu_count, 3);
    assert_string_equal(arguments.vcpus[0].name, "control");
    assert_int_equal(arguments.vcpus[0].policy, SCHED_SPORADIC);
    assert_int_equal(arguments.vcpus[0].budget, 1000000);
    assert_int_equal(arguments.vcpus[0].period, 10000000);
    assert_int_equal(arguments.vcpus[1].policy, SCHED_PIBS);
    assert_int_equal(arguments.vcpus[1].budget, 10000);
    assert_int_equal(arguments.vcpus[1].period, 100000);
    assert_int_equal(arguments.vcpus[2].budget, 20);
    assert_int_equal(arguments.vcpus[2].period, 1000000000);
    assert_vcpu_of("control", "control");
    assert_vcpu_of("net-bottom-half", "net");
    assert_vcpu_of("network", "net");
    assert_vcpu_of("init", "apps");
    assert_vcpu_of("net", "apps");
    assert_vcpu_of("", "apps");
}

static void test_blocking(void **state)
{
    (void)state;
    accept("a:main:1ms/10ms/20us:init,b:main:1ms/10ms/10ms,c:io:1ms/10ms");
    assert_int_equal(arguments.vcpus[0].blocking, 20000);
    assert_int_equal(arguments.vcpus[1].blocking, 10000000);
    assert_int_equal(arguments.vcpus[2].blocking, 0);
    assert_vcpu_of("init", "a");
    refuse("a:io:1ms/10ms/", 15, "a time is missing");
    refuse("a:io:1ms/10ms/0s", 15, "the time is 0");
    refuse("a:io:1ms/10ms/5", 16, "the unit ns, us, ms or s is missing");
    refuse("a:io:1ms/10ms/11ms", 15, "the blocking is above the period");
    refuse("a:io:1ms/10ms/1ms/1ms", 18, "a comma is missing");
}

static void test_without_a_vcpu_for_all_others(void **state)
{
    (void)state;
    accept("a:main:1ns/1ns,b:io:1s/1s:c");
    assert_vcpu_of("a", "a");
    assert_vcpu_of("b", "");
    assert_vcpu_of("c", "b");
    assert_vcpu_of("cc", "");
}

static void test_longest_names_and_times(void **state)
{
    (void)state;
    accept("fifteen_letters:main:1ns/18446744073709551615ns,a:io:18446744073s/18446744073s:-._9Zz");
    assert_string_equal(arguments.vcpus[0].name, "fifteen_letters");
    assert_int_equal(arguments.vcpus[0].period, UINT64_MAX);
    assert_int_equal(arguments.vcpus[1].budget, UINT64_C(18446744073000000000));
    assert_vcpu_of("-._9Zz", "a");
}

static void test_syntax_errors(void **state)
{
    static const char no_name[] = "a name of letters, digits, - _ and . is missing";
    static const char no_policy[] = "the policy main or io is missing";
    static const char no_unit[] = "the unit ns, us, ms or s is missing";

    (void)state;
    refuse("", 1, no_name);
    refuse(":main:1ms/10ms", 1, no_name);
    refuse("*:main:1ms/10ms", 1, no_name);
    refuse("a b:main:1ms/10ms", 2, ": is missing");
    refuse("a", 2, ": is missing");
    refuse("a:", 3, no_policy);
    refuse("a:Main:1ms/10ms", 3, no_policy);
    refuse("a:mai:1ms/10ms", 3, no_policy);
    refuse("a:mainly:1ms/10ms", 7, ": is missing");
    refuse("a:io", 5, ": is missing");
    refuse("a:io:", 6, "a time is missing");
    refuse("a:io:-1ms/10ms", 6, "a time is missing");
    refuse("a:io:1/10ms", 7, no_unit);
    refuse("a:io:1.5ms/10ms", 7, no_unit);
    refuse("a:io:1m/10ms", 7, no_unit);
    refuse("a:io:1ms", 9, "/ is missing between budget and period");
    refuse("a:io:1ms/", 10, "a time is missing");
    refuse("a:io:1ms/10", 12, no_unit);
    refuse("a:io:1ms/10msx", 14, "a comma is missing");
    refuse("a:io:1ms/10ms;b:io:1ms/10ms", 14, "a comma is missing");
    refuse("a:io:1ms/10ms:", 15, no_name);
    refuse("a:io:1ms/10ms:b+", 17, no_name);
    refuse("a:io:1ms/10ms:b++c", 17, no_name);
    refuse("a:io:1ms/10ms:b:c", 16, "a comma is missing");
    refuse("a:io:1ms/10ms:b*", 16, "a comma is missing");
    refuse("a:io:1ms/10ms,", 15, no_name);
}

static void test_times_out_of_range(void **state)
{
    (void)state;
    refuse("a:io:0ms/10ms", 6, "the time is 0");
    refuse("a:io:1ms/000s", 10, "the time is 0");
    refuse("a:io:11ms/10ms", 6, "the budget is above the period");
    refuse("a:io:1ms/18446744073709551616ns", 10, "the time is too long");
    refuse("a:io:1ms/20000000000000000000ns", 10, "the time is too long");
    refuse("a:io:1ms/18446744074s", 10, "the time is too long");
    refuse("a:io:1ms/99999999999999999999s", 10, "the time is too long");
}

static void test_names_given_twice(void **state)
{
    static const char thread_twice[] = "another VCPU has this thread, or this one has it twice";
    static const char others_twice[] = "another VCPU has *, or this one has it twice";

    (void)state;
    refuse("a:io:1ms/10ms,a:io:1ms/10ms:b", 15, "another VCPU has this name");
    refuse("a:io:1ms/10ms,b:io:1ms/10ms:a", 29, thread_twice);
    refuse("a:io:1ms/10ms:b,b:io:1ms/10ms", 17, thread_twice);
    refuse("a:io:1ms/10ms:b+b", 17, thread_twice);
    refuse("a:io:1ms/10ms:*+*", 17, others_twice);
    refuse("a:io:1ms/10ms:*,b:io:1ms/10ms:c+*", 33, others_twice);
    refuse("sixteen_letters_:io:1ms/10ms", 16, "the name is too long");
    refuse("a:io:1ms/10ms:sixteen_letters_", 30, "the name is too long");
}

static void append(char *text, size_t capacity, const char *format, unsigned number)
{
    size_t used = strlen(text);

    (void)snprintf(text + used, capacity - used, format, number);
}

static void test_most_vcpus(void **state)
{
    char text[VCPU_ARGUMENTS_TEXT_BYTES] = "v:io:1ms/10ms";

    (void)state;
    for (unsigned i = 1; i < VCPU_MAX; i++) {
        append(text, sizeof(text), ",v%u:io:1ms/10ms", i);
    }
    accept(text);
    assert_int_equal(arguments.vcpu_count, VCPU_MAX);
    assert_vcpu_of("v31", "v31");
    size_t length = strlen(text);

    append(text, sizeof(text), ",v%u:io:1ms/10ms", VCPU_MAX);
    refuse(text, length + 2, "there are too many VCPUs");
}

static void test_most_threads(void **state)
{
    char text[VCPU_ARGUMENTS_TEXT_BYTES] = "v:io:1ms/10ms:*";

    (void)state;
    for (unsigned i = 0; i < VCPU_ARGUMENTS_THREADS_MAX; i++) {
        append(text, sizeof(text), "+t%u", i);
    }
    accept(text);
    assert_int_equal(arguments.thread_count, VCPU_ARGUMENTS_THREADS_MAX);
    size_t length = strlen(text);

    append(text, sizeof(text), "+t%u", VCPU_ARGUMENTS_THREADS_MAX);
    refuse(text, length + 2, "there are too many threads");
}

/* A text as long as the room for it may be the start of a longer one. */
static void test_text_that_may_be_cut(void **state)
{
    char text[VCPU_ARGUMENTS_TEXT_BYTES];
    int zeros = (int)sizeof(text) - 2 - (int)strlen("v:io:1ms/1ms");

    (void)state;
    (void)snprintf(text, sizeof(text), "v:io:1ms/%0*dms", zeros + 1, 1);
    assert_int_equal(strlen(text), sizeof(text) - 2);
    accept(text);
    (void)snprintf(text, sizeof(text), "v:io:1ms/%0*dms", zeros + 2, 1);
    refuse(text, sizeof(text) - 1, "the text is too long");
}

static void damage(uint64_t *seed, char *text, size_t capacity)
{
    static const char characters[] = "aio0159nums:/,+*-_. \t\x7f\x80";
    size_t length = strlen(text);
    size_t at = (size_t)random_below(seed, length + 1);
    size_t from = (size_t)random_below(seed, length + 1);

    switch (random_below(seed, 4)) {
    case 0:
        text[at] = at == length ? 0 : characters[random_below(seed, sizeof(characters))];
        break;
    case 1:
        memmove(text + at, text + (at > from ? at : from), length + 1 - (at > from ? at : from));
        break;
    case 2:
        text[at] = 0;
        break;
    default:
        if (2 * length + 1 < capacity) { /* repeats the end at another place */
            char copy[VCPU_ARGUMENTS_TEXT_BYTES];

            memcpy(copy, text + from, length + 1 - from);
            memcpy(text + at, copy, length + 1 - from);
        }
        break;
    }
}

static void test_damaged_texts(void **state)
{
    static const char *const whole[] = {
        "control:main:1ms/10ms,net:io:10ms/100ms:virtio-net+tcpip,apps:main:20ms/100ms:*",
        "a:io:1s/1s,b:main:1us/2us:c+d+*,e:io:3ns/4ns:f",
    };
    uint64_t seed = 1;
    unsigned accepted = 0;

    (void)state;
    for (unsigned run = 0; run < 200000; run++) {
        char text[VCPU_ARGUMENTS_TEXT_BYTES];

        (void)snprintf(text, sizeof(text), "%s", whole[run % 2]);
        for (uint64_t changes = 1 + random_below(&seed, 3); changes > 0; changes--) {
            damage(&seed, text, sizeof(text));
        }
        accepted += vcpu_text_check(text) ? 1 : 0;
    }
    assert_in_range(accepted, 10000, 190000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_set),
        cmocka_unit_test(test_blocking),
        cmocka_unit_test(test_without_a_vcpu_for_all_others),
        cmocka_unit_test(test_longest_names_and_times),
        cmocka_unit_test(test_syntax_errors),
        cmocka_unit_test(test_times_out_of_range),
        cmocka_unit_test(test_names_given_twice),
        cmocka_unit_test(test_most_vcpus),
        cmocka_unit_test(test_most_threads),
        cmocka_unit_test(test_text_that_may_be_cut),
        cmocka_unit_test(test_damaged_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
