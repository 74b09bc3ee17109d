/* SPDX-License-Identifier: BSD-2-Clause */
#include "bandwidth/counter.h"

#include "hypervisor/registers.h"
#include "vcpu/controls.h"
#include "vcpu/features.h"
#include <stddef.h>

#define PMCR_E           UINT64_C(1)
#define PMCR_N_SHIFT     11
#define PMCR_N_MASK      UINT64_C(0x1f)
#define PMEVTYPER_COUNT  UINT64_C(0xffff) /* P, U and NSH are 0: EL1 and EL0, and not EL2 */
#define EVENTS_OF_PMCEID 32u              /* common events in the lower half of each register */

/* The second counter raises the interrupt this number of events after the first one. QEMU (10.0)
 * looks at a counter one event before its overflow, and then not again until the exception level
 * changes. The second counter makes it look. */
#define REPEAT 8u

/* Returns the number of counters of the processor, at EL2. */
static unsigned counters(void)
{
    return (unsigned)(register_read(pmcr_el0) >> PMCR_N_SHIFT & PMCR_N_MASK);
}

/* Returns the number of the hypervisor's first counter. */
static unsigned first_counter(void)
{
    return (unsigned)(register_read(mdcr_el2) & MDCR_HPMN);
}

/* Returns the set of the hypervisor's counters. */
static uint64_t own_counters(void)
{
    return (UINT64_C(1) << counters()) - (UINT64_C(1) << first_counter());
}

/* Selects a counter for PMXEVCNTR_EL0 and PMXEVTYPER_EL0. */
static void select_counter(uint64_t counter)
{
    register_write(pmselr_el0, counter);
    instruction_barrier();
}

static bool has_monitors(void)
{
    unsigned version = ID_FIELD(register_read(id_aa64dfr0_el1), DFR0_PMUVER);

    return version != 0 && version != ID_PMU_IMPLEMENTATION_DEFINED;
}

/* Returns false if the processor lacks a common event. It does not say which others it has. */
static bool may_count(uint32_t event)
{
    uint64_t present;

    if (event >= 2 * EVENTS_OF_PMCEID) {
        return true;
    }
    present = event < EVENTS_OF_PMCEID ? register_read(pmceid0_el0) : register_read(pmceid1_el0);
    return (present >> event % EVENTS_OF_PMCEID & 1) != 0;
}

const char *counter_reserve(const struct description_board *board)
{
    uint64_t control = register_read(mdcr_el2) & ~MDCR_HPMN;

    if (!has_monitors()) {
        return "limits of bandwidth need performance monitors, not in core";
    }
    if (counters() <= board->bandwidth_counters) {
        return "limits of bandwidth leave no event counter to the guest, in core";
    }
    if (!may_count(board->bandwidth_event)) {
        return "the board's event for limits of bandwidth can't be counted, in core";
    }
    register_write(mdcr_el2, control | MDCR_HPME | (counters() - board->bandwidth_counters));
    instruction_barrier();
    return NULL;
}

void counter_start(const struct description_board *board)
{
    uint64_t own = own_counters();

    for (unsigned counter = first_counter(); counter < counters(); counter++) {
        select_counter(counter);
        register_write(pmxevtyper_el0, board->bandwidth_event & PMEVTYPER_COUNT);
    }
    select_counter(0);
    register_write(pmintenset_el1, own);
    register_write(pmcntenset_el0, own);
    register_write(pmcr_el0, register_read(pmcr_el0) | PMCR_E);
    instruction_barrier();
}

void counter_load(uint32_t events)
{
    uint64_t selected = register_read(pmselr_el0); /* the guest's */
    uint32_t until_overflow = events;

    for (unsigned counter = first_counter(); counter < counters(); counter++) {
        select_counter(counter);
        register_write(pmxevcntr_el0, (uint32_t)-until_overflow);
        until_overflow += REPEAT;
    }
    select_counter(selected);
    register_write(pmovsclr_el0, own_counters());
    instruction_barrier(); /* the interrupt's line is low before the interrupt ends */
}

uint32_t counter_used(uint32_t events)
{
    uint64_t selected = register_read(pmselr_el0), count;

    select_counter(first_counter());
    count = register_read(pmxevcntr_el0);
    select_counter(selected);
    return (uint32_t)count + events;
}

bool counter_acknowledge(void)
{
    uint64_t own = own_counters();
    bool is_own = (register_read(pmovsset_el0) & own) != 0;

    if (is_own) {
        register_write(pmovsclr_el0, own);
    } else {
        register_write(pmintenclr_el1, UINT32_MAX & ~own);
    }
    instruction_barrier();
    return is_own;
}

void counter_stop(void)
{
    uint64_t own = own_counters();

    register_write(pmcntenclr_el0, own);
    register_write(pmintenclr_el1, own);
    register_write(pmovsclr_el0, own);
    instruction_barrier();
}
