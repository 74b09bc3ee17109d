/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest that fills all breakpoints, watchpoints and an event counter with values of its own
 * (OWN), and looks again and again whether they are still there. With EXCEPTIONS its debug
 * exceptions are enabled: then it meets one breakpoint and one watchpoint in each round. Without,
 * it goes to the same places, and meets none.
 */
#include "machine.h"

#define ROUNDS   100u
#define ROUND_US 1000u

/* Arm ARM, ESR_EL1.EC, without a change of the exception level. */
#define CLASS_BREAKPOINT 0x31u
#define CLASS_WATCHPOINT 0x35u

/* Arm ARM, DBGBCR<n>_EL1 and DBGWCR<n>_EL1: at EL1, all bytes, loads and stores. */
#define BREAK_CONTROL UINT64_C(0x1e3)
#define WATCH_CONTROL UINT64_C(0x1ffb)
#define MDSCR_ENABLE  (UINT64_C(1) << 15 | UINT64_C(1) << 13) /* MDE, KDE */

#define FAR_AWAY UINT64_C(0x7fff0000)

#define EACH_NUMBER(do_it)                                                                    \
    do_it(0) do_it(1) do_it(2) do_it(3) do_it(4) do_it(5) do_it(6) do_it(7) do_it(8) do_it(9) \
        do_it(10) do_it(11) do_it(12) do_it(13) do_it(14) do_it(15)
#define WRITE_PAIR(kind, n)                                                                   \
    case n:                                                                                   \
        __asm__ volatile("msr dbg" kind "vr" #n "_el1, %0\n\tmsr dbg" kind "cr" #n "_el1, %1" \
                         :                                                                    \
                         : "r"(value), "r"(control));                                         \
        break;
#define READ_PAIR(kind, n)                                                                    \
    case n:                                                                                   \
        __asm__ volatile("mrs %0, dbg" kind "vr" #n "_el1\n\tmrs %1, dbg" kind "cr" #n "_el1" \
                         : "=r"(value), "=r"(control));                                       \
        break;
#define WRITE_BREAK(n) WRITE_PAIR("b", n)
#define WRITE_WATCH(n) WRITE_PAIR("w", n)
#define READ_BREAK(n)  READ_PAIR("b", n)
#define READ_WATCH(n)  READ_PAIR("w", n)

uint64_t guest_exception(uint64_t syndrome, uint64_t address);
void guest_stop(void); /* exceptions.S */
extern const char guest_vectors[];

static volatile uint32_t breaks, watches, others;
static volatile uint64_t watched;

/* Executes for a while, in which the other guests execute, too. */
static void spend(uint64_t us)
{
    uint64_t begin = counter();

    while (counter() - begin < counter_frequency() / 1000000 * us) {
    }
}

static void write_break(unsigned n, uint64_t value, uint64_t control)
{
    switch (n) {
        EACH_NUMBER(WRITE_BREAK)
    }
}

static void write_watch(unsigned n, uint64_t value, uint64_t control)
{
    switch (n) {
        EACH_NUMBER(WRITE_WATCH)
    }
}

static uint64_t read_break(unsigned n)
{
    uint64_t value = 0, control = 0;

    switch (n) {
        EACH_NUMBER(READ_BREAK)
    }
    return control == BREAK_CONTROL ? value : 0;
}

static uint64_t read_watch(unsigned n)
{
    uint64_t value = 0, control = 0;

    switch (n) {
        EACH_NUMBER(READ_WATCH)
    }
    return control == WATCH_CONTROL ? value : 0;
}

/* Pair 0 is for the places that the guest goes to, the others for places that differ for each guest
 * and that none goes to. */
static uint64_t break_address(unsigned n)
{
    return n == 0 ? (uintptr_t)guest_stop : FAR_AWAY + OWN * 0x1000 + n * 8;
}

static uint64_t watch_address(unsigned n)
{
    return n == 0 ? (uintptr_t)&watched : FAR_AWAY + OWN * 0x1000 + 0x800 + n * 8;
}

/* Arm ARM, ID_AA64DFR0_EL1. */
static unsigned pairs(unsigned shift)
{
    uint64_t features;

    __asm__("mrs %0, id_aa64dfr0_el1" : "=r"(features));
    return (unsigned)(features >> shift & 0xf) + 1;
}

static uint64_t event_count(void)
{
    uint64_t count;

    __asm__ volatile("msr pmselr_el0, xzr\n\tisb\n\tmrs %0, pmxevcntr_el0" : "=r"(count));
    return count;
}

static void fill(void)
{
    for (unsigned n = 0; n < pairs(12); n++) {
        write_break(n, break_address(n), BREAK_CONTROL);
    }
    for (unsigned n = 0; n < pairs(20); n++) {
        write_watch(n, watch_address(n), WATCH_CONTROL);
    }
    __asm__ volatile("msr pmselr_el0, xzr\n\tisb\n\tmsr pmxevcntr_el0, %0" : : "r"(UINT64_C(OWN)));
#ifdef EXCEPTIONS
    __asm__ volatile("msr vbar_el1, %0\n\tmsr mdscr_el1, %1\n\tisb\n\tmsr daifclr, #8"
                     :
                     : "r"(guest_vectors), "r"(MDSCR_ENABLE));
#endif
}

static const char *difference(void)
{
    for (unsigned n = 0; n < pairs(12); n++) {
        if (read_break(n) != break_address(n)) {
            return "FAIL: breakpoint\n";
        }
    }
    for (unsigned n = 0; n < pairs(20); n++) {
        if (read_watch(n) != watch_address(n)) {
            return "FAIL: watchpoint\n";
        }
    }
    return event_count() == OWN ? 0 : "FAIL: event counter\n";
}

uint64_t guest_exception(uint64_t syndrome, uint64_t address)
{
    switch (syndrome >> 26) {
    case CLASS_BREAKPOINT:
        breaks++;
        break;
    case CLASS_WATCHPOINT:
        watches++;
        break;
    default:
        others++;
        break;
    }
    return address + 4;
}

/* Returns what is wrong, or NULL. */
static const char *round_fails(unsigned count)
{
#ifdef EXCEPTIONS
    uint32_t expected = count;
#else
    uint32_t expected = 0 * count;
#endif

    spend(ROUND_US);
    guest_stop();
    watched = count;
    if (breaks != expected || watches != expected || others != 0) {
        return "FAIL: exceptions\n";
    }
    return difference();
}

void guest_main(void)
{
    const char *failure = 0;

    fill();
    for (unsigned count = 1; count <= ROUNDS && failure == 0; count++) {
        failure = round_fails(count);
    }
    print(failure != 0 ? failure : "PASS\n");
    (void)call(SYSTEM_OFF, 0, 0, 0);
    for (;;) {
    }
}
