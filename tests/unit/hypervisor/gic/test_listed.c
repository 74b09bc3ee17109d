/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests listed interrupts: with the list registers between, a guest sees the interrupts of a GIC.
 * The reference is a GIC without virtualization, whose only processor the guest is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gic/distributor.h"
#include "gic/list_register.h"
#include "gic/listed.h"
#include "gic/listed_common.h"
#include "gic/lists.h"
#include "gic/setup.h"
#include "gic/system_registers.h"
#include "machine.h"
#include <devices/gic_registers.h>
#include <string.h>

/* SGIs, PPIs and SPIs of the first partition. The SGIs and SPI 40 are edge-triggered. */
static const uint32_t numbers[] = {0, 1, 5, 16, 17, 20, 27, 30, 33, 40, 63, 64, 1019};
#define COUNT            (sizeof(numbers) / sizeof(numbers[0]))
#define OWN_FRAME        0u /* the guest finds the Redistributor of its VCPU 0 first */
#define CORE             1u
#define STEPS            4000u
#define SEEDS            30u
#define SEEDS_LATE       10u /* they take longer */
#define SEEDS_RENUMBERED 4u
#define ROUNDS_MAX       100u
#define FOREIGN_ENDS     1100u /* more than there is room for evicted interrupts */

/* The reference. */
struct source {
    bool is_enabled, is_latched, is_asserted, is_active;
    uint32_t priority;
};

/* A VCPU on a shared core has one. */
struct shared_vcpu {
    char nothing;
};

static struct machine made;
static struct shared_vcpu shared;
static struct source sources[COUNT];
static uint32_t random_state;
static unsigned maintenance_count; /* maintenance interrupts that were handled */
static unsigned nested[INTERFACE_NESTED_MAX],
    nested_count; /* indices, in the order of acceptance */

/* Index of the interrupt that the guest sees with the number of the board's UART; COUNT: none. */
static unsigned renumbered_index = COUNT;

/* Returns the number that the guest sees. */
static uint32_t seen(unsigned i)
{
    return i == renumbered_index ? MACHINE_UART : numbers[i];
}

static bool is_edge(unsigned i)
{
    return numbers[i] < 16 || numbers[i] == 40;
}

static struct gic_bank *bank_of(unsigned i)
{
    return numbers[i] < 32 ? &made.gic.redistributors[CORE].bank : &made.gic.distributor;
}

static uint64_t guest_read(unsigned i, uint32_t offset)
{
    uint32_t at = offset + seen(i) / 32 * 4;
    uint64_t value =
        seen(i) < 32
            ? machine_redistributor_access(OWN_FRAME, READ(GIC_FRAME_BYTES + at, 4), ACCESS_DONE)
            : machine_distributor_access(READ(at, 4), ACCESS_DONE);

    return value >> seen(i) % 32 & 1;
}

static void guest_write(unsigned i, struct access access)
{
    interface_sample();
    if (seen(i) < 32) {
        access.offset += GIC_FRAME_BYTES;
        (void)machine_redistributor_access(OWN_FRAME, access, ACCESS_DONE);
    } else {
        (void)machine_distributor_access(access, ACCESS_DONE);
    }
}

static void guest_write_bit(unsigned i, uint32_t offset)
{
    guest_write(i, WRITE(offset + seen(i) / 32 * 4, 4, UINT32_C(1) << seen(i) % 32));
}

static void set_priority(unsigned i, uint32_t priority)
{
    sources[i].priority = priority;
    guest_write(i, WRITE(GIC_IPRIORITYR + seen(i), 1, priority));
}

static void handle_interrupt(void)
{
    interface_synchronize();
    if (!listed_take(&machine_vcpu)) {
        listed_resolve(&machine_vcpu);
    }
    listed_revise(&machine_vcpu);
    assert_int_equal(listed_is_pending(&machine_vcpu), interface_has_pending());
}

static void handle_maintenance(void)
{
    maintenance_count++;
    interface_synchronize();
    listed_underflow(&machine_vcpu);
    listed_revise(&machine_vcpu);
}

/* Returns true if an interrupt enters EL2, also one that a late write causes. */
static bool has_exit(void)
{
    if (!interface_needs_maintenance() && !interface_is_signalled()) {
        gic_model_arrive(&made.gic);
    }
    return interface_needs_maintenance() || interface_is_signalled();
}

/* The hypervisor handles all that is signalled. An interrupt of the guest may come before a
 * maintenance interrupt that the guest has caused earlier. */
static void settle_in_order(bool is_maintenance_late)
{
    unsigned round = 0;

    while (has_exit()) {
        assert_true(round++ < ROUNDS_MAX);
        if (interface_is_signalled() && (is_maintenance_late || !interface_needs_maintenance())) {
            handle_interrupt();
        } else {
            handle_maintenance();
        }
    }
}

static void settle(void)
{
    settle_in_order(false);
}

/* Writes to the GIC arrive late in the tests' second round. */
static bool is_late;

