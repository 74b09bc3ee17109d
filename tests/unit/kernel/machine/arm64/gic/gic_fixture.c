/* SPDX-License-Identifier: BSD-2-Clause */
/* See gic_fixture.h. */
#include "gic_fixture.h"

#include "fake_gic.h"
#include "interrupt/controller.h"
#include "kernel/devicetree.h"
#include "tree.h"
#include <sys/wait.h>
#include <unistd.h>

void start(void)
{
    assert_int_equal(arch_interrupt_controller_init(), RESULT_OK);
    assert_int_equal(fake.started, 0xF0);
}

void assert_command(unsigned index, uint64_t zero, uint64_t one, uint64_t two)
{
    assert_true(index < fake.gic.its.command_count);
    assert_int_equal(fake.gic.its.commands[index][0], zero);
    assert_int_equal(fake.gic.its.commands[index][1], one);
    assert_int_equal(fake.gic.its.commands[index][2], two);
}

uint32_t allocate(uint32_t device, uint32_t event)
{
    struct interrupt_message message;
    uint32_t number;

    assert_int_equal(arch_interrupt_message_allocate(device, event, &number, &message), RESULT_OK);
    assert_int_equal(message.address, 0x08090040);
    assert_int_equal(message.data, event);
    return number;
}

void refuse(uint32_t device, uint32_t event, enum result expected)
{
    struct interrupt_message message;
    uint32_t number;

    assert_int_equal(arch_interrupt_message_allocate(device, event, &number, &message), expected);
}

uint8_t configuration_of(uint32_t number)
{
    const uint8_t *table =
        (const uint8_t *)(uintptr_t)(fake_own()->configuration_table & 0xFFFFFFFFFF000);

    return table[number - 8192];
}

static const char *tree_path;

int prepare(void **state)
{
    size_t bytes;

    *state = tree_load(tree_path, &bytes);
    assert_int_equal(devicetree_init(*state), RESULT_OK);
    fake_reset();
    return 0;
}

static int run_alone(const struct CMUnitTest *test)
{
    const struct CMUnitTest tests[] = {*test};
    int status;
    pid_t child;

    child = fork();
    if (child == 0) {
        _exit(cmocka_run_group_tests_name(test->name, tests, NULL, NULL));
    }
    return child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
           WEXITSTATUS(status) != 0;
}

int run_each_alone(const struct CMUnitTest *tests, unsigned number, int count, char **arguments)
{
    int failed = 0;

    if (count != 2) {
        return 2;
    }
    tree_path = arguments[1];
    for (unsigned index = 0; index < number; index++) {
        failed += run_alone(&tests[index]);
    }
    return failed;
}
