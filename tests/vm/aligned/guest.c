/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest with two VCPUs that always have work, except that VCPU 1 sleeps now and then for a time
 * that varies. VCPU 0 sends SGIs to VCPU 1 and measures when they arrive.
 *
 * Interrupts are masked: VCPU 1 looks for what is pending.
 */
#include "interrupts.h"
#include <stdbool.h>

#define SGI          3u
#define TIMER        27u /* INTID of the virtual timer */
#define ROUNDS       40u
#define PAUSE_US_MAX 4096u
#define SLEEP_US_MAX 8192u
#define SLEEPS_EVERY 4u /* rounds */
#define LATE_US      13000u

static volatile uint32_t is_open;  /* VCPU 1 takes SGIs */
static volatile uint32_t received; /* number of SGIs */
static volatile uint64_t arrival;  /* counter at the last one */
static uint32_t random_state = 1;

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % limit;
}

static uint64_t ticks(uint64_t microseconds)
{
    return counter_frequency() / 1000000 * microseconds;
}

static void print_number(const char *text, uint64_t number)
{
    char digits[21];
    char *first = &digits[20];

    *first = '\0';
    do {
        *--first = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    print(text);
    print(first);
}

static void set_timer(uint64_t duration, uint64_t control)
{
    __asm__ volatile("msr cntv_tval_el0, %0\n\tmsr cntv_ctl_el0, %1\n\tisb"
                     :
                     : "r"(duration), "r"(control));
}

/* Waits in WFI for the timer or an SGI, so that the VCPU's core is free. */
static void sleep(uint64_t duration)
{
    set_timer(duration, 1);
    __asm__ volatile("dsb sy\n\twfi" : : : "memory");
    set_timer(0, 0);
}

static void receive(void)
{
    uint64_t number = acknowledge();

    if (number == SGI) {
        arrival = counter();
        end_interrupt(number);
        __atomic_store_n(&received, received + 1, __ATOMIC_RELEASE);
        if (received % SLEEPS_EVERY == 0) {
            sleep(ticks(random_below(SLEEP_US_MAX)));
        }
    } else if (number < NONE) {
        end_interrupt(number);
    }
}

static void other_main(void)
{
    write32(sgi_frame(1) + ISENABLER, 1u << SGI | 1u << TIMER);
    open_interface();
    /* After more than a period without work, the VCPU's periods begin at other times than those of
     * VCPU 0, unless they are aligned. */
    sleep(ticks(LATE_US));
    is_open = 1;
    for (;;) {
        receive();
    }
}

static void pause(uint64_t duration)
{
    uint64_t start = counter();

    while (counter() - start < duration) {
    }
}

void guest_main(void)
{
    uint64_t sum = 0, most = 0;

    write32(DISTRIBUTOR, GROUP_1);
    (void)call(CPU_ON, 1, (uintptr_t)guest_other, (uintptr_t)other_main);
    while (is_open == 0) {
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint64_t sent, latency;

        pause(ticks(random_below(PAUSE_US_MAX)));
        sent = counter();
        send_sgi(SGI, UINT64_C(1) << 1);
        while (__atomic_load_n(&received, __ATOMIC_ACQUIRE) == round) {
        }
        latency = arrival - sent;
        sum += latency;
        most = latency > most ? latency : most;
    }
    print_number("latency of ", ROUNDS);
    print_number(" SGIs: mean ", sum / ROUNDS);
    print_number(", most ", most);
    print("\n");
    for (;;) {
    }
}
