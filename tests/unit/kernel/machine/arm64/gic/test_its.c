/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests message-signalled interrupts through the ITS against a model of the hardware. */
#include "fake_gic.h"
#include "gic_fixture.h"
#include "interrupt/controller.h"
#include "kernel/devicetree.h"
#include <arch/device_access.h>
#include <devices/gic_registers.h>

#define INT   0x03u
#define CLEAR 0x04u
#define SYNC  0x05u
#define MAPD  0x08u
#define MAPC  0x09u
#define MAPTI 0x0Au
#define INV   0x0Cu

static void test_messages(void **state)
{
    unsigned before;

    (void)state;
    fake.position = 2;
    start();
    before = fake_accesses();
    assert_int_equal(arch_interrupt_message_bytes(), 0);
    assert_true(
        arch_interrupt_message_controller(devicetree_next_compatible(-1, "arm,gic-v3-its")));
    assert_false(arch_interrupt_message_controller(devicetree_next_compatible(-1, "arm,gic-v3")));
    assert_false(arch_interrupt_message_controller(-1));
    assert_int_equal(arch_interrupt_message_prepare(0x108), RESULT_OK);
    assert_int_equal(fake_accesses(), before); /* nothing is started before it is needed */
    assert_int_equal(allocate(8, 1), 8192);
    assert_int_equal(fake_own()->control & GICR_CTLR_ENABLE_LPIS, 1);
    assert_int_equal(fake_own()->configuration_table & 0x1F, 13);
    assert_int_equal(fake_own()->configuration_table & 0xF80,
                     0x780); /* Inner Shareable, write-back */
    assert_int_equal(fake_own()->pending_table & 0xFFFF, 0x780);
    assert_int_equal(fake.gic.its.control, GITS_CTLR_ENABLED);
    /* Processor number 2. */
    assert_command(0, MAPC, 0, UINT64_C(1) << 63 | 2 << 16);
    assert_command(1, SYNC, 0, 2 << 16);
    assert_int_equal(fake.gic.its.commands[2][0], MAPD | UINT64_C(8) << 32);
    assert_int_equal(fake.gic.its.commands[2][1], 4); /* 5 bits of event */
    assert_true(fake.gic.its.commands[2][2] >> 63 == 1 &&
                (fake.gic.its.commands[2][2] & 0xFF) == 0);
    assert_command(4, MAPTI | UINT64_C(8) << 32, UINT64_C(8192) << 32 | 1, 0);
    assert_int_equal(fake.gic.its.command_count, 6);
    assert_int_equal(configuration_of(8192), 0xA2);
    assert_true(arch_interrupt_exists(8192));
    assert_false(arch_interrupt_exists(8193));
    assert_int_equal(arch_interrupt_configure(8192, INTERRUPT_LEVEL), RESULT_INVALID);
    assert_int_equal(arch_interrupt_configure(8192, INTERRUPT_EDGE), RESULT_OK);
    arch_interrupt_enable(8192);
    assert_int_equal(configuration_of(8192), 0xA3);
    assert_command(6, CLEAR | UINT64_C(8) << 32, 1, 0);
    assert_command(8, INV | UINT64_C(8) << 32, 1, 0);
    arch_interrupt_raise(8192);
    assert_command(10, INT | UINT64_C(8) << 32, 1, 0);
    arch_interrupt_disable(8192);
    assert_int_equal(configuration_of(8192), 0xA2);
    assert_command(12, INV | UINT64_C(8) << 32, 1, 0);
    assert_int_equal(allocate(8, 1), 8192); /* the same again */
    assert_int_equal(fake.gic.its.command_count, 14);
    assert_int_equal(allocate(8, 2), 8193); /* the device is known */
    assert_int_equal(fake.gic.its.command_count, 16);
    assert_int_equal(allocate(0x108, 2), 8194);
    refuse(8, 32, RESULT_INVALID);
    refuse(512, 0, RESULT_INVALID); /* the table's page has 512 entries */
    /* Configuration table 8 KiB, pending table 2 KiB (a page), command queue, device table,
     * collections; records. */
    assert_in_range(arch_interrupt_message_bytes(), 24 * 1024, 26 * 1024);
}

