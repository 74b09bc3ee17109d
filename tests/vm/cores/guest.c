/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest on three consecutive cores of the machine. Each letter typed makes the cores act
 * (guest_main()). They end in all possible ways, some of them after they have shut themselves: the
 * core pretends to handle an interrupt of the highest priority, which blocks the hypervisor's
 * interrupt (docs/decisions/0013).
 */
#include "interrupts.h"

#define SGIS      16u
#define READS_MAX 1000u /* of a bit that becomes clear */

#define NOTHING 0x1000u /* an address that no device or memory has */

#define PATTERN UINT64_C(0x5ec2e75ec2e75ec2)

unsigned vectors_fill(uint64_t pattern); /* vectors.S */

static uint64_t first; /* number of the first core */
static volatile uint32_t reached;

static char typed(void)
{
    while ((read32(UART_FLAGS) & FLAG_EMPTY) != 0) {
    }
    return (char)read32(UART_DATA);
}

static void end(uint64_t function)
{
    (void)call(function, 0, 0, 0);
}

static void on(uint64_t core, void (*function)(void))
{
    (void)call(CPU_ON, core, (uintptr_t)guest_other, (uintptr_t)function);
}

static void on_and_wait(uint64_t core, void (*function)(void))
{
    on(core, function);
    while (reached == 0) {
    }
}

static void wait_until_off(uint64_t core)
{
    while (call(AFFINITY_INFO, core, 0, 0) != IS_OFF) {
    }
}

static void shut(void)
{
    __asm__ volatile("msr s3_0_c12_c12_5, %0\n\tisb\n\t" /* ICC_SRE_EL1 */
                     "msr s3_0_c12_c9_0, %1\n\tisb"      /* ICC_AP1R0_EL1 */
                     :
                     : "r"(UINT64_C(7)), "r"(UINT64_C(1)));
}

/* Functions for the other cores. */

static void spin(void)
{
    reached = 1;
    for (;;) {
    }
}

static void go_off(void)
{
    end(CPU_OFF);
}

static void fault(void)
{
    (void)read32(NOTHING);
}

static void shut_and_spin(void)
{
    shut();
    spin();
}

static void shut_and_sleep(void)
{
    shut();
    reached = 1;
    for (;;) {
        __asm__ volatile("dsb sy\n\twfi");
    }
}

static void shut_and_go_off(void)
{
    shut();
    go_off();
}

static void shut_and_fault(void)
{
    shut();
    fault();
}

static void reset_without_the_first(void)
{
    wait_until_off(first);
    end(SYSTEM_RESET);
}

static void fault_when_the_first_is_shut(void)
{
    while (reached == 0) {
    }
    fault();
}

static void reset_soon(void)
{
    for (volatile unsigned i = 0; i < 20000; i++) {
    }
    end(SYSTEM_RESET);
}

static void fault_soon(void)
{
    for (volatile unsigned i = 0; i < 20000; i++) {
    }
    fault();
}

/* Starts the second core again and again, which turns itself off each time, until the third core
 * ends the partition. */
static void start_again_and_again(void (*third)(void))
{
    on(first + 2, third);
    for (;;) {
        on(first + 1, go_off);
    }
}

/* Runs on the second core, which then turns itself off. */
static void fill_vectors(void)
{
    reached = vectors_fill(PATTERN) == 0 ? 1 : 2;
    end(CPU_OFF);
}

/* Fills the SIMD registers of the first two cores, and prints whether they were empty before. */
static void look_at_vectors(void)
{
    unsigned first_had = vectors_fill(PATTERN);

    on_and_wait(first + 1, fill_vectors);
    wait_until_off(first + 1);
    print(first_had == 0 && reached == 1 ? "vectors empty\n" : "vectors full\n");
    reached = 0;
}

/* Ends the partition with an interrupt that it has not acknowledged. */
static void end_with_an_interrupt(void)
{
    make_pending(enable_spi());
    end(SYSTEM_OFF);
}

/* Acknowledges the SPI, and returns its number. */
static uint32_t make_active(void)
{
    uint32_t spi = enable_spi();

    open_interface();
    make_pending(spi);
    while (acknowledge() >= NONE) {
    }
    return spi;
}

/* Disables an interrupt that is active. The second core, which has never been on, need not take
 * notice of it. */
static void disable_active(void)
{
    uint32_t spi = make_active(), reads = 0;

    write32(DISTRIBUTOR + ICENABLER + spi / 32 * 4, 1u << spi % 32);
    while ((read32(DISTRIBUTOR) & WRITE_PENDING) != 0 && reads < READS_MAX) {
        reads++;
    }
    print(reads < READS_MAX ? "disabled\n" : "FAIL: not disabled\n");
    end_interrupt(spi);
}

/* Disables and enables an active interrupt again and again, while the second core spins. */
static void change_again_and_again(void)
{
    uint32_t spi = make_active();

    on_and_wait(first + 1, spin);
    print("changes\n");
    for (;;) {
        write32(DISTRIBUTOR + ICENABLER + spi / 32 * 4, 1u << spi % 32);
        write32(DISTRIBUTOR + ISENABLER + spi / 32 * 4, 1u << spi % 32);
    }
}

/* Sends all SGIs to the second core again and again, which spins with its interrupts masked. */
static void call_again_and_again(void)
{
    on_and_wait(first + 1, spin);
    print("calls\n");
    for (;;) {
        for (uint32_t sgi = 0; sgi < SGIS; sgi++) {
            send_sgi(sgi, UINT64_C(1) << (first + 1));
        }
    }
}

static void obey(char order)
{
    switch (order) {
    case 'n': /* nothing: the other cores have never been on */
        break;
    case 'o':
        on(first + 1, go_off);
        wait_until_off(first + 1);
        break;
    case 'q':
        on(first + 1, shut_and_go_off);
        wait_until_off(first + 1);
        break;
    case 'p':
        on_and_wait(first + 1, shut_and_spin);
        break;
    case 'z':
        on_and_wait(first + 1, shut_and_sleep);
        break;
    case 'f':
        on(first + 1, fault);
        break;
    case 'w':
        on(first + 1, shut_and_fault);
        break;
    case 'r':
    case 'e':
        on_and_wait(first + 1, spin);
        shut();
        end(order == 'r' ? SYSTEM_RESET : SYSTEM_OFF);
        break;
    case 'x':
        on(first + 1, reset_without_the_first);
        end(CPU_OFF);
        break;
    case 'b':
        on(first + 1, fault_when_the_first_is_shut);
        shut_and_spin();
        break;
    case 'd':
        on(first + 1, fault_when_the_first_is_shut);
        shut_and_sleep();
        break;
    case 's':
        start_again_and_again(reset_soon);
        break;
    case 't':
        start_again_and_again(fault_soon);
        break;
    case 'v':
        look_at_vectors();
        break;
    case 'i':
        end_with_an_interrupt();
        break;
    case 'm':
        disable_active();
        break;
    case 'c':
        change_again_and_again();
        break;
    case 'g':
        call_again_and_again();
        break;
    default:
        print("FAIL: no such order\n");
        break;
    }
}

void guest_main(void)
{
    first = own_number();
    print("ready\n");
    for (;;) {
        obey(typed());
        print("done\n");
    }
}
