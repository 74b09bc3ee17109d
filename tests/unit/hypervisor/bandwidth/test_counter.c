/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the hypervisor's event counters on a model of the performance monitors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bandwidth/counter.h"
#include "hypervisor/registers.h"
#include <stdlib.h>
#include <string.h>

#define COUNTERS 6u
#define CYCLES   (UINT64_C(1) << 31)
#define EVENT    0x19u
#define TDRA     (UINT64_C(1) << 11) /* MDCR_EL2: a bit that has nothing to do with counters */
#define HPME     (UINT64_C(1) << 7)

static const struct description_board usual = {.bandwidth_event = EVENT, .bandwidth_counters = 1};
static const struct description_board emulated = {.bandwidth_event = 0x08, .bandwidth_counters = 2};

static struct monitors {
    unsigned version, counters; /* ID_AA64DFR0_EL1.PMUVer, PMCR_EL0.N */
    uint64_t control, el2, selected, events[2], enabled, interrupts, overflows;
    uint64_t counts[32], types[32];
} monitors;

static int reset(void **state)
{
    (void)state;
    monitors = (struct monitors){.version = 1, .counters = COUNTERS, .el2 = TDRA | COUNTERS};
    monitors.events[0] = UINT64_C(1) << EVENT | 1u << 0x08;
    return 0;
}

uint64_t fake_register(const char *name)
{
    const struct {
        const char *name;
        uint64_t value;
    } registers[] = {
        {"id_aa64dfr0_el1", (uint64_t)monitors.version << 8},
        {"pmcr_el0", monitors.control | (uint64_t)monitors.counters << 11},
        {"mdcr_el2", monitors.el2},
        {"pmselr_el0", monitors.selected},
        {"pmceid0_el0", monitors.events[0]},
        {"pmceid1_el0", monitors.events[1]},
        {"pmxevcntr_el0", monitors.counts[monitors.selected]},
        {"pmovsset_el0", monitors.overflows},
    };

    for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
        if (strcmp(name, registers[i].name) == 0) {
            return registers[i].value;
        }
    }
    fail_msg("%s", name);
    abort();
}

void fake_register_write(const char *name, uint64_t value)
{
    if (strcmp(name, "pmxevcntr_el0") == 0) {
        monitors.counts[monitors.selected] = value;
    } else if (strcmp(name, "pmxevtyper_el0") == 0) {
        monitors.types[monitors.selected] = value;
    } else if (strcmp(name, "pmselr_el0") == 0) {
        monitors.selected = value;
    } else if (strcmp(name, "mdcr_el2") == 0) {
        monitors.el2 = value;
    } else if (strcmp(name, "pmcr_el0") == 0) {
        monitors.control = value & 0xff;
    } else if (strcmp(name, "pmcntenset_el0") == 0) {
        monitors.enabled |= value;
    } else if (strcmp(name, "pmcntenclr_el0") == 0) {
        monitors.enabled &= ~value;
    } else if (strcmp(name, "pmintenset_el1") == 0) {
        monitors.interrupts |= value;
    } else if (strcmp(name, "pmintenclr_el1") == 0) {
        monitors.interrupts &= ~value;
    } else if (strcmp(name, "pmovsclr_el0") == 0) {
        monitors.overflows &= ~value;
    } else {
        fail_msg("%s", name);
    }
}

static void guest_keeps_the_others(void **state)
{
    (void)state;
    assert_null(counter_reserve(&usual));
    assert_int_equal(monitors.el2, TDRA | HPME | (COUNTERS - 1));
    (void)reset(NULL);
    assert_null(counter_reserve(&emulated));
    assert_int_equal(monitors.el2, TDRA | HPME | (COUNTERS - 2));
}

