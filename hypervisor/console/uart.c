/* SPDX-License-Identifier: BSD-2-Clause */
#include "console/uart.h"

#include "console/input_flow.h"
#include "console/terminal.h"
#include "gic/setup.h"
#include <devices/pl011_registers.h>

#define REGISTER(offset) ((offset) / 4u)
#define NEWLINE          '\n'

/* A line with less room than this may be printed with the next byte. */
#define LINE_MARGIN 16u

/* Writable bits of the registers that keep the written value. */
static const uint16_t writable[VIRTUAL_UART_REGISTERS] = {
    [REGISTER(UARTILPR)] = 0xff,  [REGISTER(UARTIBRD)] = 0xffff, [REGISTER(UARTFBRD)] = 0x3f,
    [REGISTER(UARTLCRH)] = 0xff,  [REGISTER(UARTCR)] = 0xff87,   [REGISTER(UARTIFLS)] = 0x3f,
    [REGISTER(UARTIMSC)] = 0x7ff, [REGISTER(UARTDMACR)] = 0x7,
};

/* UARTPeriphID0 to 3 of the revision whose FIFOs hold 16 bytes, and UARTPCellID0 to 3. */
static const uint8_t identification[] = {0x11, 0x10, 0x14, 0x00, 0x0d, 0xf0, 0x05, 0xb1};

/* Returns false if nothing was left to print. */
static bool print_line(struct partition *partition, bool end)
{
    struct virtual_uart *uart = &partition->uart;
    bool has_printed =
        terminal_write_line(partition, uart->line, uart->line_shown, uart->line_bytes, end);

    uart->line_shown = uart->line_bytes;
    if (end) {
        uart->line_bytes = 0;
        uart->line_shown = 0;
        uart->filter = (struct filter){0};
    }
    return has_printed;
}

static void transmit(struct partition *partition, uint8_t byte)
{
    struct virtual_uart *uart = &partition->uart;
    bool interactive = terminal_input_owner() == partition->constant.index;
    char output[FILTER_OUTPUT_MAX];
    uint32_t count;

    if (byte == NEWLINE) {
        (void)print_line(partition, true);
        return;
    }
    count = filter_byte(&uart->filter, byte, interactive, terminal_margin(partition), output);
    if (count > CONSOLE_LINE_BYTES - uart->line_bytes) {
        /* An interactive line that is too long goes on in the same line of the terminal. */
        (void)print_line(partition, !interactive);
        uart->line_bytes = 0;
        uart->line_shown = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        uart->line[uart->line_bytes++] = output[i];
    }
}

/* Returns true if transmit() of `byte` may print a line, and the terminal has no room for it. */
static bool lacks_room(const struct partition *partition, uint8_t byte, enum terminal_part part)
{
    const struct virtual_uart *uart = &partition->uart;
    bool prints = byte == NEWLINE || terminal_input_owner() == partition->constant.index ||
                  uart->line_bytes >= CONSOLE_LINE_BYTES - LINE_MARGIN;

    return prints && !terminal_has_room(partition, part);
}

/* Transmits bytes of the FIFO until it is empty, or until the terminal has no room. An interactive
 * line is printed once for all of them. */
static void empty_fifo(struct partition *partition, enum terminal_part part)
{
    struct virtual_uart *uart = &partition->uart;
    bool has_transmitted = false;

    while (uart->output_count != 0 &&
           !lacks_room(partition, uart->output[uart->output_first], part)) {
        uint8_t byte = uart->output[uart->output_first];

        uart->output_first = (uart->output_first + 1) % VIRTUAL_UART_FIFO;
        uart->output_count--;
        /* The interrupt is asserted when the FIFO falls to its level, until it is cleared, but not
         * before a first byte was transmitted (DDI 0183, UARTTXINTR). */
        uart->transmitted = true;
        transmit(partition, byte);
        has_transmitted = true;
    }
    if (has_transmitted && uart->line_shown != uart->line_bytes &&
        terminal_input_owner() == partition->constant.index) {
        (void)print_line(partition, false);
    }
}

/* A byte that finds the FIFO full is lost (DDI 0183, UARTDR). */
static void put_output(struct partition *partition, uint8_t byte)
{
    struct virtual_uart *uart = &partition->uart;

    if (uart->output_count < VIRTUAL_UART_FIFO) {
        uart->output[(uart->output_first + uart->output_count) % VIRTUAL_UART_FIFO] = byte;
        uart->output_count++;
    }
    empty_fifo(partition, TERMINAL_USUAL);
}

