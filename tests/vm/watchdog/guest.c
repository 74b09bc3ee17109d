/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest that hangs, with all interrupts masked, in one of several ways. WAY: the function that it
 * calls. CONTROL: address of its watchdog's control frame. BEATS: that of its heartbeat's page.
 */
#include "machine.h"

#define REFRESH (CONTROL + 0x1000)
#define WCS     0x000u
#define WOR     0x008u

#define LIMIT_MS  20u /* of a watch period */
#define BEAT_MS   2u
#define REFRESHES 20u

/* Arm DEN 0022: the entry of CPU_ON has no parameter but the function. */
static volatile uint64_t *count_of(unsigned vcpu)
{
    return (volatile uint64_t *)((uintptr_t)BEATS + 64 * (uintptr_t)vcpu);
}

static void wait_ms(uint64_t milliseconds)
{
    uint64_t start = counter(), ticks = milliseconds * counter_frequency() / 1000;

    while (counter() - start < ticks) {
    }
}

static void enable(void)
{
    write32(CONTROL + WOR, (uint32_t)(LIMIT_MS * counter_frequency() / 1000));
    write32(CONTROL + WCS, 1);
}

static _Noreturn void hang(void)
{
    print("hangs\n");
    for (;;) {
        __asm__ volatile("" : : : "memory");
    }
}

/* Refreshes in time, then no more. */
static inline void stop_refreshing(void)
{
    enable();
    for (unsigned i = 0; i < REFRESHES; i++) {
        wait_ms(LIMIT_MS / 4);
        write32(REFRESH, 0);
    }
    hang();
}

static inline void refresh_for_ever(void)
{
    enable();
    print("refreshes\n");
    for (;;) {
        wait_ms(LIMIT_MS / 4);
        write32(REFRESH, 0);
    }
}

/* Enables the watchdog, and disables it again. */
static inline void disable(void)
{
    enable();
    wait_ms(LIMIT_MS / 2);
    write32(CONTROL + WCS, 0);
    wait_ms(4 * LIMIT_MS);
    print("disabled\n");
    for (;;) {
    }
}

static inline void sleep_with_watchdog(void)
{
    enable();
    print("sleeps\n");
    for (;;) {
        __asm__ volatile("wfi");
    }
}

static void run_second(void)
{
    for (unsigned i = 0; i < REFRESHES; i++) {
        wait_ms(LIMIT_MS / 4);
        write32(REFRESH, 0);
    }
    hang();
}

/* The first core enables the watchdog and turns off; the second one refreshes it, then hangs. */
static inline void turn_off(void)
{
    enable();
    (void)call(CPU_ON, 1, (uintptr_t)guest_other, (uintptr_t)run_second);
    (void)call(CPU_OFF, 0, 0, 0);
}

static void beat(unsigned vcpu, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        *count_of(vcpu) = *count_of(vcpu) + 1;
        wait_ms(BEAT_MS);
    }
}

static inline void stop_beating(void)
{
    beat(0, 50);
    hang();
}

static void beat_second(void)
{
    beat(1, 50);
    hang();
}

/* The first core beats for ever, the second one hangs. */
static inline void let_second_hang(void)
{
    (void)call(CPU_ON, 1, (uintptr_t)guest_other, (uintptr_t)beat_second);
    for (;;) {
        beat(0, 100);
    }
}

static inline void never_beat(void)
{
    hang();
}

/* Accesses the watchdog all the time, with the shortest offsets. */
static inline void flood(void)
{
    print("floods\n");
    for (uint32_t i = 0;; i++) {
        write32(CONTROL + WOR, i & 1);
        write32(CONTROL + WCS, i >> 1 & 1);
        write32(REFRESH, i);
    }
}

void guest_main(void)
{
    WAY();
}
