/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The clock: the generic timer's virtual counter and timer (Arm ARM, chapter "The Generic Timer in
 * AArch64 state"). A hypervisor lets its guest access them directly.
 */
#include "interrupt/scheduler_hooks.h"
#include "kernel/devicetree.h"
#include "kernel/interrupt.h"
#include "sched/alarm.h"
#include <arch/clock.h>
#include <arch/cpu.h>

/* Binding "arm,armv8-timer": secure, non-secure, virtual, hypervisor. */
#define TIMER_INTERRUPT 2u

#define CNTV_CTL_ENABLE UINT64_C(1)

/* CNTKCTL_EL1: an event at each change of a bit of the counter from 0 to 1. */
#define CNTKCTL_EVENT_ENABLE (UINT64_C(1) << 2)
#define CNTKCTL_EVENT_SHIFT  4u
#define EVENT_BIT_MAX        15u
#define EVENTS_PER_SECOND    UINT64_C(10000) /* at least, if the counter allows it */

/* The frequency if it is unknown. No machine has this frequency, and a division by it is valid. */
#define FREQUENCY_UNKNOWN 1u

static uint64_t frequency; /* Hz; 0: not determined yet */

static int timer_node(void)
{
    return devicetree_next_compatible(-1, "arm,armv8-timer");
}

/* Returns the frequency of the counter. Firmware should set CNTFRQ_EL0. If it does not, the
 * devicetree may contain the number. */
static uint64_t find_frequency(void)
{
    uint64_t value;

    __asm__("mrs %0, cntfrq_el0" : "=r"(value));
    if (value == 0) {
        value = devicetree_number(timer_node(), "clock-frequency", FREQUENCY_UNKNOWN);
    }
    return value == 0 ? FREQUENCY_UNKNOWN : value;
}

uint64_t arch_clock_frequency(void)
{
    if (frequency == 0) {
        frequency = find_frequency();
    }
    return frequency;
}

void arch_clock_alarm(uint64_t ticks)
{
    /* The timer's condition is CNTVCT >= CVAL, so a value in the past asserts the interrupt at
     * once, and UINT64_MAX is never reached. After the ISB both writes have taken effect, before
     * the caller can unmask interrupts or sleep. */
    __asm__ volatile("msr cntv_cval_el0, %0\n\tmsr cntv_ctl_el0, %1\n\tisb"
                     :
                     : "r"(ticks), "r"(CNTV_CTL_ENABLE)
                     : "memory");
}

/* Ends waits of arch_wait_for_store() for words that nobody stores. */
static void start_events(void)
{
    uint64_t bit = EVENT_BIT_MAX;

    while (bit > 0 && frequency >> (bit + 1) < EVENTS_PER_SECOND) {
        bit--;
    }
    __asm__ volatile("msr cntkctl_el1, %0\n\tisb"
                     :
                     : "r"(CNTKCTL_EVENT_ENABLE | bit << CNTKCTL_EVENT_SHIFT)
                     : "memory");
}

static void timer_interrupt(void *argument)
{
    (void)argument;
    /* The output stays asserted while the condition is true, until alarm_expired() sets the
     * next alarm. */
    alarm_expired();
}

enum result arch_clock_init(void)
{
    int node = timer_node();
    enum interrupt_trigger trigger;
    uint32_t number;
    enum result result;

    if (node < 0) {
        return RESULT_NOT_FOUND;
    }
    if (arch_clock_frequency() == FREQUENCY_UNKNOWN) {
        return RESULT_INVALID;
    }
    result = devicetree_interrupt(node, TIMER_INTERRUPT, &number, &trigger);
    if (result != RESULT_OK) {
        return result;
    }
    arch_clock_alarm(UINT64_MAX);
    start_events();
    result = interrupt_attach(number, trigger, timer_interrupt, NULL);
    if (result == RESULT_OK) {
        interrupt_set_alarm(number);
    }
    return result;
}