/* The core starts, with its own accesses to the Redistributor, and then the VCPU. */
static void start_core(void)
{
    made.guarded = false;
    assert_null(gic_start_core(&machine_vcpu));
    gic_reset_core(&machine_vcpu);
    made.guarded = true;
    for (unsigned i = 0; i < COUNT; i++) {
        set_priority(i, 0x20 + 0x10 * (i % 5));
    }
}

static int setup(void **state)
{
    (void)state;
    machine_reset(&made);
    made.gic.control = GICD_CTLR_AFFINITY_ROUTING | GICD_CTLR_GROUP0 | GICD_CTLR_GROUP1;
    machine_partition.constant.is_listed = true;
    machine_system.partitions[0].vcpu_count = 1;
    if (renumbered_index != COUNT) {
        machine_system.partitions[0].console_interrupt = numbers[renumbered_index];
        machine_system.partitions[0].console_shown = MACHINE_UART;
    }
    made.gic.distributor.triggers[40 / 16] = 2u << 40 % 16 * 2;
    made.gic.redistributors[CORE].bank.triggers[0] = 0xaaaaaaaa;
    for (unsigned i = 0; i < COUNT; i++) {
        bank_of(i)->groups[numbers[i] / 32] |= UINT32_C(1) << numbers[i] % 32;
        sources[i] = (struct source){.is_enabled = false};
    }
    nested_count = maintenance_count = 0;
    machine_reset_partition();
    start_core();
    gic_open_core(&machine_vcpu);
    made.gic.is_late = is_late;
    return 0;
}

static bool is_pending(unsigned i)
{
    return is_edge(i) ? sources[i].is_latched : sources[i].is_asserted;
}

static uint32_t running(void)
{
    return nested_count == 0 ? INTERFACE_IDLE : sources[nested[nested_count - 1]].priority;
}

static bool is_deliverable(unsigned i)
{
    return sources[i].is_enabled && is_pending(i) && !sources[i].is_active &&
           sources[i].priority < running();
}

static uint32_t expected_priority(void)
{
    uint32_t priority = INTERFACE_IDLE;

    for (unsigned i = 0; i < COUNT; i++) {
        if (is_deliverable(i) && sources[i].priority < priority) {
            priority = sources[i].priority;
        }
    }
    return priority;
}

/* Returns the list register that has the interrupt, or 0. */
static uint64_t listed(unsigned i)
{
    for (unsigned k = 0; k < made.interface.list_count; k++) {
        uint64_t value = made.interface.lists[k];

        if ((value & LIST_STATE) != 0 && list_register_number(value) == seen(i)) {
            return value;
        }
    }
    return 0;
}

/* The guest reads which interrupts are active, before the hypervisor handles what is signalled. */
static void check_active(void)
{
    for (unsigned i = 0; i < COUNT; i++) {
        assert_int_equal(guest_read(i, GIC_ICACTIVER), sources[i].is_active);
    }
}

static void check(void)
{
    settle();
    assert_int_equal(interface_guest_pending(), expected_priority());
    for (unsigned i = 0; i < COUNT; i++) {
        if (listed(i) != 0) {
            assert_int_equal(list_register_priority(listed(i)), sources[i].priority);
        }
        assert_int_equal(guest_read(i, GIC_ISENABLER), sources[i].is_enabled);
        assert_int_equal(guest_read(i, GIC_ISPENDR), is_pending(i));
        assert_int_equal(guest_read(i, GIC_ICACTIVER), sources[i].is_active);
    }
}

static void raise(unsigned i)
{
    if (is_edge(i)) {
        sources[i].is_latched = true;
        bank_of(i)->pending[numbers[i] / 32] |= UINT32_C(1) << numbers[i] % 32;
    } else {
        sources[i].is_asserted = !sources[i].is_asserted;
        interface_set_line(numbers[i], sources[i].is_asserted);
    }
}

/*
 * Two events that a GIC merges, or takes back, reach the guest of a list register
 * (gic/listed.h): a second edge that comes before the guest has acknowledged the first, and
 * a line that is released before. The reference has neither, so the test does not cause them.
 */
static bool can_raise(unsigned i)
{
    return is_edge(i) ? !sources[i].is_latched : !sources[i].is_asserted || sources[i].is_active;
}

static void acknowledge(void)
{
    uint32_t priority = expected_priority(), number = interface_guest_acknowledge();
    unsigned i = 0;

    if (priority == INTERFACE_IDLE) {
        assert_int_equal(number, INTERFACE_NONE);
        return;
    }
    while (i < COUNT && seen(i) != number) {
        i++;
    }
    assert_true(i < COUNT);
    assert_true(is_deliverable(i));
    assert_int_equal(sources[i].priority, priority);
    sources[i].is_latched = false;
    sources[i].is_active = true;
    nested[nested_count++] = i;
}

static void end(void)
{
    if (nested_count != 0) {
        sources[nested[--nested_count]].is_active = made.interface.guest_splits;
        interface_guest_end();
    }
}

