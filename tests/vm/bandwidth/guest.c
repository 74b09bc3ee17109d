/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest whose bandwidth is limited, in events of the board: instructions. WAY: the function that
 * it calls.
 */
#include "interrupts.h"

#define INST_RETIRED  UINT64_C(0x08)
#define CYCLE_COUNTER (UINT64_C(1) << 31)
#define PMCR_ENABLE   UINT64_C(1)
#define TIMER         30u /* EL1 physical timer */
#define LOOPS         1000u
#define TICK_US       250u

#define read_register(name)                                                   \
    ({                                                                        \
        uint64_t read_;                                                       \
        __asm__ volatile("isb\n\tmrs %0, " #name : "=r"(read_) : : "memory"); \
        read_;                                                                \
    })
#define write_register(name, value) \
    __asm__ volatile("msr " #name ", %0\n\tisb" : : "r"((uint64_t)(value)) : "memory")

static void print_number(uint64_t number)
{
    char digits[21];
    unsigned place = sizeof(digits) - 1;

    digits[place] = '\0';
    do {
        digits[--place] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    print(&digits[place]);
}

static void print_value(const char *name, uint64_t number)
{
    print(name);
    print(" ");
    print_number(number);
    print("\n");
}

/* Two instructions in each turn. */
static void execute(uint64_t turns)
{
    __asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(turns) : : "cc");
}

static void wait_us(uint64_t microseconds)
{
    uint64_t start = counter(), ticks = microseconds * counter_frequency() / 1000000;

    while (counter() - start < ticks) {
    }
}

static inline void spin(void)
{
    print("spins\n");
    for (;;) {
        __asm__ volatile("" : : : "memory");
    }
}

/* Executes nothing. Under -icount QEMU has one count of instructions for all cores, so those of
 * others count for one that sleeps. */
static inline void sleep(void)
{
    print("sleeps\n");
    for (;;) {
        __asm__ volatile("wfi");
    }
}

/* Starts a second core, and spins on both. */
static inline void spin_twice(void)
{
    (void)call(CPU_ON, 1, (uintptr_t)guest_other, (uintptr_t)spin);
    spin();
}

/* Counts its own instructions for a second of the board's counter. */
static inline void measure(void)
{
    uint64_t before;

    write_register(pmevtyper0_el0, INST_RETIRED);
    write_register(pmevcntr0_el0, 0);
    write_register(pmcntenset_el0, 1);
    wait_us(5000); /* the windows before have passed */
    before = read_register(pmevcntr0_el0);
    wait_us(100000);
    print_value("instructions", (uint32_t)(read_register(pmevcntr0_el0) - before));
    spin();
}

/* Uses its counters, and the interrupt that it does not have. */
static inline void use_counters(void)
{
    uint64_t count = read_register(pmcr_el0) >> 11 & 0x1f, before;

    print_value("counters", count);
    write_register(pmselr_el0, 1);
    write_register(pmxevtyper_el0, INST_RETIRED);
    write_register(pmxevcntr_el0, 0);
    write_register(pmcntenset_el0, 2);
    write_register(pmcr_el0, PMCR_ENABLE);
    before = read_register(pmxevcntr_el0);
    execute(LOOPS);
    print_value("counted", read_register(pmxevcntr_el0) - before);
    wait_us(5000); /* several windows end */
    print_value("selected", read_register(pmselr_el0));
    write_register(pmxevcntr_el0, UINT32_MAX - 10);
    write_register(pmintenset_el1, 2 | CYCLE_COUNTER);
    execute(LOOPS);
    wait_us(5000);
    print_value("overflowed", read_register(pmovsset_el0) & 2);
    print_value("interrupts", read_register(pmintenset_el1) & (2 | CYCLE_COUNTER));
    write32(sgi_frame(0) + ISENABLER, UINT32_C(1) << 23);
    print_value("owned", read32(sgi_frame(0) + ISENABLER) >> 23 & 1);
    spin();
}

/* Takes the interrupts of its timer while it spins, and prints how many came in 100 ms. */
static inline void take_ticks(void)
{
    uint64_t tick = TICK_US * counter_frequency() / 1000000, due, end;
    uint64_t ticks = 0;

    open_interface();
    write32(sgi_frame(0) + ISENABLER, UINT32_C(1) << TIMER);
    due = physical_counter() + tick;
    end = physical_counter() + counter_frequency() / 10;
    set_physical_timer(due);
    while (physical_counter() < end) {
        uint64_t number = acknowledge();

        if (number == TIMER) {
            ticks++;
            due += tick;
            set_physical_timer(due);
            end_interrupt(number);
        }
    }
    print_value("ticks", ticks);
    spin();
}

/* Sleeps most of the time: a window has far fewer instructions than its budget. */
static inline void sleep_mostly(void)
{
    uint64_t tick = TICK_US * counter_frequency() / 1000000;

    open_interface();
    write32(sgi_frame(0) + ISENABLER, UINT32_C(1) << TIMER);
    print("sleeps\n");
    for (;;) {
        uint64_t number;

        set_physical_timer(physical_counter() + tick);
        __asm__ volatile("wfi");
        number = acknowledge();
        if (number == TIMER) {
            set_physical_timer(UINT64_MAX);
            end_interrupt(number);
        }
        execute(LOOPS);
    }
}

/* Turns off and on again: each life of the VCPU has windows of its own. */
static inline void reset(void)
{
    print("spins\n");
    wait_us(20000);
    (void)call(SYSTEM_RESET, 0, 0, 0);
}

void guest_main(void)
{
    WAY();
}
