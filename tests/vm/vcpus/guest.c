/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest with four VCPUs and one SPI. VCPU 0 routes the SPI to each of them, also while it is
 * pending or active, and prints where it has come. The VCPUs 0 and 1 share a core, and so may 2 and
 * 3.
 *
 * Interrupts are masked: a VCPU sleeps, and then takes what is pending.
 */
#include "interrupts.h"
#include <stdbool.h>

#define SGI           3u
#define RWP_READS_MAX 1000u
#define SETTLE_US     40000u /* each VCPU executes several times meanwhile */

#define VCPUS 4u

/* How a VCPU handles its interrupts: it takes and ends them, keeps the SPI active, takes none, or
 * turns itself off. */
enum manner { TAKES, KEEPS_ACTIVE, IS_DEAF, ENDS };

static uint32_t source; /* INTID of the SPI */
static volatile uint32_t arrivals[VCPUS], messages[VCPUS];
static volatile enum manner manners[VCPUS];

/* Prints the text with a digit for each VCPU: how often something has come since the last call. */
static void print_new(const char *text, const volatile uint32_t *counts, uint32_t *before)
{
    char digit[3] = " 0";

    print(text);
    for (unsigned vcpu = 0; vcpu < VCPUS; vcpu++) {
        uint32_t count = counts[vcpu];

        digit[1] = (char)('0' + (count - before[vcpu] < 9 ? count - before[vcpu] : 9));
        before[vcpu] = count;
        print(digit);
    }
    print("\n");
}

static void open_vcpu(unsigned vcpu)
{
    write32(sgi_frame(vcpu) + ISENABLER, 1u << SGI);
    open_interface();
}

/* Takes all pending interrupts, as long as the VCPU is to take any. */
static void take_interrupts(unsigned vcpu)
{
    while (manners[vcpu] != IS_DEAF) {
        uint64_t number = acknowledge();

        if (number >= NONE) {
            return;
        }
        if (number == source) {
            arrivals[vcpu]++;
        } else if (number == SGI) {
            messages[vcpu]++;
        }
        while (number == source && manners[vcpu] == KEEPS_ACTIVE) {
        }
        end_interrupt(number);
    }
}

static void send_to_others(void)
{
    send_sgi(SGI, UINT64_C(1) << 40); /* IRM: to all other VCPUs */
}

static void other_main(void)
{
    unsigned vcpu = own_number();

    open_vcpu(vcpu);
    while (manners[vcpu] != ENDS) {
        if (manners[vcpu] != IS_DEAF) {
            __asm__ volatile("wfi" : : : "memory");
        }
        take_interrupts(vcpu);
    }
    (void)call(CPU_OFF, 0, 0, 0);
}

/* Lets time pass. VCPU 0 takes its interrupts meanwhile. */
static void settle(void)
{
    uint64_t start = counter();

    while (counter() - start < counter_frequency() / 1000000 * SETTLE_US) {
        take_interrupts(0);
    }
}

/* Waits until a VCPU's list register has it, or until it is set aside for the VCPU. What VCPU 0 has
 * so is not active for it. */
static void wait_until_listed(unsigned vcpu)
{
    while (vcpu != 0 &&
           (read32(DISTRIBUTOR + ISACTIVER + source / 32 * 4) >> source % 32 & 1) == 0) {
    }
}

static void route(unsigned vcpu)
{
    set_route(source, vcpu);
    if (read_route(source) != vcpu) {
        print("FAIL: another route is read\n");
    }
}

/* It is for a VCPU that takes no interrupts, when it gets another route. If the VCPU has executed
 * since, a list register has it. */
static void move_while_pending(unsigned from, unsigned to, bool has_executed)
{
    manners[from] = IS_DEAF;
    route(from);
    make_pending(source);
    wait_until_listed(from);
    if (has_executed) {
        settle();
    }
    route(to);
    settle();
    manners[from] = TAKES;
    settle();
}

/* It comes to the VCPU that handles it, and again, for the other one, when it is not active. */
static void move_while_active(unsigned from, unsigned to)
{
    uint32_t before = arrivals[from];

    manners[from] = KEEPS_ACTIVE;
    route(from);
    make_pending(source);
    while (arrivals[from] == before) {
    }
    route(to);
    make_pending(source);
    settle();
    manners[from] = TAKES;
    settle();
}