static void test_messages_run_out(void **state)
{
    (void)state;
    start();
    for (uint32_t index = 0; index < 64; index++) {
        assert_int_equal(allocate(index % 4, index / 4), 8192 + index);
    }
    refuse(4, 0, RESULT_NO_MEMORY);
    assert_int_equal(allocate(3, 15), 8192 + 63);
    /* Wraps the command queue several times. */
    for (unsigned round = 0; round < 300; round++) {
        arch_interrupt_raise(8192);
        assert_int_equal(fake.gic.its.commands[fake.gic.its.command_count - 2][0], INT);
        fake.gic.its.command_count = 0;
    }
}

/* The next owner of an interrupt finds it as the first did. */
static void test_priority_of_a_deferrable_lpi(void **state)
{
    (void)state;
    start();
    assert_int_equal(allocate(8, 0), 8192);
    arch_interrupt_enable(8192);
    arch_interrupt_set_deferrable(8192, true);
    assert_int_equal(configuration_of(8192), 0xC3);
    arch_interrupt_set_deferrable(8192, false);
    assert_int_equal(configuration_of(8192), 0xA3);
    arch_interrupt_set_deferrable(8192, true);
    arch_interrupt_disable(8192);
    assert_int_equal(configuration_of(8192), 0xC2);
    assert_int_equal(arch_interrupt_configure(8192, INTERRUPT_EDGE), RESULT_OK);
    arch_interrupt_enable(8192);
    assert_int_equal(configuration_of(8192), 0xA3);
}

static void test_no_lpis(void **state)
{
    (void)state;
    fake.no_lpis = true;
    start();
    refuse(8, 0, RESULT_UNSUPPORTED);
    refuse(8, 0, RESULT_UNSUPPORTED);
    assert_int_equal(arch_interrupt_message_prepare(8), RESULT_UNSUPPORTED);
    assert_int_equal(arch_interrupt_message_bytes(), 0);
}

static void test_tables_of_the_loader(void **state)
{
    (void)state;
    fake_own()->control = GICR_CTLR_ENABLE_LPIS;
    fake.gic.lpis_stay_enabled = true;
    start();
    refuse(8, 0, RESULT_UNSUPPORTED);
    assert_int_equal(fake.messages, 1);
}

static void test_replaces_tables_of_the_loader(void **state)
{
    (void)state;
    fake_own()->control = GICR_CTLR_ENABLE_LPIS;
    fake.gic.its.control = GITS_CTLR_ENABLED;
    start();
    assert_int_equal(allocate(8, 0), 8192);
}

/* With each number of pages that is too small the allocation fails without a leak, and with enough
 * pages it works. */
static void test_out_of_memory(void **state)
{
    size_t pages;

    (void)state;
    start();
    for (pages = 0;; pages++) {
        struct interrupt_message message;
        uint32_t number;
        enum result result;

        fake.pages_left = pages;
        result = arch_interrupt_message_allocate(8, 0, &number, &message);
        if (result == RESULT_OK) {
            break;
        }
        assert_int_equal(result, RESULT_NO_MEMORY);
        /* Existing LPI tables stay, because the Redistributor may not stop using them. */
        assert_true(fake.pages_left == pages || fake.pages_left == pages - 3);
        if (fake.pages_left != pages) {
            break;
        }
    }
    assert_int_equal(pages, 3);
    for (pages = 0; pages < 3; pages++) {
        fake.pages_left = pages;
        refuse(8, 0, RESULT_NO_MEMORY);
        assert_int_equal(fake.pages_left, pages);
    }
    fake.pages_left = 3;
    assert_int_equal(allocate(8, 0), 8192);
    assert_int_equal(fake.pages_left, 0);
}

static void test_not_coherent(void **state)
{
    (void)state;
    fake.gic.not_coherent = true;
    start();
    assert_int_equal(allocate(8, 0), 8192);
    assert_int_equal(fake_own()->configuration_table & 0xF80, 0x080); /* Non-cacheable */
    assert_int_equal(fake.gic.its.queue >> 59 & 7, 1);
    assert_int_equal(fake.gic.its.tables[0] >> 59 & 7, 1);
    assert_true(fake.cleaned > 6);
}

