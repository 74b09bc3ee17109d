/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two guests of a shared device, without a kernel: the driver (macro CLIENT) and its back-end.
 * END is the driver's last command: the back-end RESTARTs, and then the client; it STOPs; it HANGs
 * while the client restarts.
 *
 * They use no ring: the driver writes a command to its memory, which the back-end has as a window,
 * and notifies the device. The back-end answers with the next number.
 */
#include "interrupts.h"

#include <arch/hypercalls.h>
#include <arch/shared_device.h>
#include <devices/virtio_mmio_registers.h>

#define REGISTERS UINT64_C(0x7000000000)
#define PAGE      UINT64_C(0x7000000000)
#define WINDOW    UINT64_C(0x7100000000)
#define COMMAND   0xff000u /* offset in the client's memory */
#define ANSWER    0xff004u
#define RESETS    50u
#define RESTART   100u /* commands; smaller ones are numbers to answer */
#define STOP      101u
#define HANG      102u /* acknowledge nothing more */
#define LINK      6u

static void fail(const char *text)
{
    print("FAIL: ");
    print(text);
    print("\n");
    for (;;) {
        __asm__ volatile("wfi");
    }
}

#ifdef CLIENT

static uintptr_t memory; /* the first address of the client's memory */

static uint32_t get(uint32_t offset)
{
    return read32(REGISTERS + offset);
}

static void set(uint32_t offset, uint32_t value)
{
    write32(REGISTERS + offset, value);
}

static void start_driver(void)
{
    set(VIRTIO_MMIO_STATUS, 1);
    set(VIRTIO_MMIO_STATUS, 3);
    set(VIRTIO_MMIO_ACCEPTED_SELECT, 1);
    set(VIRTIO_MMIO_ACCEPTED, 1);
    set(VIRTIO_MMIO_STATUS, 0xb);
    set(VIRTIO_MMIO_QUEUE_SELECT, 1);
    set(VIRTIO_MMIO_QUEUE_SIZE, 256);
    set(VIRTIO_MMIO_QUEUE_DESCRIPTORS, 0x12345000);
    set(VIRTIO_MMIO_QUEUE_READY, 1);
    set(VIRTIO_MMIO_STATUS, 0xf);
    if (get(VIRTIO_MMIO_STATUS) != 0xf) {
        fail("status");
    }
}

/* Sleeps until the device interrupts for a reason, and acknowledges it. */
static void wait_for(uint32_t cause)
{
    for (;;) {
        uint64_t number = acknowledge();
        uint32_t status;

        if (number >= NONE) {
            __asm__ volatile("wfi" : : : "memory");
            continue;
        }
        status = get(VIRTIO_MMIO_INTERRUPT_STATUS);
        set(VIRTIO_MMIO_INTERRUPT_ACK, status);
        end_interrupt(number);
        if ((status & cause) != 0) {
            return;
        }
    }
}

static void command(uint32_t number)
{
    write32(memory + COMMAND, number);
    __asm__ volatile("dsb sy" : : : "memory");
    set(VIRTIO_MMIO_QUEUE_NOTIFY, 1);
}

/* Waits until the back-end has taken the command. */
static void wait_until_taken(void)
{
    while (read32(memory + COMMAND) != 0) {
    }
}

static void ask(uint32_t number)
{
    command(number);
    do {
        wait_for(VIRTIO_MMIO_INTERRUPT_USED);
    } while (read32(memory + ANSWER) != number + 1);
}

static void print_link(const char *text)
{
    print(text);
    print(get(VIRTIO_MMIO_CONFIG + LINK - 2) >> 16 == 1 ? ", link up\n" : ", link down\n");
}

void guest_main(void)
{
    extern const char _start[];

    memory = (uintptr_t)_start & ~UINT64_C(0xfffff);
    if (get(VIRTIO_MMIO_MAGIC) != VIRTIO_MMIO_MAGIC_VALUE || get(VIRTIO_MMIO_DEVICE_ID) != 1 ||
        get(VIRTIO_MMIO_STATUS) != 0) {
        fail("identity");
    }
    (void)enable_spi();
    open_interface();
    write32(DISTRIBUTOR, GROUP_1);
    start_driver();
    ask(1);
    print_link("client: answered");
    for (unsigned i = 0; i < RESETS; i++) {
        set(VIRTIO_MMIO_STATUS, 0);
        write32(memory + ANSWER, 0);
        start_driver();
        ask(2 + i % 8);
    }
    print("client: resets done\n");
    command(RESTART);
    wait_until_taken();
    ask(20);
    print_link("client: back-end restarted");
    if (END == RESTART) {
        (void)call(SYSTEM_RESET, 0, 0, 0);
    }
    command(END);
    if (END == HANG) { /* this driver stops while it is served */
        wait_until_taken();
        (void)call(SYSTEM_RESET, 0, 0, 0);
    }
    wait_for(VIRTIO_MMIO_INTERRUPT_CONFIG);
    print_link("client: back-end stopped");
    set(VIRTIO_MMIO_STATUS, 0);
    print("client: reset without a back-end\n");
}

#else

static volatile struct shared_device_page *const page = (struct shared_device_page *)PAGE;

static void call_device(uint64_t function, uint64_t second, uint64_t third)
{
    if (call(function, 0, second, third) != CALL_SUCCESS) {
        fail("call");
    }
}

static void answer(uint32_t number)
{
    if (number == RESTART || number == STOP) {
        write32(WINDOW + COMMAND, 0);
        (void)call(number == RESTART ? SYSTEM_RESET : SYSTEM_OFF, 0, 0, 0);
    }
    if (number == HANG) {
        write32(WINDOW + COMMAND, 0);
        for (;;) {
            __asm__ volatile("wfi");
        }
    }
    write32(WINDOW + COMMAND, 0);
    write32(WINDOW + ANSWER, number + 1);
    __asm__ volatile("dsb sy" : : : "memory");
    call_device(CALL_SHARED_DEVICE_INTERRUPT, 1, 0);
}

void guest_main(void)
{
    uint32_t acknowledged;

    (void)enable_spi();
    open_interface();
    write32(DISTRIBUTOR, GROUP_1);
    acknowledged = page->generation;
    call_device(CALL_SHARED_DEVICE_ACKNOWLEDGE, acknowledged, 0);
    call_device(CALL_SHARED_DEVICE_CONFIGURE, 1u << 16 | LINK, 1);
    print("backend: serves\n");
    for (;;) {
        uint64_t number = acknowledge();

        if (number < NONE) {
            end_interrupt(number);
        }
        if (page->generation != acknowledged) {
            acknowledged = page->generation;
            call_device(CALL_SHARED_DEVICE_ACKNOWLEDGE, acknowledged, 0);
        }
        if (page->queues[1].ready == 1 && (page->status & 4) != 0) {
            if (page->queues[1].descriptors != 0x12345000 || page->queues[1].size != 256) {
                fail("queue");
            }
            if (read32(WINDOW + COMMAND) != 0) {
                answer(read32(WINDOW + COMMAND));
            }
        }
        if (number >= NONE) {
            __asm__ volatile("wfi" : : : "memory");
        }
    }
}

#endif
