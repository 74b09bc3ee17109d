/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest without a kernel, whose VCPUs wake as often as they can. Macros of the command line:
 *   VCPUS    number of VCPUs, 1 to 16
 *   SLEEP    nanoseconds for which a VCPU sleeps: the machine's counter counts them
 *   PATTERN  what wakes them:
 *     QUIET        nothing
 *     TIMERS       each is woken by its timer
 *     RING         VCPU 0 by its timer; then each sends an SGI to the next one, and sleeps
 *     SPI          VCPU 0 by its timer; then it makes an SPI pending, which wakes VCPU 1
 *     REMOTE_SGIS  VCPU 1, on another core, sends SGIs to VCPU 0 without a pause
 *     REMOTE_SPI   VCPU 1, on another core, makes an SPI pending, which wakes VCPU 0
 *     OWN_SGIS     VCPU 1 sends as many SGIs, to itself
 *     OWN_SPI      VCPU 1 makes the SPI pending as often, which is its own
 */
#include "interrupts.h"

enum { QUIET, TIMERS, RING, SPI, REMOTE_SGIS, REMOTE_SPI, OWN_SGIS, OWN_SPI };

#define TIMER 30u /* PPI of the physical timer (Arm BSA, "PPI assignments") */
#define SGI   1u

static uint32_t spi;

/* Sleeps until an interrupt is pending, and takes it. Returns its number. */
static uint64_t sleep_until_interrupt(void)
{
    uint64_t number;

    __asm__ volatile("wfi" : : : "memory");
    number = acknowledge();
    if (number == TIMER) {
        __asm__ volatile("msr cntp_ctl_el0, xzr\n\tisb" : : : "memory");
    }
    if (number < NONE) {
        end_interrupt(number);
    }
    return number;
}

static void send_to(unsigned vcpu)
{
    send_sgi(SGI, UINT64_C(1) << vcpu);
}

/* Sends to VCPU 0, or to itself, without a pause. */
static void send_again_and_again(unsigned vcpu)
{
    for (;;) {
        if (PATTERN == REMOTE_SGIS || PATTERN == OWN_SGIS) {
            send_to(PATTERN == REMOTE_SGIS ? 0 : vcpu);
        } else {
            make_pending(spi);
        }
    }
}

static void sleep_again_and_again(unsigned vcpu)
{
    int has_timer = PATTERN == TIMERS || (vcpu == 0 && (PATTERN == RING || PATTERN == SPI));
    uint64_t number = TIMER;

    for (;;) {
        if (has_timer && number == TIMER) {
            set_physical_timer(physical_counter() + SLEEP);
        }
        number = sleep_until_interrupt();
        if (PATTERN == SPI && number == TIMER) {
            make_pending(spi);
        }
        if (PATTERN == RING && (number == TIMER || number == SGI) && vcpu + 1 < VCPUS) {
            send_to(vcpu + 1);
        }
    }
}

static void wake(void)
{
    unsigned vcpu = own_number();

    write32(sgi_frame(vcpu) + ISENABLER, 1u << TIMER | 1u << SGI);
    open_interface();
    if (PATTERN >= REMOTE_SGIS && vcpu == 1) {
        send_again_and_again(vcpu);
    }
    sleep_again_and_again(vcpu);
}

void guest_main(void)
{
    write32(DISTRIBUTOR, GROUP_1);
    spi = enable_spi();
    set_route(spi, PATTERN == SPI || PATTERN == OWN_SPI ? 1 : 0);
    for (unsigned vcpu = 1; vcpu < VCPUS; vcpu++) {
        (void)call(CPU_ON, vcpu, (uintptr_t)guest_other, (uintptr_t)wake);
    }
    wake();
}