/* With EOImode 1: the guest deactivates an interrupt whose priority it has dropped. */
static void deactivate(unsigned i)
{
    for (unsigned k = 0; k < nested_count; k++) {
        if (nested[k] == i) {
            return;
        }
    }
    if (!sources[i].is_active) {
        return;
    }
    sources[i].is_active = false;
    if ((made.interface.control & machine_vcpu.list.deactivation_trap) != 0) {
        listed_deactivate(&machine_vcpu, seen(i));
    } else {
        interface_guest_deactivate(seen(i));
    }
}

static void enable(unsigned i, bool enabled)
{
    sources[i].is_enabled = enabled;
    guest_write_bit(i, enabled ? GIC_ISENABLER : GIC_ICENABLER);
}

static void clear_pending(unsigned i)
{
    sources[i].is_latched = false;
    guest_write_bit(i, GIC_ICPENDR);
}

/* The guest clears the active state of the interrupt that it handles, and then ends it. */
static void clear_active(void)
{
    if (nested_count != 0 && machine_vcpu.list.evicted_count == 0 && !made.interface.guest_splits) {
        sources[nested[nested_count - 1]].is_active = false;
        guest_write_bit(nested[nested_count - 1], GIC_ICACTIVER);
        check();
        end();
    }
}

static void test_one(void **state)
{
    (void)state;
    enable(8, true);
    raise(8);
    check();
    acknowledge();
    check();
    raise(8);
    check();
    end();
    check();
    assert_int_equal(machine_vcpu.report.exits[EXIT_LISTED], 1);
    assert_int_equal(made.interface.control, LIST_CONTROL_ENABLE);
}

/* An SGI is sent again before and after the guest has acknowledged it. */
static void test_sgi(void **state)
{
    (void)state;
    enable(0, true);
    raise(0);
    check();
    raise(0);
    check();
    acknowledge();
    check();
    raise(0);
    check();
    end();
    check();
    acknowledge();
    end();
    check();
    assert_int_equal(interface_guest_pending(), INTERFACE_IDLE);
    assert_int_equal(maintenance_count, 0);
}

/* More interrupts than list registers, the most urgent last: each has to displace another one. */
static void test_too_few(void **state)
{
    (void)state;
    for (unsigned i = 0; i < COUNT; i++) {
        set_priority(i, 0xf0 - 0x10 * i);
        enable(i, true);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        raise(i);
        check();
    }
    for (unsigned i = 0; i < COUNT; i++) {
        acknowledge();
        assert_int_equal(nested[0], COUNT - 1 - i);
        if (!is_edge(nested[0])) {
            raise(nested[0]);
        }
        check();
        end();
        check();
    }
    assert_int_equal(made.interface.mask, 0xff);
    assert_int_equal(made.interface.control, LIST_CONTROL_ENABLE);
}

/* Each interrupt interrupts the handler of the one before. */
static void test_nested(void **state)
{
    (void)state;
    for (unsigned i = 0; i < COUNT; i++) {
        set_priority(i, 0xf0 - 0x10 * i);
        enable(i, true);
        raise(i);
        check();
        acknowledge();
        if (!is_edge(i)) {
            raise(i);
        }
        check();
    }
    assert_int_equal(nested_count, COUNT);
    assert_true(machine_vcpu.list.evicted_count >= COUNT - INTERFACE_LISTS);
    for (unsigned i = 0; i < COUNT; i++) {
        end();
        check();
    }
    assert_int_equal(machine_vcpu.list.evicted_count, 0);
    assert_int_equal(made.interface.control, LIST_CONTROL_ENABLE);
}

/* Returns how often the interrupt is evicted. */
static unsigned evictions(unsigned i)
{
    const struct interrupt_list *list = &machine_vcpu.list;
    unsigned found = 0;

    for (unsigned k = 0; k < list->evicted_count; k++) {
        found += (list->evicted[k] & EVICTED_NUMBER) == numbers[i];
    }
    return found;
}

/* Returns in how many places the hypervisor has the interrupt: list registers, and evicted. */
static unsigned places(unsigned i)
{
    unsigned found = evictions(i);

    for (unsigned k = 0; k < INTERFACE_LISTS; k++) {
        uint64_t value = made.interface.lists[k];

        found += (value & LIST_STATE) != 0 && list_register_number(value) == seen(i);
    }
    return found;
}

static void end_by_another_guest(unsigned i)
{
    if (numbers[i] >= 32) {
        bank_of(i)->active[numbers[i] / 32] &= ~(UINT32_C(1) << numbers[i] % 32);
        if (is_edge(i)) { /* the line of the others is still asserted */
            raise(i);
        }
    }
    settle();
    assert_true(places(i) <= 1);
    if (is_edge(i) && numbers[i] >= 32 && evictions(i) != 0) { /* the edge is kept */
        assert_true((bank_of(i)->pending[numbers[i] / 32] >> numbers[i] % 32 & 1) != 0);
    }
}

/* Another partition's guest, which has direct interrupts, ends SPIs again and again that this guest
 * handles (docs/decisions/0013). They come again, and the hypervisor has each once. */
