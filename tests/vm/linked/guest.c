/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest made for QEMU's virt that knows nothing of Bulkhead. It is linked for fixed addresses,
 * reads no devicetree, and initializes the MMU, the GIC and the timers in the same order as RTEMS'
 * BSP for that machine. It uses the machine's first Redistributor, whichever core it runs on.
 */
#include <stdbool.h>
#include <stdint.h>

#define UART_DATA    0x09000000u
#define UART_FLAGS   0x09000018u
#define UART_LINE    0x0900002cu
#define UART_CONTROL 0x09000030u
#define FLAG_FULL    (1u << 5)

#define DISTRIBUTOR   0x08000000u
#define REDISTRIBUTOR 0x080a0000u
#define SGI_FRAME     (REDISTRIBUTOR + 0x10000u)
/* IHI 0069: offsets in GICD; registers of private interrupts have the same offsets in the SGI
 * frame. */
#define CTLR       0x0u
#define TYPER      0x4u
#define WAKER      0x14u /* in the RD frame */
#define IGROUPR    0x80u
#define ISENABLER  0x100u
#define ICENABLER  0x180u
#define IPRIORITYR 0x400u
#define ITARGETSR  0x800u
#define IGRPMODR   0xd00u

#define PRIORITY       127u
#define PHYSICAL_TIMER 30u
#define VIRTUAL_TIMER  27u
#define TICKS          3u
#define SPURIOUS       1020u

