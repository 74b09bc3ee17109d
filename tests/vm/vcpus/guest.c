/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest with four VCPUs and one SPI. VCPU 0 routes the SPI to each of them, also while it is
 * pending or active, and prints where it has come. The VCPUs 0 and 1 share a core, and so may 2 and
 * 3.
 *
 * Interrupts are masked: a VCPU sleeps, and then takes what is pending.
 */
#include <stdbool.h>
#include <stdint.h>

#define UART_DATA          0x09000000u
#define UART_FLAGS         0x09000018u
#define FLAG_FULL          (1u << 5)
#define DISTRIBUTOR        0x08000000u
#define WRITE_PENDING      (1u << 31) /* GICD_CTLR.RWP */
#define ISENABLER          0x0100u
#define IPRIORITYR         0x0400u
#define ICENABLER          0x0180u
#define ISPENDR            0x0200u
#define ISACTIVER          0x0300u
#define IROUTER            0x6000u
#define REDISTRIBUTORS     0x080a0000u
#define REDISTRIBUTOR_STEP 0x20000u
#define SGI_FRAME          0x10000u
#define SPI_WORDS          32u
#define NONE               1020u /* IHI 0069, "Special INTIDs" */
#define SGI                3u
#define RWP_READS_MAX      1000u
#define SETTLE_US          40000u /* each VCPU executes several times meanwhile */

/* Arm DEN 0022. */
#define CPU_OFF       UINT64_C(0x84000002)
#define CPU_ON        UINT64_C(0xc4000003)
#define AFFINITY_INFO UINT64_C(0xc4000004)
#define IS_OFF        1

#define VCPUS 4u

/* How a VCPU handles its interrupts: it takes and ends them, keeps the SPI active, takes none, or
 * turns itself off. */
enum manner { TAKES, KEEPS_ACTIVE, IS_DEAF, ENDS };

void guest_main(void);
extern const char guest_other[];

static uint32_t source; /* INTID of the SPI */
static volatile uint32_t arrivals[VCPUS], messages[VCPUS];
static volatile enum manner manners[VCPUS];

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

static unsigned own_number(void)
{
    uint64_t affinity;

    __asm__("mrs %0, mpidr_el1" : "=r"(affinity));
    return affinity & 0xff;
}

static void open_interface(unsigned vcpu)
{
    write32(REDISTRIBUTORS + vcpu * REDISTRIBUTOR_STEP + SGI_FRAME + ISENABLER, 1u << SGI);
    __asm__ volatile("msr s3_0_c12_c12_5, %0\n\tisb\n\t" /* ICC_SRE_EL1 */
                     "msr s3_0_c4_c6_0, %1\n\t"          /* ICC_PMR_EL1 */
                     "msr s3_0_c12_c12_7, %0\n\tisb"     /* ICC_IGRPEN1_EL1 */
                     :
                     : "r"(UINT64_C(1)), "r"(UINT64_C(0xff)));
}

/* Takes all pending interrupts, as long as the VCPU is to take any. */
static void take_interrupts(unsigned vcpu)
{
    while (manners[vcpu] != IS_DEAF) {
        uint64_t number;

        __asm__ volatile("mrs %0, s3_0_c12_c12_0" : "=r"(number) : : "memory"); /* ICC_IAR1_EL1 */
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
        __asm__ volatile("msr s3_0_c12_c12_1, %0\n\tisb" : : "r"(number)); /* ICC_EOIR1_EL1 */
    }
}

/* Sends the SGI to all other VCPUs. */
static void send_to_others(void)
{
    __asm__ volatile("dsb sy\n\tmsr s3_0_c12_c11_5, %0\n\tisb" /* ICC_SGI1R_EL1 */
                     :
                     : "r"(UINT64_C(1) << 40 | (uint64_t)SGI << 24));
}

static void other_main(void)
{
    unsigned vcpu = own_number();

    open_interface(vcpu);
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
    uint64_t frequency, start = counter();

    __asm__("mrs %0, cntfrq_el0" : "=r"(frequency));
    while (counter() - start < frequency / 1000000 * SETTLE_US) {
        take_interrupts(0);
    }
}

static void make_pending(void)
{
    write32(DISTRIBUTOR + ISPENDR + source / 32 * 4, 1u << source % 32);
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
    *(volatile uint64_t *)(uintptr_t)(DISTRIBUTOR + IROUTER + 8 * source) = vcpu;
    if (read32(DISTRIBUTOR + IROUTER + 8 * source) != vcpu) {
        print("FAIL: another route is read\n");
    }
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

/* It is for a VCPU that takes no interrupts, when it gets another route. If the VCPU has executed
 * since, a list register has it. */
static void move_while_pending(unsigned from, unsigned to, bool has_executed)
{
    manners[from] = IS_DEAF;
    route(from);
    make_pending();
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
    make_pending();
    while (arrivals[from] == before) {
    }
    route(to);
    make_pending();
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
    make_pending();
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
        make_pending();
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
        uintptr_t frame = REDISTRIBUTORS + vcpu * REDISTRIBUTOR_STEP + SGI_FRAME;
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
        uintptr_t frame = REDISTRIBUTORS + vcpu * REDISTRIBUTOR_STEP + SGI_FRAME;

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
        enabled |= read32(REDISTRIBUTORS + vcpu * REDISTRIBUTOR_STEP + SGI_FRAME + ISENABLER);
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
    open_interface(0);
    write32(DISTRIBUTOR, 1u << 1); /* GICD_CTLR.EnableGrp1 */
    source = enable_source();
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