static void test_ended_by_another_guest(void **state)
{
    uint64_t before;

    (void)state;
    made.interface.guest_splits = true;
    for (unsigned i = 0; i < COUNT; i++) {
        enable(i, true);
    }
    for (unsigned i = COUNT; i-- != 0;) { /* SPIs first */
        raise(i);
        settle();
        (void)interface_guest_acknowledge();
        interface_guest_end();
        end_by_another_guest(i);
    }
    assert_true(machine_vcpu.list.evicted_count != 0);
    before = machine_vcpu.report.exits[EXIT_LISTED];
    for (unsigned round = 0; round < FOREIGN_ENDS; round++) {
        for (unsigned i = 0; i < COUNT; i++) {
            end_by_another_guest(i);
        }
    }
    assert_true(machine_vcpu.report.exits[EXIT_LISTED] - before <= COUNT);
}

/* Ends an SPI in the GIC, whose line is still asserted. */
static void end_foreign(unsigned i)
{
    bank_of(i)->active[numbers[i] / 32] &= ~(UINT32_C(1) << numbers[i] % 32);
}

static bool is_enabled_in_gic(unsigned i)
{
    gic_model_arrive(&made.gic);
    return (bank_of(i)->enabled[numbers[i] / 32] >> numbers[i] % 32 & 1) != 0;
}

#define LEVEL 10u /* 63 */
#define EDGE  9u  /* 40 */

/* Another partition's guest ends an interrupt before and after this guest has acknowledged it. The
 * guest sees no difference: check() compares all states. Each state costs one more exit at most. */
static void test_muted(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 2; round++) {
        uint64_t before = machine_vcpu.report.exits[EXIT_LISTED];

        enable(LEVEL, true);
        raise(LEVEL);
        check();
        for (unsigned i = 0; i < 10; i++) {
            end_foreign(LEVEL);
            check();
            assert_false(is_enabled_in_gic(LEVEL));
        }
        acknowledge();
        for (unsigned i = 0; i < 10; i++) {
            end_foreign(LEVEL);
            check();
        }
        assert_int_equal(machine_vcpu.report.exits[EXIT_LISTED] - before, 2);
        assert_int_equal(maintenance_count, round);
        if (round == 0) {
            raise(LEVEL); /* releases the line */
        }
        end();
        check(); /* in the second round the line is still asserted: it is pending again */
        assert_int_equal(maintenance_count, round + 1);
        assert_true(is_enabled_in_gic(LEVEL));
    }
    acknowledge();
    raise(LEVEL);
    end();
    check();
}

/* The same with EOImode 1, where the deactivation ends the interrupt. */
static void test_muted_until_deactivation(void **state)
{
    (void)state;
    made.interface.guest_splits = true;
    enable(LEVEL, true);
    raise(LEVEL);
    check();
    acknowledge();
    for (unsigned i = 0; i < 10; i++) {
        end_foreign(LEVEL);
        check();
    }
    end();
    check();
    assert_false(is_enabled_in_gic(LEVEL));
    deactivate(LEVEL);
    check();
    assert_true(is_enabled_in_gic(LEVEL));
}

/* An edge that comes while the interrupt is muted is kept. */
static void test_muted_edge(void **state)
{
    (void)state;
    enable(EDGE, true);
    raise(EDGE);
    check();
    acknowledge();
    end_foreign(EDGE);
    raise(EDGE);
    check();
    assert_false(is_enabled_in_gic(EDGE));
    end();
    check();
    acknowledge();
    end();
    check();
    assert_true(is_enabled_in_gic(EDGE));
}

/* The guest disables, enables, and clears an interrupt that is muted: `round` has a bit for each
 * operation. */
static void test_muted_and_changed(void **state)
{
    for (unsigned round = 0; round < 32; round++) {
        (void)setup(state);
        enable(LEVEL, true);
        raise(LEVEL);
        check();
        if ((round & 1) != 0) {
            acknowledge();
        }
        end_foreign(LEVEL);
        check();
        if ((round & 2) != 0) {
            enable(LEVEL, false);
            check();
        }
        if ((round & 4) != 0) {
            enable(LEVEL, true);
            end_foreign(LEVEL);
            check();
        }
        if ((round & 8) != 0) {
            clear_active();
            check();
        }
        if ((round & 16) != 0) {
            clear_pending(LEVEL);
            check();
        }
        end();
        check();
        acknowledge();
        raise(LEVEL); /* releases the line */
        end();
        check();
        assert_int_equal(is_enabled_in_gic(LEVEL), sources[LEVEL].is_enabled);
    }
}

/* The VCPU starts again, or its whole partition, while an interrupt is muted. */
static void test_muted_at_reset(void **state)
{
    for (unsigned round = 0; round < 4; round++) {
        (void)setup(state);
        enable(LEVEL, true);
        raise(LEVEL);
        check();
        if ((round & 1) != 0) {
            acknowledge();
        }
        end_foreign(LEVEL);
        check();
        assert_false(is_enabled_in_gic(LEVEL));
        if ((round & 2) != 0) {
            machine_reset_partition();
            gic_reset_core(&machine_vcpu);
            assert_false(is_enabled_in_gic(LEVEL));
            assert_int_equal(guest_read(LEVEL, GIC_ISENABLER), 0);
        } else {
            gic_reset_core(&machine_vcpu);
            assert_true(is_enabled_in_gic(LEVEL));
        }
    }
}