#define REGISTER_READ(name)                                            \
    __extension__({                                                    \
        uint64_t read_;                                                \
        __asm__ volatile("mrs %0, " #name : "=r"(read_) : : "memory"); \
        read_;                                                         \
    })
#define REGISTER_WRITE(name, value) \
    __asm__ volatile("msr " #name ", %0\n\tisb" : : "r"((uint64_t)(value)) : "memory")

void guest_main(const uint32_t *devicetree);
void guest_interrupt(void);
void guest_failed(void);
_Noreturn void power_off(void);

static uint64_t table[512] __attribute__((aligned(4096)));
static uint64_t first_table[512] __attribute__((aligned(4096)));
static volatile uint64_t zero, loaded = 0x0123456789abcdef;
static volatile uint32_t ticks, other_interrupts;

static uint32_t read32(uintptr_t address)
{
    return *(volatile uint32_t *)address;
}

static void write32(uintptr_t address, uint32_t value)
{
    *(volatile uint32_t *)address = value;
}

static void write8(uintptr_t address, uint8_t value)
{
    *(volatile uint8_t *)address = value;
}

static void print(const char *text)
{
    for (; *text != '\0'; text++) {
        while ((read32(UART_FLAGS) & FLAG_FULL) != 0) {
        }
        write32(UART_DATA, (uint8_t)*text);
    }
}

static void print_number(const char *text, uint64_t value)
{
    char digits[17];

    for (unsigned i = 0; i < 16; i++) {
        digits[i] = "0123456789abcdef"[value >> (60 - 4 * i) & 0xf];
    }
    digits[16] = '\0';
    print(text);
    print(digits);
    print("\n");
}

void guest_failed(void)
{
    print_number("FAIL: exception, syndrome ", REGISTER_READ(esr_el1));
    power_off();
}

/* Maps 48 bits of addresses one to one: devices below 1 GiB, memory in the GiB above. */
static void mmu_on(void)
{
    for (uint64_t way = 0; way < 4; way++) {
        __asm__ volatile("dc cisw, %0" : : "r"(way << 30) : "memory");
    }
    first_table[0] = (uintptr_t)table | 0x3;
    table[0] = UINT64_C(0x00000000) | 0x701; /* valid block, Inner Shareable, accessed, index 0 */
    table[1] = UINT64_C(0x40000000) | 0x70d; /* index 3 */
    REGISTER_WRITE(tcr_el1, UINT64_C(5) << 32 | 1u << 23 | 3u << 12 | 1u << 10 | 1u << 8 | 16u);
    REGISTER_WRITE(mair_el1, 0xff440400);
    REGISTER_WRITE(ttbr0_el1, (uintptr_t)first_table);
    __asm__ volatile("tlbi vmalle1\n\tdsb sy\n\tisb" : : : "memory");
    REGISTER_WRITE(sctlr_el1, REGISTER_READ(sctlr_el1) | 1u << 12 | 1u << 2 | 1u);
}

static void start_distributor(void)
{
    uint32_t count = 32 * ((read32(DISTRIBUTOR + TYPER) & 0x1f) + 1);

    count = count < SPURIOUS ? count : SPURIOUS;
    write32(DISTRIBUTOR + CTLR, 0x37);
    for (uint32_t id = 0; id < count; id += 32) {
        write32(DISTRIBUTOR + ICENABLER + id / 8, 0xffffffff);
        write32(DISTRIBUTOR + IGROUPR + id / 8, 0xffffffff);
        write32(DISTRIBUTOR + IGRPMODR + id / 8, 0);
    }
    for (uint32_t id = 0; id < count; id++) {
        write8(DISTRIBUTOR + IPRIORITYR + id, PRIORITY);
    }
    for (uint32_t id = 32; id < count; id++) {
        write8(DISTRIBUTOR + ITARGETSR + id, 1);
    }
    print_number("distributor: interrupts ", count);
}

static void start_core(void)
{
    REGISTER_WRITE(S3_0_C12_C12_5, 0x3); /* ICC_SRE_EL1 */
    REGISTER_WRITE(S3_0_C4_C6_0, 0xff);  /* ICC_PMR_EL1 */
    REGISTER_WRITE(S3_0_C12_C12_3, 0x3); /* ICC_BPR1_EL1 */
    write32(REDISTRIBUTOR + WAKER, read32(REDISTRIBUTOR + WAKER) & ~2u);
    write32(SGI_FRAME + IGROUPR, 0xffffffff);
    write32(SGI_FRAME + IGRPMODR, 0);
    for (uint32_t id = 0; id < 32; id++) {
        write8(SGI_FRAME + IPRIORITYR + id, PRIORITY);
    }
    REGISTER_WRITE(S3_0_C12_C12_7, 1); /* ICC_IGRPEN1_EL1 */
    REGISTER_WRITE(S3_0_C12_C12_4, 0); /* ICC_CTLR_EL1 */
    print_number("redistributor: group ", read32(SGI_FRAME + IGROUPR));
}

static void enable(uint32_t interrupt)
{
    write32(SGI_FRAME + IGROUPR, read32(SGI_FRAME + IGROUPR) | 1u << interrupt);
    write32(SGI_FRAME + IGRPMODR, read32(SGI_FRAME + IGRPMODR) & ~(1u << interrupt));
    write32(SGI_FRAME + ISENABLER, 1u << interrupt);
}

void guest_interrupt(void)
{
    for (;;) {
        uint32_t interrupt = REGISTER_READ(S3_0_C12_C12_0) & 0x3ff; /* ICC_IAR1_EL1 */
        uint64_t interval = REGISTER_READ(cntfrq_el0) / 100;

        if (interrupt >= SPURIOUS) {
            return;
        }
        if (interrupt == PHYSICAL_TIMER) {
            REGISTER_WRITE(cntp_cval_el0, REGISTER_READ(cntp_cval_el0) + interval);
            ticks++;
        } else if (interrupt == VIRTUAL_TIMER) {
            REGISTER_WRITE(cntv_cval_el0, REGISTER_READ(cntv_cval_el0) + interval);
            ticks++;
        } else {
            other_interrupts++;
        }
        REGISTER_WRITE(S3_0_C12_C12_1, interrupt); /* ICC_EOIR1_EL1 */
    }
}

static void wait_for_ticks(const char *text)
{
    __asm__ volatile("msr daifclr, #2" : : : "memory");
    while (ticks < TICKS) {
        __asm__ volatile("wfi" : : : "memory");
    }
    __asm__ volatile("msr daifset, #2" : : : "memory");
    print_number(text, other_interrupts);
    ticks = 0;
}

void guest_main(const uint32_t *devicetree)
{
    uint64_t interval = REGISTER_READ(cntfrq_el0) / 100;

    write32(UART_LINE, 0x60);
    write32(UART_CONTROL, 0x301);
    print_number("core ", REGISTER_READ(mpidr_el1) & 0xff);
    print(zero == 0 && loaded == 0x0123456789abcdef ? "loaded\n" : "FAIL: not what the file has\n");
    print(*devicetree == 0xedfe0dd0 ? "devicetree\n" : "FAIL: x0 is no devicetree\n");
    mmu_on();
    print("mmu\n");
    start_distributor();
    start_core();
    REGISTER_WRITE(cntp_ctl_el0, 3);
    enable(PHYSICAL_TIMER);
    REGISTER_WRITE(cntp_cval_el0, REGISTER_READ(cntpct_el0) + interval);
    REGISTER_WRITE(cntp_ctl_el0, 1);
    wait_for_ticks("physical timer: other interrupts ");
    REGISTER_WRITE(cntp_ctl_el0, 0);
    enable(VIRTUAL_TIMER);
    REGISTER_WRITE(cntv_cval_el0, REGISTER_READ(cntvct_el0) + interval);
    REGISTER_WRITE(cntv_ctl_el0, 1);
    wait_for_ticks("virtual timer: other interrupts ");
    print("PASS\n");
    power_off();
}