static void test_large_pages(void **state)
{
    (void)state;
    fake.gic.its.page_size = 2;
    fake.gic.its.held_collections = 1;
    start();
    assert_int_equal(allocate(8, 0), 8192);
    assert_int_equal(fake.gic.its.tables[0] & 0xFFFF,
                     0x600);                     /* 64 KiB, one page, Inner Shareable */
    assert_int_equal(fake.gic.its.tables[1], 0); /* the ITS keeps the collection */
    assert_int_equal(allocate(8191, 0), 8193);
    refuse(8192, 0, RESULT_INVALID);
}

static void test_many_device_ids(void **state)
{
    (void)state;
    fake.gic.its.target_is_address = true;
    start();
    assert_int_equal(arch_interrupt_message_prepare(0xFFFF), RESULT_OK);
    assert_int_equal(allocate(8, 0), 8192);
    assert_int_equal(fake.gic.its.tables[0] & 0xFF, 127); /* 65536 entries of 8 bytes */
    assert_command(0, MAPC, 0, UINT64_C(1) << 63 | 0x080a0000);
    assert_int_equal(allocate(0xFFFF, 0), 8193);
    refuse(0x10000, 0, RESULT_INVALID); /* exceeds the ITS's bits */
}

static void test_stalls(void **state)
{
    (void)state;
    start();
    assert_int_equal(allocate(8, 0), 8192);
    fake.gic.its.stalls_on = MAPTI;
    refuse(8, 1, RESULT_INVALID);
    assert_int_equal(fake.messages, 1);
    assert_false(arch_interrupt_exists(8193));
    fake.gic.its.stalls_on = MAPD;
    refuse(9, 0, RESULT_INVALID);
    fake.gic.its.stalls_on = 0;
    assert_int_equal(allocate(8, 1), 8193);
    assert_int_equal(allocate(9, 0), 8194);
}

static void test_stalls_for_ever(void **state)
{
    (void)state;
    start();
    assert_int_equal(allocate(8, 0), 8192);
    fake.gic.its.stalls_on = SYNC;
    refuse(8, 1, RESULT_TIMED_OUT);
    refuse(8, 2, RESULT_TIMED_OUT);
    arch_interrupt_disable(8192);
}

static void test_deaf(void **state)
{
    unsigned accesses;

    (void)state;
    fake.gic.its.deaf = true;
    start();
    refuse(8, 0, RESULT_TIMED_OUT);
    accesses = fake_accesses();
    refuse(8, 0, RESULT_UNSUPPORTED);
    assert_int_equal(fake_accesses(), accesses); /* not waited for twice */
}

/* Calls with interrupts masked, as kernel/interrupt makes them. */
static void set_enabled_masked(uint32_t number, bool enabled)
{
    interrupt_state state = interrupts_save();

    if (enabled) {
        arch_interrupt_enable(number);
    } else {
        arch_interrupt_disable(number);
    }
    interrupts_restore(state);
}

/* The ITS is slow: threads wait for it with interrupts enabled. With interrupts masked a caller
 * waits for a bounded time only. */
static void test_slow_its_does_not_hold_interrupts(void **state)
{
    unsigned done;

    (void)state;
    start();
    fake.gic.its.delay = 3000;
    assert_int_equal(allocate(8, 0), 8192);
    assert_int_equal(allocate(8, 1), 8193);
    assert_in_range(fake.masked_accesses, 1, 6);
    fake.gic.its.command_count = 0;
    set_enabled_masked(8192, true);
    assert_int_equal(configuration_of(8192), 0xA3);
    assert_in_range(fake.masked_accesses, 256, 300);
    assert_int_equal(fake.gic.its.command_count, 0); /* still on its way */
    set_enabled_masked(8193, true);
    assert_in_range(fake.masked_accesses, 256, 300);
    assert_int_equal(allocate(9, 0), 8194); /* queued after those commands */
    assert_command(0, INV | UINT64_C(8) << 32, 0, 0);
    assert_command(2, INV | UINT64_C(8) << 32, 1, 0);
    assert_int_equal(fake.gic.its.commands[4][0], MAPD | UINT64_C(9) << 32);
    assert_command(6, MAPTI | UINT64_C(9) << 32, UINT64_C(8194) << 32, 0);
    done = fake.gic.its.command_count;
    fake.gic.its.delay = 1;
    fake.masked_accesses = 0;
    set_enabled_masked(8194, true);
    assert_int_equal(fake.gic.its.command_count, done + 2);
    assert_in_range(fake.masked_accesses, 1, 6); /* as long as it takes */
    assert_int_equal(fake.messages, 0);
}

