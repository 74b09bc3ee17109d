/* SPDX-License-Identifier: BSD-2-Clause */
#include "console/terminal.h"

#include "hypervisor/ticket_lock.h"
#include <arch/device_access.h>
#include <devices/pl011_registers.h>
#include <stdarg.h>

/* Looks at the PL011's flags that a byte may take: more than a tenth of a second. */
#define POLLS_MAX 1000000u
/* Looks at the lock: much longer than a line of each of the others. */
#define PATIENCE (UINT64_C(1) << 30)

#define NOBODY 0u /* partitions count from 1 here, so that all zero is right at first */

static struct {
    struct ticket_lock lock;
    uintptr_t uart;
    bool shared;             /* by now there may be others: exclusive accesses need the MMU */
    bool stuck;              /* the PL011 takes nothing */
    uint32_t line;           /* whose line is begun, and not ended */
    uint32_t input;          /* who has the input */
    const char *explanation; /* of an exception */
} terminal __attribute__((section(".bss.monitor_shared")));

static void take(void)
{
    if (terminal.shared) {
        ticket_lock_take(&terminal.lock, PATIENCE);
    }
}

static void give(void)
{
    if (terminal.shared) {
        ticket_lock_give(&terminal.lock);
    }
}

static void put(char character)
{
    uint32_t polls = terminal.stuck ? 1 : POLLS_MAX;

    if (terminal.uart == 0) {
        return;
    }
    while (polls != 0 && (device_read32(terminal.uart + UARTFR) & FLAG_TRANSMIT_FULL) != 0) {
        polls--;
    }
    terminal.stuck = polls == 0;
    if (polls != 0) {
        device_write32(terminal.uart + UARTDR, (uint8_t)character);
    }
}

static void put_text(const char *text)
{
    while (*text != '\0') {
        put(*text++);
    }
}

static void put_number(uint64_t number, unsigned base)
{
    char digits[20]; /* of 64 bits in decimal */
    unsigned count = 0;

    do {
        digits[count++] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number != 0);
    while (count != 0) {
        put(digits[--count]);
    }
}

static void end_line(void)
{
    put_text("\r\n");
    terminal.line = NOBODY;
}

static const char name_end[] = "| ";

static void begin_line(const char *name)
{
    if (terminal.line != NOBODY) {
        end_line();
    }
    put_text(name);
    put_text(name_end);
}

uint32_t terminal_margin(const struct partition *partition)
{
    uint32_t columns = 0;

    while (partition->described->name[columns] != '\0') {
        columns++;
    }
    return columns + (uint32_t)sizeof(name_end) - 1;
}

void terminal_init(uint64_t uart)
{
    terminal.uart = (uintptr_t)uart;
    if (uart != 0) {
        device_write32(terminal.uart + UARTIMSC, 0);
        device_write32(terminal.uart + UARTICR, INTERRUPTS_ALL);
        device_write32(terminal.uart + UARTLCRH, LINE_FIFO | LINE_8_BITS);
        device_write32(terminal.uart + UARTCR, CONTROL_ENABLE | CONTROL_TRANSMIT | CONTROL_RECEIVE);
    }
}

void terminal_share(void)
{
    terminal.shared = true;
}

static void put_format(const char *format, va_list arguments)
{
    for (; *format != '\0'; format++) {
        bool wide;

        if (*format != '%') {
            put(*format);
            continue;
        }
        wide = *++format == 'l';
        format += wide;
        if (*format == 's') {
            put_text(va_arg(arguments, const char *));
        } else {
            put_number(wide ? va_arg(arguments, unsigned long) : va_arg(arguments, unsigned),
                       *format == 'x' ? 16 : 10);
        }
    }
}

void terminal_print(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    take();
    begin_line("bulkhead");
    put_format(format, arguments);
    end_line();
    give();
    va_end(arguments);
}

void terminal_refuse(uint64_t uart, const struct description_problem *problem)
{
    terminal_init(uart);
    if (problem->partition != DESCRIPTION_NO_PARTITION) {
        terminal_print("in the description of partition %u:", problem->partition);
    }
    terminal_failed(problem->text, problem->value);
}

void terminal_failed(const char *text, uint64_t number)
{
    terminal_print("the system can't start: %s 0x%lx", text, number);
}

void terminal_explain(const char *text)
{
    terminal.explanation = text;
}

void terminal_say(const struct partition *partition, const char *text)
{
    terminal_print("%s %s", partition->described->name, text);
}

void terminal_failure(uint64_t syndrome, uint64_t pc, uint64_t address)
{
    if (terminal.explanation != NULL) {
        terminal_failed(terminal.explanation, address);
    } else {
        terminal_print("a monitor failed: address 0x%lx, syndrome 0x%lx, pc 0x%lx", address,
                       syndrome, pc);
    }
}

void terminal_show(const struct partition *partition, const char *line, uint32_t shown,
                   uint32_t bytes, bool end)
{
    take();
    if (terminal.line != partition->index + 1) {
        begin_line(partition->described->name);
        shown = 0;
    }
    terminal.line = partition->index + 1;
    for (uint32_t i = shown; i < bytes; i++) {
        put(line[i]);
    }
    if (end) {
        end_line();
    }
    give();
}

uint32_t terminal_input_owner(void)
{
    return __atomic_load_n(&terminal.input, __ATOMIC_RELAXED) - 1;
}

void terminal_give_input(uint32_t partition)
{
    __atomic_store_n(&terminal.input, partition + 1, __ATOMIC_RELAXED);
}

void terminal_listen(void)
{
    /* The time-out is for bytes that stay below the FIFO's trigger level. */
    device_write32(terminal.uart + UARTIMSC, INTERRUPT_RECEIVE | INTERRUPT_RECEIVE_TIMEOUT);
}

bool terminal_get(uint8_t *byte)
{
    if ((device_read32(terminal.uart + UARTFR) & FLAG_RECEIVE_EMPTY) != 0) {
        return false;
    }
    *byte = (uint8_t)device_read32(terminal.uart + UARTDR);
    return true;
}
