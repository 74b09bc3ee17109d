/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The clock: the generic timer's virtual counter and timer (Arm ARM, chapter "The Generic Timer in
 * AArch64 state"). A hypervisor leaves these to its guest as they are.
 */
#include "arch/clock.h"
#include "arch/cpu.h"
#include "kernel/devicetree.h"
#include "kernel/interrupt.h"
#include "time/clock.h"

/* Binding "arm,armv8-timer": secure, non-secure, virtual, hypervisor. */
#define TIMER_INTERRUPT 2u

#define CNTV_CTL_ENABLE UINT64_C(1)

#define FREQUENCY_UNKNOWN 1u /* no machine has it, and nothing divides by 0 */

static uint64_t frequency; /* Hz; 0: not asked for yet */

static int timer_node(void)
{
    return devicetree_next_compatible(-1, "arm,armv8-timer");
}

/* Firmware sets CNTFRQ_EL0; for some that does not, the devicetree has the number. */
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
    /* The timer's condition is CNTVCT >= CVAL: a value in the past asserts it at once. The ISB has
     * both writes take effect before the caller can unmask interrupts or sleep. */
    __asm__ volatile("msr cntv_cval_el0, %0\n\tmsr cntv_ctl_el0, %1\n\tisb"
                     :
                     : "r"(ticks), "r"(CNTV_CTL_ENABLE)
                     : "memory");
}

void arch_clock_alarm_off(void)
{
    __asm__ volatile("msr cntv_ctl_el0, xzr\n\tisb" : : : "memory");
}

static void timer_interrupt(void *argument)
{
    (void)argument;
    /* The output stays asserted until the comparison fails or the timer is off; time_alarm() sets
     * the next alarm, or leaves it off. */
    arch_clock_alarm_off();
    time_alarm();
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
    arch_clock_alarm_off();
    return interrupt_attach(number, trigger, timer_interrupt, NULL);
}