/* The queue overflows because the ITS carries out no command: the interrupts do not change, and no
 * caller waits for long. */
static void test_full_queue(void **state)
{
    unsigned accesses;

    (void)state;
    start();
    assert_int_equal(allocate(8, 0), 8192);
    fake.gic.its.deaf = true;
    for (unsigned count = 0; count < 63; count++) {
        set_enabled_masked(8192, count % 2 == 0);
        assert_int_equal(fake.messages, 0);
    }
    set_enabled_masked(8192, true);
    assert_int_equal(fake.messages, 1); /* the driver gives up */
    assert_in_range(fake.masked_accesses, 256, 300);
    accesses = fake_accesses();
    set_enabled_masked(8192, false);
    assert_int_equal(fake_accesses(), accesses);
    refuse(8, 1, RESULT_TIMED_OUT);
}

/* A command of a caller with interrupts masked is refused. A thread does not mistake that for a
 * refusal of its own command. */
static void test_refusals_belong_to_their_callers(void **state)
{
    (void)state;
    start();
    assert_int_equal(allocate(8, 0), 8192);
    fake.gic.its.delay = 3000;
    fake.gic.its.stalls_on = INV;
    set_enabled_masked(8192, true);
    assert_int_equal(allocate(9, 0), 8193);
    assert_int_equal(fake.messages, 1);
    fake.gic.its.stalls_on = MAPTI;
    refuse(9, 1, RESULT_INVALID);
    assert_int_equal(fake.messages, 2);
}

/* The ITS carries out a MAPD command after the driver gave up waiting: the command's table must not
 * be freed (the address sanitizer would report that). No table is allocated for further devices. */
static void test_table_of_a_late_command_is_kept(void **state)
{
    uint64_t writer;

    (void)state;
    start();
    assert_int_equal(allocate(8, 0), 8192);
    fake.gic.its.deaf = true;
    refuse(9, 0, RESULT_TIMED_OUT);
    fake.gic.its.deaf = false;
    writer = fake.gic.its.writer;
    device_write64(0x08080000u + GITS_CWRITER, writer);
    assert_int_equal(fake.gic.its.commands[fake.gic.its.command_count - 2][0], MAPD | UINT64_C(9)
                                                                                          << 32);
    refuse(9, 0, RESULT_TIMED_OUT);
    refuse(10, 0, RESULT_TIMED_OUT);
    assert_int_equal(fake.gic.its.writer, writer);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_messages, prepare),
        cmocka_unit_test_setup(test_messages_run_out, prepare),
        cmocka_unit_test_setup(test_priority_of_a_deferrable_lpi, prepare),
        cmocka_unit_test_setup(test_no_lpis, prepare),
        cmocka_unit_test_setup(test_tables_of_the_loader, prepare),
        cmocka_unit_test_setup(test_replaces_tables_of_the_loader, prepare),
        cmocka_unit_test_setup(test_out_of_memory, prepare),
        cmocka_unit_test_setup(test_not_coherent, prepare),
        cmocka_unit_test_setup(test_large_pages, prepare),
        cmocka_unit_test_setup(test_many_device_ids, prepare),
        cmocka_unit_test_setup(test_stalls, prepare),
        cmocka_unit_test_setup(test_stalls_for_ever, prepare),
        cmocka_unit_test_setup(test_deaf, prepare),
        cmocka_unit_test_setup(test_slow_its_does_not_hold_interrupts, prepare),
        cmocka_unit_test_setup(test_full_queue, prepare),
        cmocka_unit_test_setup(test_refusals_belong_to_their_callers, prepare),
        cmocka_unit_test_setup(test_table_of_a_late_command_is_kept, prepare),
    };

    return run_each_alone(tests, sizeof tests / sizeof tests[0], count, arguments);
}