/* The VCPU does not execute. An interrupt that is set aside for it arrives once more, and then no
 * more until it has been brought back. */
static void test_muted_aside(void **state)
{
    const unsigned indices[] = {LEVEL, EDGE};

    (void)state;
    machine_vcpu.shared = &shared;
    for (unsigned k = 0; k < 2; k++) {
        unsigned i = indices[k], arrivals = 0;

        enable(i, true);
        raise(i);
        for (unsigned round = 0; round < 10; round++) {
            gic_model_arrive(&made.gic);
            while (interface_is_signalled()) {
                uint32_t number = gic_registers_acknowledge_group1();

                gic_registers_drop_group1(number);
                listed_set_aside(&machine_vcpu, number);
                arrivals++;
            }
            end_foreign(i);
            if (is_edge(i)) {
                bank_of(i)->pending[numbers[i] / 32] |= UINT32_C(1) << numbers[i] % 32;
            }
        }
        assert_int_equal(arrivals, 2);
        assert_int_equal(guest_read(i, GIC_ISENABLER), 1);
        assert_int_equal(guest_read(i, GIC_ISPENDR), 1);
        assert_int_equal(guest_read(i, GIC_ISACTIVER), 0);
        listed_bring_back(&machine_vcpu);
        check();
        acknowledge();
        if (!is_edge(i)) {
            raise(i);
        }
        end();
        check();
    }
}

/* The guest ends evicted interrupts before the hypervisor has taken the maintenance interrupt. */
static void test_ends_without_list_register(void **state)
{
    (void)state;
    test_nested(state);
    for (unsigned i = 0; i < COUNT; i++) {
        raise(i);
        check();
        acknowledge();
        if (!is_edge(i)) {
            raise(i);
        }
        check();
    }
    while (nested_count != 0) {
        end();
    }
    check();
    assert_int_equal(machine_vcpu.list.evicted_count, 0);
}

/* Other interrupts fill the list registers before the hypervisor has taken the maintenance
 * interrupt for the ends. */
static void test_ends_before_other_interrupts(void **state)
{
    const unsigned first = COUNT - INTERFACE_LISTS - 1;

    (void)state;
    for (unsigned i = 0; i < COUNT; i++) {
        set_priority(i, 0xf0 - 0x10 * i);
        enable(i, true);
    }
    for (unsigned i = 0; i < first; i++) {
        raise(i);
        check();
        acknowledge();
        if (!is_edge(i)) {
            raise(i);
        }
    }
    assert_true(machine_vcpu.list.evicted_count > 2);
    while (nested_count > 1) {
        end();
    }
    assert_true(made.interface.ends > 2);
    for (unsigned i = first; i < COUNT; i++) {
        raise(i);
    }
    settle_in_order(true);
    check();
}

/* A guest with EOImode 1 has all interrupts active at once, and deactivates them in any order. */
static void test_deactivation(void **state)
{
    (void)state;
    made.interface.guest_splits = true;
    for (unsigned i = COUNT; i-- != 0;) {
        set_priority(i, 0xf0 - 0x10 * i);
        enable(i, true);
        raise(i);
        check();
        acknowledge();
        if (!is_edge(i)) {
            raise(i);
        }
        end();
        check();
    }
    assert_true((made.interface.control & LIST_CONTROL_TRAP_DIR) != 0);
    for (unsigned i = 0; i < COUNT; i++) {
        deactivate((i + 5) % COUNT);
        check();
    }
    listed_deactivate(&machine_vcpu, 34); /* another partition's */
    listed_deactivate(&machine_vcpu, 1020);
    listed_deactivate(&machine_vcpu, 0xffffff);
    assert_int_equal(machine_vcpu.list.evicted_count, 0);
}

/* A guest with EOImode 1 ends the active states by writes to the Distributor and its Redistributor.
 */
static void test_clear_active_of_all(void **state)
{
    (void)state;
    made.interface.guest_splits = true;
    for (unsigned i = 0; i < COUNT; i++) {
        enable(i, true);
        raise(i);
        check();
        acknowledge();
        if (!is_edge(i)) {
            raise(i);
        }
        end();
        check();
    }
    assert_true(machine_vcpu.list.evicted_count != 0);
    for (unsigned i = 0; i < COUNT; i++) {
        sources[i].is_active = false;
        guest_write_bit(i, GIC_ICACTIVER);
        check();
    }
    assert_int_equal(machine_vcpu.list.evicted_count, 0);
}

/* The guest changes to EOImode 0 while an interrupt waits and list registers have active interrupts
 * whose priority it has dropped. Nobody deactivates those, and still the interrupt gets its turn.
 */
