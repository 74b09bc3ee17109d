/* SPDX-License-Identifier: BSD-2-Clause */
/* Attacks that keep a core, its monitor or the terminal busy. */
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "rogue.h"
#include <arch/device_access.h>
#include <devices/pl011_registers.h>

#define ROUNDS         100000u
#define ROUNDS_SAMPLED 10000u
#define LINES          1000u

/* Spins for ever with all exceptions masked. */
void attack_spin(uint64_t where)
{
    (void)where;
    __asm__ volatile("msr daifset, #0xf");
    for (;;) {
    }
}

/* Executes WFE and WFI with interrupts masked. An event or pending interrupt ends each wait at
 * once. */
void attack_waiting(uint64_t where)
{
    uint64_t end = time_after(NANOSECONDS_PER_SECOND);

    (void)where;
    __asm__ volatile("msr daifset, #0xf");
    while (time_now() < end) {
        __asm__ volatile("sev\n\twfe\n\twfe\n\tyield");
    }
    /* Enables the virtual timer with a deadline in the past, then restores the kernel's
     * settings. */
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t deadline, control;

        __asm__ volatile("mrs %0, cntv_cval_el0\n\tmrs %1, cntv_ctl_el0\n\t"
                         "msr cntv_cval_el0, xzr\n\tmsr cntv_ctl_el0, %2\n\tisb\n\twfi\n\t"
                         "msr cntv_cval_el0, %0\n\tmsr cntv_ctl_el0, %1\n\tisb"
                         : "=&r"(deadline), "=&r"(control)
                         : "r"(UINT64_C(1))
                         : "memory");
    }
    __asm__ volatile("msr daifclr, #0xf");
}

/* Repeats everything a monitor emulates, as fast as possible: accesses to registers of the
 * interrupt controller and of PCI, an SGI to this core, a PSCI call, cache maintenance by set and
 * way. */
void attack_storm(uint64_t where)
{
    uintptr_t distributor = reach(BOARD_DISTRIBUTOR, PAGE), ecam = reach(BOARD_ECAM, PAGE);
    unsigned rounds = attack_samples ? ROUNDS_SAMPLED : ROUNDS;

    (void)where;
    __asm__ volatile("msr daifset, #0xf");
    for (unsigned i = 0; i < rounds; i++) {
        (void)device_read32(distributor);
        (void)device_read32(ecam);
        __asm__ volatile("msr s3_0_c12_c11_5, %0\n\t"
                         "dc cisw, xzr\n\t"
                         "mov x0, #0x84000000\n\t"
                         "hvc #0"
                         :
                         : "r"(UINT64_C(2)) /* SGI 0, to core 1 */
                         : "x0", "x1", "x2", "x3", "memory");
    }
    __asm__ volatile("msr daifclr, #0xf");
}

/* Forges the hypervisor's lines by means of every control sequence that moves a terminal's cursor
 * to the start of a line. Each text ends with a newline, before which a terminal would show the
 * forged line. */
void attack_terminal(uint64_t where)
{
    static const char *const texts[] = {
        "\rbulkhead| victim is off",
        "x\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\bbulkhead| victim is off",
        "\033[99Dbulkhead| victim is off",
        "x\033[1Gbulkhead| victim is off",
        "x\033[1`bulkhead| victim is off",
        "\033[Abulkhead| victim is off\033[B",
        "\033[H\033[2Jbulkhead| victim is off",
        "\033[2K\rbulkhead| victim is off",
        "\033[1K\rbulkhead| victim is off",
        "\033[10@\033[99D\033[99Pbulkhead| victim is off",
        "\0337\033[1;1Hbulkhead| victim is off\0338",
        "\033Mbulkhead| victim is off",
        "\033Ebulkhead| victim is off",
        "\033Dbulkhead| victim is off",
        "\013\rbulkhead| victim is off",
        "\014\rbulkhead| victim is off",
        "\205bulkhead| victim is off",
        "\2331Gbulkhead| victim is off",
        "\302\205bulkhead| victim is off",
        "\302\2331Gbulkhead| victim is off",
        "\033]0;x\007\rbulkhead| victim is off",
        "\033[5i\033[8mhidden from now on",
        "\033[?5l\033[?1049h\033[6n\033[c\005",
    };
    uintptr_t uart = reach(BOARD_CONSOLE, PAGE);

    (void)where;
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (const char *text = texts[i]; *text != '\0'; text++) {
            device_write32(uart + UARTDR, (uint8_t)*text);
        }
        device_write32(uart + UARTDR, '\n');
    }
}

/* Writes every register of the emulated UART in every width, then prints LINES copies of a line
 * that only the hypervisor may print. */
void attack_console(uint64_t where)
{
    static const char text[] = "\nbulkhead| victim is off";
    uintptr_t uart = reach(BOARD_CONSOLE, PAGE);
    uint32_t control = device_read32(uart + UARTCR);
    uint32_t mask = device_read32(uart + UARTIMSC);
    /* The attack enables interrupts of the UART that the rogue's own kernel does not handle. */
    interrupt_state state = interrupts_save();

    (void)where;
    for (uint32_t offset = UARTFR; offset < PAGE; offset += 4) {
        device_write32(uart + offset, UINT32_MAX);
        device_write16(uart + offset, (uint16_t)random_next());
        device_write8(uart + offset + (uint32_t)(random_next() % 4), (uint8_t)random_next());
        (void)device_read32(uart + offset);
    }
    for (unsigned line = 0; line < LINES; line++) {
        for (unsigned i = 0; i < sizeof text - 1; i++) {
            device_write32(uart + UARTDR, (uint8_t)text[i]);
        }
    }
    device_write32(uart + UARTDR, '\n');
    device_write32(uart + UARTCR, control);
    device_write32(uart + UARTIMSC, mask);
    device_write32(uart + UARTICR, UINT32_MAX);
    interrupts_restore(state);
}