/* Returns the number of input bytes that the guest can read. */
static uint32_t input_shown(const struct virtual_uart *uart)
{
    return uart->input_is_held ? 0 : uart->input_count;
}

static uint32_t raw_interrupts(const struct virtual_uart *uart)
{
    bool room = uart->transmitted && uart->output_count <= VIRTUAL_UART_FIFO / 2;

    /* Input counts as older than the receive time-out. */
    return (room ? INTERRUPT_TRANSMIT : 0) |
           (input_shown(uart) != 0 ? INTERRUPT_RECEIVE | INTERRUPT_RECEIVE_TIMEOUT : 0);
}

static uint32_t masked_interrupts(const struct virtual_uart *uart)
{
    return raw_interrupts(uart) & uart->registers[REGISTER(UARTIMSC)];
}

/* Makes the console's SPI pending if an interrupt is asserted. The PL011's output is a level, but
 * the SPI can only be made pending by an event. So this function is called after each change that
 * makes an interrupt asserted or leaves one asserted. */
static void raise_interrupt(const struct partition *partition)
{
    if (masked_interrupts(&partition->uart) != 0) {
        gic_make_pending(partition->constant.system,
                         partition->constant.described->console_interrupt);
    }
}

/* Most keys that are removed from the partition's queue in one exit. Further keys cause another
 * exit, or follow when the guest reads. */
#define BATCH 16u

static void add_input(struct virtual_uart *uart, const uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count && uart->input_count < CONSOLE_INPUT_BYTES; i++) {
        uart->input[(uart->input_first + uart->input_count) % CONSOLE_INPUT_BYTES] = bytes[i];
        uart->input_count++;
    }
}

/* Moves typed bytes from the partition's queue to the receive FIFO, as far as there is room. The
 * caller holds the lock, so that bytes that two cores move stay in order. */
static void move_input(struct partition *partition)
{
    uint8_t bytes[BATCH];
    uint32_t room = uart_input_room(partition);
    uint32_t count = terminal_dequeue_typed(partition->constant.index, bytes,
                                            room < sizeof(bytes) ? room : sizeof(bytes));

    if (count != 0) {
        add_input(&partition->uart, bytes, count);
        input_flow_take(partition);
    }
}

static uint8_t read_input(struct partition *partition)
{
    struct virtual_uart *uart = &partition->uart;
    uint8_t byte = 0;

    if (input_shown(uart) != 0) {
        byte = uart->input[uart->input_first];
        uart->input_first = (uart->input_first + 1) % CONSOLE_INPUT_BYTES;
        uart->input_count--;
        if (uart->input_count == 0 && terminal_has_key(partition->constant.index)) {
            move_input(partition);
        }
    }
    return byte;
}

static uint32_t flags(const struct virtual_uart *uart)
{
    return (uart->output_count == 0 ? FLAG_TRANSMIT_EMPTY : FLAG_BUSY) |
           (uart->output_count == VIRTUAL_UART_FIFO ? FLAG_TRANSMIT_FULL : 0) |
           (input_shown(uart) == 0 ? FLAG_RECEIVE_EMPTY : 0) |
           (input_shown(uart) == CONSOLE_INPUT_BYTES ? FLAG_RECEIVE_FULL : 0);
}

static uint64_t read_register(struct partition *partition, uint64_t offset)
{
    const struct virtual_uart *uart = &partition->uart;

    switch (offset) {
    case UARTDR:
        return read_input(partition);
    case UARTFR:
        return flags(uart);
    case UARTRIS:
        return raw_interrupts(uart);
    case UARTMIS:
        return masked_interrupts(uart);
    default:
        return offset >= UARTPERIPHID0 ? identification[REGISTER(offset - UARTPERIPHID0)]
                                       : uart->registers[REGISTER(offset)];
    }
}

static void write_register(struct partition *partition, uint64_t offset, uint64_t value)
{
    struct virtual_uart *uart = &partition->uart;

    if (offset == UARTDR) {
        put_output(partition, (uint8_t)value);
    } else if (offset == UARTICR) {
        uart->transmitted = uart->transmitted && (value & INTERRUPT_TRANSMIT) == 0;
    } else {
        uart->registers[REGISTER(offset)] = (uint16_t)(value & writable[REGISTER(offset)]);
    }
}