static void test_change_of_mode(void **state)
{
    const unsigned last = INTERFACE_LISTS + 1;

    (void)state;
    made.interface.guest_splits = true;
    for (unsigned i = 0; i <= last; i++) {
        set_priority(i, 0x40 + 0x10 * i);
        enable(i, true);
        raise(i);
        check();
        if (i < INTERFACE_LISTS) {
            acknowledge();
            if (!is_edge(i)) {
                raise(i);
            }
            end();
        }
    }
    assert_int_not_equal(made.interface.mask, 0xff);
    made.interface.guest_splits = false;
    enable(0, false);
    settle();
    assert_int_equal(interface_guest_acknowledge(), seen(last - 1));
    raise(last - 1);
    settle();
    interface_guest_end();
    settle();
    assert_int_equal(interface_guest_acknowledge(), seen(last));
}

/* The other guest ends the interrupt again as soon as it is muted: the core is not signalled it any
 * more, although writes may arrive late. */
static void test_muted_at_once(void **state)
{
    (void)state;
    enable(LEVEL, true);
    raise(LEVEL);
    settle();
    end_foreign(LEVEL);
    assert_true(interface_is_signalled());
    handle_interrupt();
    end_foreign(LEVEL);
    assert_false(interface_is_signalled());
}

/* SPIs are pending when the partition is reset: the core is signalled none of them afterwards. */
static void test_reset_of_partition_ends_signals(void **state)
{
    (void)state;
    enable(LEVEL, true);
    gic_model_arrive(&made.gic);
    raise(LEVEL);
    assert_true(interface_is_signalled());
    machine_reset_partition();
    assert_false(interface_is_signalled());
}

/* The VCPU stops with an SPI that its guest has not acknowledged: another VCPU may still take it.
 */
static void test_reset_keeps_spis(void **state)
{
    (void)state;
    enable(9, true); /* 40: edge-triggered */
    enable(10, true);
    raise(9);
    raise(10);
    settle();
    gic_reset_core(&machine_vcpu);
    gic_model_arrive(&made.gic);
    assert_int_equal(made.gic.distributor.active[1], 0);
    assert_true((made.gic.distributor.pending[1] & 1u << 8) != 0);
    assert_false(interface_is_signalled());
    gic_open_core(&machine_vcpu);
    check();
}

/* The VCPU stops while its guest handles interrupts: the next start of the VCPU has none. */
static void test_reset_forgets_active(void **state)
{
    (void)state;
    for (unsigned i = 0; i < COUNT; i++) {
        set_priority(i, 0xf0 - 0x10 * i);
        enable(i, true);
        raise(i);
        check();
        acknowledge();
    }
    assert_true(machine_vcpu.list.evicted_count != 0);
    gic_reset_core(&machine_vcpu);
    assert_int_equal(machine_vcpu.list.evicted_count, 0);
    assert_int_equal(made.interface.control, LIST_CONTROL_ENABLE);
    for (unsigned k = 0; k < INTERFACE_LISTS; k++) {
        assert_int_equal(made.interface.lists[k], 0);
    }
}

/* An SPI is set aside, and its route is changed: another VCPU may take it from the GIC. */
static void test_change_returns_aside(void **state)
{
    struct gic_bank *bank = &made.gic.distributor;

    (void)state;
    bank->active[1] |= 1u << 8; /* 40 */
    listed_set_aside(&machine_vcpu, 40);
    (void)listed_announce(&machine_partition, 1);
    listed_revise(&machine_vcpu);
    assert_false(machine_vcpu.list.has_aside);
    gic_model_arrive(&made.gic);
    assert_int_equal(bank->active[1] & 1u << 8, 0);
    assert_int_equal(bank->pending[1] & 1u << 8, 1u << 8);
}

/* The partition is reset while a list register has an SPI: its next start begins without it. */
static void test_reset_of_partition_drops_spis(void **state)
{
    (void)state;
    enable(9, true); /* 40: edge-triggered */
    raise(9);
    settle();
    made.guarded = false;
    machine_reset_partition();
    gic_reset_core(&machine_vcpu);
    gic_model_arrive(&made.gic);
    assert_int_equal(made.gic.distributor.active[1], 0);
    assert_int_equal(made.gic.distributor.pending[1], 0);
}

/* A Distributor that never says that a write has taken effect (RWP) holds up nobody for ever: the
 * write ends, the guest still reads RWP as 1, and the next write works. */
static void test_never_settles(void **state)
{
    (void)state;
    enable(9, true);
    made.gic.never_settles = true;
    enable(9, false);
    gic_model_arrive(&made.gic);
    assert_int_equal(made.gic.distributor.enabled[1] & 1u << 8, 0);
    assert_true(machine_distributor_access(READ(GICD_CTLR, 4), ACCESS_DONE) &
                GICD_CTLR_WRITE_PENDING);
    enable(9, true);
    gic_model_arrive(&made.gic);
    assert_int_equal(made.gic.distributor.enabled[1] & 1u << 8, 1u << 8);
}

