/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest with three VCPUs. VCPUs 1 and 2 send SGIs to VCPU 0, which sleeps until one comes. They
 * send the next one when VCPU 0 has counted the last one, and now and then they read a register of
 * its Redistributor. An SGI or a request that is lost ends this for ever.
 *
 * Interrupts are masked: VCPU 0 looks for what is pending.
 */
#include "interrupts.h"

#define SENDERS     2u
#define ROUNDS      5000u
#define READS_EVERY 8u /* rounds */

static volatile uint32_t counts[1 + SENDERS]; /* SGIs that came, by their number */

/* VCPU `number` sends the SGI of this number. */
static void send_all(uint32_t number)
{
    open_interface();
    for (uint32_t round = 0; round < ROUNDS; round++) {
        send_sgi(number, 1);
        while (__atomic_load_n(&counts[number], __ATOMIC_ACQUIRE) == round) {
        }
        if (round % READS_EVERY == 0 && (read32(sgi_frame(0) + ISENABLER) >> number & 1) == 0) {
            print("FAIL: the SGI is not enabled\n");
        }
    }
    for (;;) {
        __asm__ volatile("wfi");
    }
}

static void first_sender(void)
{
    send_all(1);
}

static void second_sender(void)
{
    send_all(2);
}

static void receive(void)
{
    uint64_t number = acknowledge();

    if (number >= NONE) {
        __asm__ volatile("dsb sy\n\twfi" : : : "memory");
        return;
    }
    end_interrupt(number);
    if (number == 0 || number > SENDERS) {
        print("FAIL: an interrupt that nobody sent\n");
    } else {
        __atomic_store_n(&counts[number], counts[number] + 1, __ATOMIC_RELEASE);
    }
}

void guest_main(void)
{
    write32(DISTRIBUTOR, GROUP_1);
    write32(sgi_frame(0) + ISENABLER, 1u << 1 | 1u << 2);
    open_interface();
    (void)call(CPU_ON, 1, (uintptr_t)guest_other, (uintptr_t)first_sender);
    (void)call(CPU_ON, 2, (uintptr_t)guest_other, (uintptr_t)second_sender);
    while (counts[1] < ROUNDS || counts[2] < ROUNDS) {
        receive();
    }
    print("all SGIs came\n");
    for (;;) {
        __asm__ volatile("wfi");
    }
}