enum access_result uart_access(struct partition *partition, struct access *access)
{
    uint64_t offset = access->offset;

    if (offset % 4 != 0 || access->bytes > 4 ||
        (offset >= UARTREGISTERS_END && (access->write || offset < UARTPERIPHID0))) {
        access->value = 0;
        return ACCESS_REFUSED;
    }
    ticket_lock_take(&partition->uart.lock, TICKET_LOCK_PATIENCE);
    empty_fifo(partition, TERMINAL_USUAL);
    if (access->write) {
        write_register(partition, offset, access->value);
    } else {
        access->value = read_register(partition, offset);
        /* No register has more than 16 bits. */
        access->value &= access->bytes == 1 ? UINT8_MAX : UINT16_MAX;
    }
    if (access->write || offset == UARTDR) {
        raise_interrupt(partition);
    }
    ticket_lock_give(&partition->uart.lock);
    return ACCESS_DONE;
}

uint32_t uart_input_room(const struct partition *partition)
{
    return CONSOLE_INPUT_BYTES - __atomic_load_n(&partition->uart.input_count, __ATOMIC_RELAXED);
}

void uart_receive(struct partition *partition)
{
    struct virtual_uart *uart = &partition->uart;

    ticket_lock_take(&uart->lock, TICKET_LOCK_PATIENCE);
    move_input(partition);
    raise_interrupt(partition);
    ticket_lock_give(&uart->lock);
}

uint32_t uart_receive_to_command(struct partition *partition)
{
    struct virtual_uart *uart = &partition->uart;
    uint8_t bytes[BATCH];
    uint32_t command;

    ticket_lock_take(&uart->lock, TICKET_LOCK_PATIENCE);
    add_input(uart, bytes,
              terminal_dequeue_keys(partition->constant.index, bytes, sizeof(bytes), &command));
    raise_interrupt(partition);
    ticket_lock_give(&uart->lock);
    input_flow_make_room(partition->constant.index);
    return command;
}

bool uart_flush(struct partition *partition, bool end)
{
    enum terminal_part part = end ? TERMINAL_LAST : TERMINAL_USUAL;
    bool has_printed = false;

    ticket_lock_take(&partition->uart.lock, TICKET_LOCK_PATIENCE);
    empty_fifo(partition, part);
    if (partition->uart.line_bytes != 0 && terminal_has_room(partition, part)) {
        has_printed = print_line(partition, end);
    }
    ticket_lock_give(&partition->uart.lock);
    return has_printed;
}

void uart_hold_input(struct partition *partition)
{
    struct virtual_uart *uart = &partition->uart;

    ticket_lock_take(&uart->lock, TICKET_LOCK_PATIENCE);
    uart->input_count = 0;
    uart->input_is_held = true;
    ticket_lock_give(&uart->lock);
}

void uart_release_input(struct partition *partition)
{
    struct virtual_uart *uart = &partition->uart;

    ticket_lock_take(&uart->lock, TICKET_LOCK_PATIENCE);
    uart->input_is_held = false;
    if (uart->input_count == 0 && terminal_has_key(partition->constant.index)) {
        move_input(partition);
    }
    ticket_lock_give(&uart->lock);
}

void uart_reset(struct partition *partition)
{
    struct virtual_uart *uart = &partition->uart;

    (void)uart_flush(partition, true);
    ticket_lock_take(&uart->lock, TICKET_LOCK_PATIENCE);
    for (uint32_t i = 0; i < VIRTUAL_UART_REGISTERS; i++) {
        uart->registers[i] = 0;
    }
    uart->registers[REGISTER(UARTCR)] = CONTROL_ENABLE | CONTROL_TRANSMIT | CONTROL_RECEIVE;
    uart->registers[REGISTER(UARTIFLS)] = FIFO_LEVELS_HALF;
    uart->output_count = 0;
    uart->line_bytes = 0;
    uart->line_shown = 0;
    uart->filter = (struct filter){0};
    uart->transmitted = false;
    if (!uart->input_is_held) {
        uart->input_count = 0;
    }
    ticket_lock_give(&uart->lock);
}