/* The VCPU of the same core has it in a list register, and does not execute. */
static void disable_while_pending(void)
{
    uint32_t before[VCPUS], reads = 0;

    for (unsigned vcpu = 0; vcpu < VCPUS; vcpu++) {
        before[vcpu] = arrivals[vcpu];
    }
    manners[1] = IS_DEAF;
    route(1);
    make_pending(source);
    settle();
    write32(DISTRIBUTOR + ICENABLER + source / 32 * 4, 1u << source % 32);
    while ((read32(DISTRIBUTOR) & WRITE_PENDING) != 0) {
        reads++;
    }
    print(reads < RWP_READS_MAX ? "disabled soon\n" : "disabled late\n");
    manners[1] = TAKES;
    settle();
    print_new("disabled:", arrivals, before);
    write32(DISTRIBUTOR + ISENABLER + source / 32 * 4, 1u << source % 32);
    settle();
    print_new("enabled:", arrivals, before);
}

static void start_others(void)
{
    for (unsigned vcpu = 1; vcpu < VCPUS; vcpu++) {
        manners[vcpu] = TAKES;
        (void)call(CPU_ON, vcpu, (uintptr_t)guest_other, (uintptr_t)other_main);
    }
    settle();
}

static void end_others(void)
{
    for (unsigned vcpu = 1; vcpu < VCPUS; vcpu++) {
        manners[vcpu] = ENDS;
    }
    send_to_others();
    for (unsigned vcpu = 1; vcpu < VCPUS; vcpu++) {
        while (call(AFFINITY_INFO, vcpu, 0, 0) != IS_OFF) {
        }
    }
}

static void test_routes(void)
{
    static const struct {
        unsigned from, to;
    } moves[] = {{1, 0}, {0, 1}, {1, 2}, {2, 3}, {3, 0}};
    uint32_t before[VCPUS] = {0};

    for (unsigned vcpu = 0; vcpu < VCPUS; vcpu++) {
        before[vcpu] = arrivals[vcpu];
    }
    for (unsigned vcpu = 0; vcpu < VCPUS; vcpu++) {
        route(vcpu);
        make_pending(source);
        settle();
        print_new("routed:", arrivals, before);
    }
    for (unsigned i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
        move_while_pending(moves[i].from, moves[i].to, false);
        print_new("set aside:", arrivals, before);
        move_while_pending(moves[i].from, moves[i].to, true);
        print_new("pending:", arrivals, before);
    }
    for (unsigned i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
        if (moves[i].from != 0) { /* VCPU 0 executes this */
            move_while_active(moves[i].from, moves[i].to);
            print_new("active:", arrivals, before);
        }
    }
}

/* The frames of the other VCPUs are as its own. */
static void test_frames(void)
{
    uint32_t before[VCPUS];
    bool is_right = true;

    for (unsigned vcpu = 0; vcpu < VCPUS; vcpu++) {
        uintptr_t frame = sgi_frame(vcpu);
        uint32_t sgi = 4 + vcpu;

        before[vcpu] = messages[vcpu];
        is_right = is_right && read32(frame + ISENABLER) == 1u << SGI;
        write32(frame + ISENABLER, 1u << sgi);
        is_right = is_right && read32(frame + ISENABLER) == (1u << SGI | 1u << sgi);
        write32(frame + ICENABLER, 1u << sgi);
        is_right = is_right && read32(frame + ISENABLER) == 1u << SGI;
        write32(frame + IPRIORITYR + 4, 0x10203040u + (vcpu << 28));
        *(volatile uint8_t *)(frame + IPRIORITYR + 5) = 0x50;
    }
    for (unsigned vcpu = 0; vcpu < VCPUS; vcpu++) {
        uintptr_t frame = sgi_frame(vcpu);

        is_right = is_right && read32(frame + IPRIORITYR + 4) == 0x10205040u + (vcpu << 28);
        write32(frame + ISPENDR, 1u << SGI);
    }
    print(is_right ? "frames\n" : "FAIL: frames\n");
    settle();
    print_new("made pending:", messages, before);
}

/* A VCPU that is off has no private interrupt enabled. */
static void test_frames_of_off_vcpus(void)
{
    uint32_t enabled = 0;

    for (unsigned vcpu = 1; vcpu < VCPUS; vcpu++) {
        enabled |= read32(sgi_frame(vcpu) + ISENABLER);
    }
    print(enabled == 0 ? "off\n" : "FAIL: off, and enabled\n");
}

static void test_messages(void)
{
    uint32_t before[VCPUS];

    for (unsigned vcpu = 0; vcpu < VCPUS; vcpu++) {
        before[vcpu] = messages[vcpu];
    }
    send_to_others();
    settle();
    print_new("messages:", messages, before);
}

void guest_main(void)
{
    open_vcpu(0);
    write32(DISTRIBUTOR, GROUP_1);
    source = enable_spi();
    for (unsigned run = 0; run < 2; run++) {
        start_others();
        test_routes();
        disable_while_pending();
        test_messages();
        test_frames();
        end_others();
        test_frames_of_off_vcpus();
    }
    print("end\n");
    for (;;) {
        __asm__ volatile("wfi" : : : "memory");
    }
}
