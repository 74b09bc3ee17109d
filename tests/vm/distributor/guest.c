/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest with two VCPUs and one SPI, which it makes pending itself. Without PLAYS the SPI is
 * always periodic. With PLAYS it is sporadic from 3 to 15 s, and from time to time the guest does
 * something that ends a move (play()). It prints which VCPU got how many. With BUSY the second VCPU
 * never sleeps.
 *
 * Interrupts are masked: a VCPU sleeps, and then takes what is pending.
 */
#include "interrupts.h"
#include <stdbool.h>

#define TIMER        27u /* PPI of the virtual timer */
#define TIMER_IS_DUE 4u  /* Arm ARM, CNTV_CTL_EL0.ISTATUS */

#define TICK_MS     2u
#define SPORADIC_MS 300u
#define REPORT_MS   500u
#define BUSY_LOOPS  10000u

static uint64_t frequency;
static uint32_t source; /* INTID of the SPI */
static volatile uint32_t arrivals[2];
static volatile bool second_ends, second_is_deaf;

static void print_number(const char *before, uint32_t number)
{
    char digits[11];
    unsigned at = sizeof(digits) - 1;

    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    print(before);
    print(&digits[at]);
}

static void set_timer(uint64_t due)
{
    __asm__ volatile("msr cntv_cval_el0, %0\n\tmsr cntv_ctl_el0, %1\n\tisb"
                     :
                     : "r"(due), "r"(UINT64_C(1)));
}

/* A listed interrupt stays pending when its line is released, so the timer's may come although the
 * timer has been set anew (decision 0029). */
static bool timer_is_due(void)
{
    uint64_t control;

    __asm__ volatile("mrs %0, cntv_ctl_el0" : "=r"(control));
    return (control & TIMER_IS_DUE) != 0;
}

/* Takes all pending interrupts. The timer's is over when the timer is set anew. */
static void take_interrupts(unsigned vcpu)
{
    for (;;) {
        uint64_t number = acknowledge();

        if (number >= NONE) {
            return;
        }
        if (number == TIMER && timer_is_due()) {
            set_timer(UINT64_MAX);
        } else if (number == source) {
            arrivals[vcpu]++;
        }
        end_interrupt(number);
    }
}

#ifdef REMOTE
static void beat(unsigned vcpu);
#endif

static void second_main(void)
{
    open_interface();
#ifdef REMOTE
    beat(1);
#endif
    while (!second_ends) {
#ifdef BUSY
        for (unsigned i = 0; i < BUSY_LOOPS; i++) {
            __asm__ volatile("");
        }
#else
        __asm__ volatile("wfi" : : : "memory");
#endif
        while (second_is_deaf && !second_ends) {
        }
        take_interrupts(1);
    }
    (void)call(CPU_OFF, 0, 0, 0);
}

static void start_second(void)
{
    second_ends = false;
    second_is_deaf = false;
    (void)call(CPU_ON, 1, (uintptr_t)guest_other, (uintptr_t)second_main);
}

/* Ends the second VCPU. An SGI wakes it. */
static void end_second(void)
{
    second_ends = true;
    send_sgi(1, 1u << 1); /* to VCPU 1 */
    while (call(AFFINITY_INFO, 1, 0, 0) != IS_OFF) {
    }
}

static void report(uint32_t ms, uint32_t raised)
{
    print_number("at ", ms);
    print_number(": raised ", raised);
    print_number(", first ", arrivals[0]);
    print_number(", second ", arrivals[1]);
    print_number(", route ", read_route(source));
    print("\n");
}

/* Returns true if the SPI comes at this time. */
static bool comes(uint32_t ms)
{
#ifdef PLAYS
    if (ms >= 3000 && ms < 15000) {
        return ms % SPORADIC_MS == 0;
    }
#endif
    return ms % TICK_MS == 0;
}

static void play(uint32_t ms, uint32_t raised)
{
#ifdef PLAYS
    if (ms % REPORT_MS == 0) {
        report(ms, raised);
    }
    if (ms == 18000) {
        end_second();
    } else if (ms == 20000) {
        start_second();
    } else if (ms == 23000) {
        set_route(source, 0);
    } else if (ms == 25000) {
        second_is_deaf = true;
    } else if (ms == 27000) {
        end_second();
        start_second();
    } else if (ms == 29000) {
        print("end\n");
    }
#else
    (void)ms;
    (void)raised;
    (void)report;
    (void)end_second;
#endif
}

/* Makes the SPI pending at its times, on a VCPU, for ever. */
static void beat(unsigned vcpu)
{
    uint64_t start = counter(), ticks = frequency / 1000 * TICK_MS;
    uint32_t raised = 0;

    write32(sgi_frame(vcpu) + ISENABLER, 1u << TIMER);
    for (uint32_t tick = 1;; tick++) {
        set_timer(start + tick * ticks);
        while (counter() < start + tick * ticks) {
            __asm__ volatile("wfi" : : : "memory");
            take_interrupts(vcpu);
        }
        /* None comes while the last one waits: the GIC would merge the two. */
        if (comes(tick * TICK_MS) && raised == arrivals[0] + arrivals[1]) {
            raised++;
            make_pending(source);
        }
        play(tick * TICK_MS, raised);
    }
}

void guest_main(void)
{
    frequency = counter_frequency();
    open_interface();
    write32(DISTRIBUTOR, GROUP_1);
    source = enable_spi();
    print_number("source ", source);
    print("\n");
    start_second();
#ifdef REMOTE
    for (;;) {
        __asm__ volatile("wfi" : : : "memory");
        take_interrupts(0);
    }
#else
    beat(0);
#endif
}
