/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest with two VCPUs and one SPI, which it makes pending itself. Without PLAYS the SPI is
 * always periodic. With PLAYS it is sporadic from 3 to 5 s, and from time to time the guest does
 * something that ends a move (play()). It prints which VCPU got how many. With BUSY the second VCPU
 * never sleeps.
 *
 * Interrupts are masked: a VCPU sleeps, and then takes what is pending.
 */
#include <stdbool.h>
#include <stdint.h>

#define UART_DATA          0x09000000u
#define UART_FLAGS         0x09000018u
#define FLAG_FULL          (1u << 5)
#define DISTRIBUTOR        0x08000000u
#define ISENABLER          0x0100u
#define ISPENDR            0x0200u
#define IROUTER            0x6000u
#define REDISTRIBUTORS     0x080a0000u
#define REDISTRIBUTOR_STEP 0x20000u
#define SGI_FRAME          0x10000u
#define SPI_WORDS          32u
#define TIMER              27u   /* PPI of the virtual timer */
#define TIMER_IS_DUE       4u    /* Arm ARM, CNTV_CTL_EL0.ISTATUS */
#define NONE               1020u /* IHI 0069, "Special INTIDs" */

/* Arm DEN 0022. */
#define CPU_OFF       UINT64_C(0x84000002)
#define CPU_ON        UINT64_C(0xc4000003)
#define AFFINITY_INFO UINT64_C(0xc4000004)
#define IS_OFF        1

#define TICK_MS     2u
#define SPORADIC_MS 300u
#define REPORT_MS   500u
#define BUSY_LOOPS  10000u

void guest_main(void);
extern const char guest_other[];

static uint64_t frequency;
static uint32_t source; /* INTID of the SPI */
static volatile uint32_t arrivals[2];
static volatile bool second_ends, second_is_deaf;

static uint32_t read32(uintptr_t address)
{
    return *(volatile uint32_t *)address;
}

static void write32(uintptr_t address, uint32_t value)
{
    *(volatile uint32_t *)address = value;
}

static void print(const char *text)
{
    for (; *text != '\0'; text++) {
        while ((read32(UART_FLAGS) & FLAG_FULL) != 0) {
        }
        write32(UART_DATA, (uint8_t)*text);
    }
}

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

static int64_t call(uint64_t function, uint64_t first, uint64_t second, uint64_t third)
{
    register uint64_t x0 __asm__("x0") = function;
    register uint64_t x1 __asm__("x1") = first;
    register uint64_t x2 __asm__("x2") = second;
    register uint64_t x3 __asm__("x3") = third;

    __asm__ volatile("hvc #0" : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3) : : "memory");
    return (int64_t)x0;
}

static uint64_t counter(void)
{
    uint64_t value;

    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(value));
    return value;
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

static void open_interface(void)
{
    __asm__ volatile("msr s3_0_c12_c12_5, %0\n\tisb\n\t" /* ICC_SRE_EL1 */
                     "msr s3_0_c4_c6_0, %1\n\t"          /* ICC_PMR_EL1 */
                     "msr s3_0_c12_c12_7, %0\n\tisb"     /* ICC_IGRPEN1_EL1 */
                     :
                     : "r"(UINT64_C(1)), "r"(UINT64_C(0xff)));
}

/* Takes all pending interrupts. The timer's is over when the timer is set anew. */
static void take_interrupts(unsigned vcpu)
{
    for (;;) {
        uint64_t number;

        __asm__ volatile("mrs %0, s3_0_c12_c12_0" : "=r"(number) : : "memory"); /* ICC_IAR1_EL1 */
        if (number >= NONE) {
            return;
        }
        if (number == TIMER && timer_is_due()) {
            set_timer(UINT64_MAX);
        } else if (number == source) {
            arrivals[vcpu]++;
        }
        __asm__ volatile("msr s3_0_c12_c12_1, %0\n\tisb" : : "r"(number)); /* ICC_EOIR1_EL1 */
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

static void make_pending(void)
{
    write32(DISTRIBUTOR + ISPENDR + source / 32 * 4, 1u << source % 32);
}

/* Ends the second VCPU. An SGI wakes it. */
static void end_second(void)
{
    second_ends = true;
    __asm__ volatile("dsb sy\n\tmsr s3_0_c12_c11_5, %0\n\tisb" /* ICC_SGI1R_EL1: SGI 1 to VCPU 1 */
                     :
                     : "r"(UINT64_C(1) << 24 | UINT64_C(2)));
    while (call(AFFINITY_INFO, 1, 0, 0) != IS_OFF) {
    }
}

static void route_to_first(void)
{
    *(volatile uint64_t *)(uintptr_t)(DISTRIBUTOR + IROUTER + 8 * source) = 0;
}

/* The guest's only SPI is the only bit that it can set. */
static uint32_t enable_source(void)
{
    for (uint32_t word = 1; word < SPI_WORDS; word++) {
        uintptr_t address = DISTRIBUTOR + ISENABLER + 4 * word;

        write32(address, UINT32_MAX);
        if (read32(address) != 0) {
            return 32 * word + (uint32_t)__builtin_ctz(read32(address));
        }
    }
    print("FAIL: no SPI\n");
    return 0;
}

static void report(uint32_t ms, uint32_t raised)
{
    print_number("at ", ms);
    print_number(": raised ", raised);
    print_number(", first ", arrivals[0]);
    print_number(", second ", arrivals[1]);
    print_number(", route ", read32(DISTRIBUTOR + IROUTER + 8 * source));
    print("\n");
}

/* Returns true if the SPI comes at this time. */
static bool comes(uint32_t ms)
{
#ifdef PLAYS
    if (ms >= 3000 && ms < 5000) {
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
    if (ms == 8000) {
        end_second();
    } else if (ms == 10000) {
        start_second();
    } else if (ms == 13000) {
        route_to_first();
    } else if (ms == 15000) {
        second_is_deaf = true;
    } else if (ms == 17000) {
        end_second();
        start_second();
    } else if (ms == 19000) {
        print("end\n");
    }
#else
    (void)ms;
    (void)raised;
    (void)report;
    (void)end_second;
    (void)route_to_first;
#endif
}

/* Makes the SPI pending at its times, on a VCPU, for ever. */
static void beat(unsigned vcpu)
{
    uint64_t start = counter(), ticks = frequency / 1000 * TICK_MS;
    uint32_t raised = 0;

    write32(REDISTRIBUTORS + vcpu * REDISTRIBUTOR_STEP + SGI_FRAME + ISENABLER, 1u << TIMER);
    for (uint32_t tick = 1;; tick++) {
        set_timer(start + tick * ticks);
        while (counter() < start + tick * ticks) {
            __asm__ volatile("wfi" : : : "memory");
            take_interrupts(vcpu);
        }
        /* None comes while the last one waits: the GIC would merge the two. */
        if (comes(tick * TICK_MS) && raised == arrivals[0] + arrivals[1]) {
            raised++;
            make_pending();
        }
        play(tick * TICK_MS, raised);
    }
}

void guest_main(void)
{
    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
    open_interface();
    write32(DISTRIBUTOR, 1u << 1); /* GICD_CTLR.EnableGrp1 */
    source = enable_source();
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