static void what_cannot_count_is_refused(void **state)
{
    static const unsigned without[] = {0, 15}; /* none, and one that is not the architecture's */
    const struct description_board further = {.bandwidth_event = 0x33, .bandwidth_counters = 1};
    const struct description_board own = {.bandwidth_event = 0xc0, .bandwidth_counters = 1};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        monitors.version = without[i];
        assert_string_equal(counter_reserve(&usual),
                            "limits of bandwidth need performance monitors, not in core");
    }
    monitors.version = 4;
    for (monitors.counters = 0; monitors.counters <= 2; monitors.counters++) {
        assert_string_equal(counter_reserve(&emulated),
                            "limits of bandwidth leave no event counter to the guest, in core");
    }
    assert_null(counter_reserve(&emulated));
    monitors.events[0] = ~(UINT64_C(1) << EVENT);
    assert_string_equal(counter_reserve(&usual),
                        "the board's event for limits of bandwidth can't be counted, in core");
    assert_non_null(counter_reserve(&further));
    monitors.events[1] = 1u << (0x33 - 32);
    assert_null(counter_reserve(&further));
    assert_null(counter_reserve(&own)); /* no register says which of these a processor has */
}

/* The event alone: no filter, so EL1 and EL0 count, and EL2 does not. */
static void counters_of_el2_are_enabled(void **state)
{
    (void)state;
    (void)counter_reserve(&emulated);
    monitors.control = 0x40;
    counter_start(&emulated);
    assert_int_equal(monitors.types[4], 0x08);
    assert_int_equal(monitors.types[5], 0x08);
    assert_int_equal(monitors.types[3], 0);
    assert_int_equal(monitors.enabled, 0x30);
    assert_int_equal(monitors.interrupts, 0x30);
    assert_int_equal(monitors.control & 0x41, 0x41);
    assert_int_equal(monitors.selected, 0);
    counter_stop();
    assert_int_equal(monitors.enabled, 0);
    assert_int_equal(monitors.interrupts, 0);
}

static void loaded_counter_overflows_after_the_events(void **state)
{
    (void)state;
    (void)counter_reserve(&emulated);
    counter_start(&emulated);
    monitors.selected = 3; /* the guest's */
    monitors.overflows = 0x39 | CYCLES;
    counter_load(1000);
    assert_int_equal(monitors.counts[4], UINT32_MAX - 1000 + 1);
    assert_int_equal(monitors.counts[5], UINT32_MAX - 1008 + 1);
    assert_int_equal(monitors.counts[3], 0);
    assert_int_equal(monitors.selected, 3);
    assert_int_equal(monitors.overflows, 0x09 | CYCLES);
}

static void used_events_are_exact(void **state)
{
    static const uint32_t loads[] = {0, 1, 1000, INT32_MAX};

    (void)state;
    (void)counter_reserve(&usual);
    monitors.selected = 2;
    for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
        uint32_t load = loads[i];

        counter_load(load);
        assert_int_equal(counter_used(load), 0);
        monitors.counts[5] = UINT32_MAX & (monitors.counts[5] + load / 2);
        assert_int_equal(counter_used(load), load / 2);
        /* Beyond the overflow. A counter of 64 bits goes on to bit 32. */
        monitors.counts[5] += load - load / 2 + 17;
        assert_int_equal(counter_used(load), load + 17);
    }
    assert_int_equal(monitors.selected, 2);
}

static void own_overflow_is_withdrawn(void **state)
{
    (void)state;
    (void)counter_reserve(&emulated);
    monitors.interrupts = 0x31;
    for (uint64_t own = 0x10; own <= 0x30; own += 0x10) {
        monitors.overflows = own | 1;
        assert_true(counter_acknowledge());
        assert_int_equal(monitors.overflows, 1); /* the guest's flag is left */
        assert_int_equal(monitors.interrupts, 0x31);
    }
}

static void interrupt_of_the_guest_is_disabled(void **state)
{
    (void)state;
    (void)counter_reserve(&emulated);
    monitors.interrupts = 0x33 | CYCLES;
    monitors.overflows = 1 | CYCLES;
    assert_false(counter_acknowledge());
    assert_int_equal(monitors.interrupts, 0x30);
    assert_int_equal(monitors.overflows, 1 | CYCLES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(guest_keeps_the_others, reset),
        cmocka_unit_test_setup(what_cannot_count_is_refused, reset),
        cmocka_unit_test_setup(counters_of_el2_are_enabled, reset),
        cmocka_unit_test_setup(loaded_counter_overflows_after_the_events, reset),
        cmocka_unit_test_setup(used_events_are_exact, reset),
        cmocka_unit_test_setup(own_overflow_is_withdrawn, reset),
        cmocka_unit_test_setup(interrupt_of_the_guest_is_disabled, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