/* The partition has a second VCPU. This one has an SPI in a list register, and no message was sent.
 */
static void list_beside_another_vcpu(void)
{
    machine_system.partitions[0].vcpu_count = 2;
    enable(9, true);
    raise(9);
    settle();
    made.group0_count = 0;
}

/* Another VCPU's guest clears the state of an SPI that this VCPU has in a list register. */
static void test_other_vcpu(void **state)
{
    struct vcpu other = {
        .partition = &machine_partition, .number = 1, .list = {.threshold = LISTS_IDLE}};
    struct access disable = WRITE(GIC_ICENABLER + 4, 4, 1u << seen(9) % 32);
    struct access clear = WRITE(GIC_ICPENDR + 4, 4, 1u << seen(9) % 32);
    struct access control = READ(GICD_CTLR, 4);

    (void)state;
    list_beside_another_vcpu();
    assert_int_equal(distributor_access(&other, &disable), ACCESS_DONE);
    assert_int_equal(made.group0_count, 1);
    assert_int_equal(distributor_access(&other, &control), ACCESS_DONE);
    assert_true((control.value & GICD_CTLR_WRITE_PENDING) != 0);
    listed_revise(&machine_vcpu);
    assert_int_equal(interface_guest_pending(), INTERFACE_IDLE);
    assert_int_equal(guest_read(9, GIC_ISPENDR), 1);
    enable(9, true);
    settle();
    assert_int_equal(interface_guest_pending(), sources[9].priority);
    assert_int_equal(distributor_access(&other, &clear), ACCESS_DONE);
    listed_revise(&machine_vcpu);
    sources[9].is_latched = false;
    check();
    raise(9);
    check();
    listed_revise(&other);
    assert_int_equal(distributor_access(&other, &control), ACCESS_DONE);
    assert_int_equal(control.value & GICD_CTLR_WRITE_PENDING, 0);
}

/* An access of a VCPU on another core, whose list registers are empty. */
static enum access_result access_elsewhere(struct vcpu *other, struct access access)
{
    struct interface own = made.interface;
    enum access_result result;

    memset(made.interface.lists, 0, sizeof(made.interface.lists));
    result = distributor_access(other, &access);
    made.interface = own;
    return result;
}

/* A guest that clears states again and again interrupts the core of another VCPU once, until that
 * VCPU has followed. Then it can clear the active state again. */
static void test_calls_other_vcpu_once(void **state)
{
    struct vcpu other = {
        .partition = &machine_partition, .number = 1, .list = {.threshold = LISTS_IDLE}};
    struct access disable = WRITE(GIC_ICENABLER + 4, 4, 1u << seen(9) % 32);
    struct access deactivate_it = WRITE(GIC_ICACTIVER + 4, 4, 1u << seen(9) % 32);

    (void)state;
    list_beside_another_vcpu();
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(access_elsewhere(&other, disable), ACCESS_DONE);
        assert_int_equal(made.group0_count, 1);
        assert_int_equal(access_elsewhere(&other, deactivate_it), ACCESS_AGAIN);
    }
    listed_revise(&machine_vcpu);
    enable(9, true);
    settle();
    made.group0_count = 0;
    assert_int_equal(access_elsewhere(&other, deactivate_it), ACCESS_DONE);
    assert_int_equal(made.group0_count, 1);
}

/* An interrupt that is not the guest's is not listed. */
static void test_foreign(void **state)
{
    struct gic_bank *bank = &made.gic.distributor;

    (void)state;
    made.guarded = false;
    bank->groups[1] |= 1u << 2; /* 34: the second partition's */
    bank->enabled[1] |= 1u << 2;
    bank->priorities[34] = 0xa0;
    interface_set_line(34, true);
    assert_false(listed_take(&machine_vcpu));
    assert_false(listed_resolve(&machine_vcpu));
    assert_int_equal(machine_vcpu.list.number, 34);
    gic_end_dropped(34);
    assert_int_equal(bank->active[1] & 1u << 2, 0);
    assert_int_equal(interface_guest_pending(), INTERFACE_IDLE);
}

/* With two security states the firmware decides how the CPU interface shows priorities. */
static void test_views_of_priorities(void **state)
{
    for (unsigned raw = 0; raw < 2; raw++) {
        (void)setup(state);
        made.gic.two_securities = machine_partition.constant.shares_group1 = true;
        made.interface.is_raw = raw != 0;
        start_core();
        set_priority(0, 0x10);
        enable(0, true);
        raise(0);
        assert_false(interface_is_signalled()); /* until gic_open_core() */
        gic_open_core(&machine_vcpu);
        check();
        assert_int_equal(interface_guest_pending(), 0x10);
    }
}

/* Returns a number below `limit`. */
static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 16) % limit;
}

