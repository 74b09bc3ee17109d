/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest without a kernel whose exits are as long as they can be: it prints whole lines, sends all
 * SGIs to all its VCPUs, makes all its SPIs pending, and writes to the registers of all of them and
 * of its VCPUs' Redistributors. Its VCPUs sleep until the same instants as those of other
 * partitions with this guest. At its end it leaves a line without an end, and makes a fault, or
 * resets itself if RESETS is 1. VCPUS: number of its VCPUs. ORDERS: 0, or it is the
 * manager of so many partitions, the first ones, makes all calls of a manager for them, and never
 * ends.
 */
#include "interrupts.h"

#define TIMER             30u /* PPI of the physical timer (Arm BSA, "PPI assignments") */
#define SGIS              16u
#define ROUNDS            12u
#define INSTANTS_A_SECOND 250u
#define TO_ALL_BUT_SELF   (UINT64_C(1) << 40) /* ICC_SGI1R_EL1.IRM */
#define ICPENDR           0x0280u
#define ICACTIVER         0x0380u
#define NO_ADDRESS        UINT64_C(0x3f000000)
#define SYSTEM_RESET      UINT64_C(0x84000009) /* PSCI */

/* The calls of a manager (docs/hypercalls.md). */
#define PARTITION_STATUS  UINT64_C(0xc6000010)
#define PARTITION_IMAGE   UINT64_C(0xc6000016)
#define PARTITION_REPLACE UINT64_C(0xc6000014)
#define AGAIN             1
#define STAGING           UINT64_C(0x40300000)
#define IMAGE_BYTES       UINT64_C(4096)
#define IMAGE_MAGIC       0x644d5241u /* Linux: arm64/booting */
#define TEXT_OFFSET       0x80000u

#define TEN     "0123456789"
#define FIFTY   TEN TEN TEN TEN TEN
#define PARTIAL FIFTY FIFTY FIFTY "012345678" /* a byte less than a line of the hypervisor */

static uint64_t instant(void)
{
    uint64_t frequency;

    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
    return frequency / INSTANTS_A_SECOND;
}

static void take_interrupts(void)
{
    uint64_t number = acknowledge();

    for (unsigned n = 0; n < SGIS && number < NONE; n++) {
        end_interrupt(number);
        number = acknowledge();
    }
}

static void sleep_until_next_instant(void)
{
    uint64_t due = (physical_counter() / instant() + 1) * instant();

    set_physical_timer(due);
    while (physical_counter() < due) {
        __asm__ volatile("wfi" : : : "memory");
        take_interrupts();
    }
    __asm__ volatile("msr cntp_ctl_el0, xzr\n\tisb" : : : "memory");
}

static void send_all_sgis(void)
{
    for (uint32_t sgi = 0; sgi < SGIS; sgi++) {
        send_sgi(sgi, TO_ALL_BUT_SELF);
    }
}

/* Writes to the registers of all SPIs. Those that it does not have ignore it. */
static void write_spis(uint32_t registers)
{
    for (uint32_t word = 1; word < SPI_WORDS; word++) {
        write32(DISTRIBUTOR + registers + 4 * word, UINT32_MAX);
    }
}

static void write_redistributors(void)
{
    for (unsigned vcpu = 0; vcpu < VCPUS; vcpu++) {
        write32(sgi_frame(vcpu) + IPRIORITYR, UINT32_MAX);
        write32(sgi_frame(vcpu) + ISPENDR, UINT32_MAX);
    }
}

static void prepare(void)
{
    write32(sgi_frame(own_number()) + ISENABLER, UINT32_MAX);
    open_interface();
}

/* Stages an image whose checksum is wrong: all of its bytes are checked before that is seen. */
static void stage_image(void)
{
    write32(STAGING + 8, TEXT_OFFSET);
    write32(STAGING + 16, IMAGE_BYTES);
    write32(STAGING + 56, IMAGE_MAGIC);
}

static void replace_image(uint64_t partition)
{
    uint64_t result = call(PARTITION_REPLACE, partition, IMAGE_BYTES, 0);

    if (result != AGAIN) {
        print("FAIL: the image is not checked\n");
    }
    while (result == AGAIN) {
        result = call(PARTITION_REPLACE, partition, IMAGE_BYTES, 0);
    }
}

static void make_orders(void)
{
    for (uint64_t partition = 0; partition != ORDERS; partition++) {
        for (uint64_t order = PARTITION_STATUS; order <= PARTITION_IMAGE; order++) {
            if (order == PARTITION_REPLACE) {
                replace_image(partition);
            } else {
                (void)call(order, partition, 0, 0);
            }
        }
    }
}

static void other_main(void)
{
    prepare();
    for (;;) {
        send_all_sgis();
        sleep_until_next_instant();
    }
}

void guest_main(void)
{
    for (unsigned vcpu = 1; vcpu < VCPUS; vcpu++) {
        (void)call(CPU_ON, vcpu, (uintptr_t)guest_other, (uintptr_t)other_main);
    }
    if (ORDERS != 0) {
        stage_image();
    }
    write32(DISTRIBUTOR, GROUP_1);
    prepare();
    for (unsigned n = 0; ORDERS != 0 || n < ROUNDS; n++) {
        write_spis(ISENABLER);
        write_spis(ISPENDR);
        send_all_sgis();
        print(PARTIAL "\n");
        write_redistributors();
        make_orders();
        sleep_until_next_instant();
        write_spis(ICENABLER);
        write_spis(ICPENDR);
        write_spis(ICACTIVER);
    }
    print("end\n" PARTIAL);
    if (RESETS) {
        (void)call(SYSTEM_RESET, 0, 0, 0);
    }
    (void)read32(NO_ADDRESS);
}
