/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest with four VCPUs without a kernel. Each of them sleeps until the physical counter reaches
 * the next multiple of 10 ms, again and again. So the timers of all VCPUs of all partitions with
 * this guest expire at the same instants.
 */
#include "interrupts.h"

#define VCPUS            4u
#define TIMER            30u /* PPI of the physical timer (Arm BSA, "PPI assignments") */
#define PERIODS          60u
#define PERIODS_A_SECOND 100u

static uint64_t period(void)
{
    uint64_t frequency;

    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
    return frequency / PERIODS_A_SECOND;
}

/* Sleeps until the timer's interrupt is pending, and takes it. */
static void sleep_until(uint64_t due)
{
    uint64_t number;

    set_physical_timer(due);
    while (physical_counter() < due) {
        __asm__ volatile("wfi" : : : "memory");
    }
    __asm__ volatile("msr cntp_ctl_el0, xzr\n\tisb" : : : "memory");
    number = acknowledge();
    if (number < NONE) {
        end_interrupt(number);
    }
}

static void sleep_again_and_again(void)
{
    unsigned vcpu = own_number();

    write32(sgi_frame(vcpu) + ISENABLER, 1u << TIMER);
    open_interface();
    for (unsigned n = 0; vcpu != 0 || n < PERIODS; n++) {
        sleep_until((physical_counter() / period() + 1) * period());
    }
}

void guest_main(void)
{
    for (unsigned vcpu = 1; vcpu < VCPUS; vcpu++) {
        (void)call(CPU_ON, vcpu, (uintptr_t)guest_other, (uintptr_t)sleep_again_and_again);
    }
    write32(DISTRIBUTOR, GROUP_1);
    sleep_again_and_again();
    print("end\n");
    (void)call(SYSTEM_OFF, 0, 0, 0);
}
