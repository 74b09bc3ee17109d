/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest without a kernel that makes all its SPIs pending each 2 ms, and with TURNS = 1, turns its
 * second VCPU off and on again each 20 ms: then the SPIs that the distributor has routed to that
 * one come home. VCPUS: number of its VCPUs. The others sleep.
 */
#include "interrupts.h"
#include <stdbool.h>

#define TIMER      27u /* PPI of the virtual timer (Arm BSA, "PPI assignments") */
#define TICKS_A_S  500u
#define TURN_TICKS 10u

static volatile bool second_ends;

static void set_timer(uint64_t due)
{
    __asm__ volatile("msr cntv_cval_el0, %0\n\tmsr cntv_ctl_el0, %1\n\tisb"
                     :
                     : "r"(due), "r"(UINT64_C(1)));
}

static void take_interrupts(void)
{
    uint64_t number = acknowledge();

    while (number < NONE) {
        if (number == TIMER) {
            set_timer(UINT64_MAX);
        }
        end_interrupt(number);
        number = acknowledge();
    }
}

static void second_main(void)
{
    open_interface();
    while (!second_ends) {
        __asm__ volatile("wfi" : : : "memory");
        take_interrupts();
    }
    (void)call(CPU_OFF, 0, 0, 0);
}

static void other_main(void)
{
    open_interface();
    for (;;) {
        __asm__ volatile("wfi" : : : "memory");
        take_interrupts();
    }
}

static void start_second(void)
{
    second_ends = false;
    (void)call(CPU_ON, 1, (uintptr_t)guest_other, (uintptr_t)second_main);
}

static void restart_second(void)
{
    second_ends = true;
    send_sgi(1, 1u << 1); /* to VCPU 1 */
    while (call(AFFINITY_INFO, 1, 0, 0) != IS_OFF) {
    }
    start_second();
}

/* Writes to the registers of all SPIs. Those that it does not have ignore it. */
static void write_spis(uint32_t registers)
{
    for (uint32_t word = 1; word < SPI_WORDS; word++) {
        write32(DISTRIBUTOR + registers + 4 * word, UINT32_MAX);
    }
}

void guest_main(void)
{
    uint64_t step = counter_frequency() / TICKS_A_S, due;

    open_interface();
    write32(DISTRIBUTOR, GROUP_1);
    write_spis(ISENABLER);
    write32(sgi_frame(0) + ISENABLER, UINT32_MAX);
    write32(sgi_frame(1) + ISENABLER, UINT32_MAX);
    start_second();
    for (unsigned vcpu = 2; vcpu < VCPUS; vcpu++) {
        (void)call(CPU_ON, vcpu, (uintptr_t)guest_other, (uintptr_t)other_main);
    }
    print("begins\n");
    due = counter();
    for (uint64_t tick = 1;; tick++) {
        due += step;
        set_timer(due);
        while (counter() < due) {
            __asm__ volatile("wfi" : : : "memory");
            take_interrupts();
        }
        write_spis(ISPENDR);
        if (TURNS && tick % TURN_TICKS == 0) {
            restart_second();
        }
    }
}