static void step(void)
{
    unsigned i = random_below(COUNT), operation = random_below(16);

    if (operation < 5) {
        if (can_raise(i)) {
            raise(i);
        }
    } else if (operation < 8) {
        acknowledge();
    } else if (operation < 11) {
        end();
    } else if (operation < 13 && made.interface.guest_splits) {
        deactivate(i);
    } else if (operation < 13) {
        enable(i, random_below(3) != 0);
    } else if (operation == 13) {
        clear_pending(i);
    } else if (operation == 14) {
        clear_active();
    } else if (!is_pending(i) && !sources[i].is_active) {
        set_priority(i, 0x10 + 8 * (random_below(29)));
    }
}

/* A guest's accesses to the registers that both groups have in common. */
static void test_common_registers(void **state)
{
    (void)state;
    assert_int_equal(listed_common_control(), 0x48400);
    listed_common_set_control(UINT64_MAX);
    assert_int_equal(listed_common_control(), 0x48403);
    assert_true(made.interface.guest_splits);
    listed_common_set_mask(UINT64_MAX);
    assert_int_equal(listed_common_mask(), 0xf8);
    listed_common_set_control(0);
    assert_int_equal(listed_common_control(), 0x48400);
    assert_int_equal(listed_common_mask(), 0xf8);
    assert_int_equal(listed_common_running_priority(), 0xff);
    enable(LEVEL, true);
    raise(LEVEL);
    settle();
    acknowledge();
    assert_int_equal(listed_common_running_priority(), sources[LEVEL].priority);
}

static unsigned seeds_of_round(void)
{
    if (renumbered_index != COUNT) {
        return SEEDS_RENUMBERED;
    }
    return is_late ? SEEDS_LATE : SEEDS;
}

static void test_random(void **state)
{
    for (unsigned seed = 1; seed <= seeds_of_round(); seed++) {
        (void)setup(state);
        made.gic.chance = seed;
        made.interface.list_count = 2 + seed % 4;
        made.gic.two_securities = machine_partition.constant.shares_group1 = seed % 5 == 0;
        made.interface.is_raw = seed % 10 == 0;
        made.interface.has_no_trap_of_deactivation = seed % 7 == 0;
        machine_vcpu.shared = seed % 2 == 0 ? &shared : NULL;
        start_core();
        gic_open_core(&machine_vcpu);
        made.interface.guest_splits = seed % 3 == 0;
        for (unsigned i = 0; i < COUNT; i++) {
            enable(i, true);
        }
        random_state = seed;
        for (unsigned i = 0; i < STEPS; i++) {
            step();
            if (random_below(4) == 0) {
                check_active();
            }
            if (random_below(4) != 0) {
                check();
            } else {
                settle_in_order(random_below(2) != 0);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_one, setup),
        cmocka_unit_test_setup(test_sgi, setup),
        cmocka_unit_test_setup(test_too_few, setup),
        cmocka_unit_test_setup(test_nested, setup),
        cmocka_unit_test_setup(test_ended_by_another_guest, setup),
        cmocka_unit_test_setup(test_muted, setup),
        cmocka_unit_test_setup(test_muted_until_deactivation, setup),
        cmocka_unit_test_setup(test_muted_edge, setup),
        cmocka_unit_test_setup(test_muted_and_changed, setup),
        cmocka_unit_test_setup(test_muted_at_reset, setup),
        cmocka_unit_test_setup(test_muted_aside, setup),
        cmocka_unit_test_setup(test_muted_at_once, setup),
        cmocka_unit_test_setup(test_ends_without_list_register, setup),
        cmocka_unit_test_setup(test_ends_before_other_interrupts, setup),
        cmocka_unit_test_setup(test_deactivation, setup),
        cmocka_unit_test_setup(test_clear_active_of_all, setup),
        cmocka_unit_test_setup(test_change_of_mode, setup),
        cmocka_unit_test_setup(test_reset_keeps_spis, setup),
        cmocka_unit_test_setup(test_reset_forgets_active, setup),
        cmocka_unit_test_setup(test_change_returns_aside, setup),
        cmocka_unit_test_setup(test_reset_of_partition_drops_spis, setup),
        cmocka_unit_test_setup(test_reset_of_partition_ends_signals, setup),
        cmocka_unit_test_setup(test_never_settles, setup),
        cmocka_unit_test_setup(test_other_vcpu, setup),
        cmocka_unit_test_setup(test_calls_other_vcpu_once, setup),
        cmocka_unit_test_setup(test_foreign, setup),
        cmocka_unit_test_setup(test_views_of_priorities, setup),
        cmocka_unit_test_setup(test_common_registers, setup),
        cmocka_unit_test_setup(test_random, setup),
    };

    int failed = cmocka_run_group_tests_name("writes arrive at once", tests, NULL, NULL);

    /* One in the word of the UART's, which is edge-triggered, and one in another word. */
    renumbered_index = 9;
    failed += cmocka_run_group_tests_name("the console has another number", tests, NULL, NULL);
    renumbered_index = COUNT - 1;
    failed += cmocka_run_group_tests_name("a number of another word", tests, NULL, NULL);
    is_late = true;
    renumbered_index = COUNT;
    return failed + cmocka_run_group_tests_name("writes arrive late", tests, NULL, NULL);
}
