/* SPDX-License-Identifier: BSD-2-Clause */
#include "console/terminal.h"

#include "hypervisor/ticket_lock.h"
#include <arch/device_access.h>
#include <devices/pl011_registers.h>
#include <stdarg.h>

/* Polls of the PL011's flags before a byte is given up: more than a tenth of a second. */
#define POLLS_MAX 1000000u
/* Polls of the lock before it is taken from a core that stopped: much longer than every other
 * monitor takes for a line. */
#define PATIENCE (UINT64_C(1) << 30)

/* Of the ring: a power of two. Each printer has its part of it, so that none takes the room of
 * another. A partition may have PARTITION_BYTES in it, and END_BYTES more for what it had left when
 * it stopped; the hypervisor has OWN_BYTES for its messages. */
#define RING_BYTES      8192u
#define PARTITION_BYTES 256u
#define END_BYTES       512u
#define OWN_BYTES       2048u
/* The most that terminal_show() adds: the end of another's line, a name, "| ", a whole line, its
 * end. */
#define SHOW_BYTES_MAX \
    (2u + sizeof(((struct description_partition *)0)->name) + 2u + CONSOLE_LINE_BYTES + 2u)

/* The most that a message of the hypervisor adds. */
#define MESSAGE_BYTES_MAX 256u
/* Bytes that are sent at once: more than a printer adds at a time, and few enough to bound the time
 * that the lock is held. */
#define SEND_BYTES_MAX 512u

_Static_assert(SHOW_BYTES_MAX <= PARTITION_BYTES, "a partition's part of the ring holds a line");
_Static_assert(DESCRIPTION_PARTITIONS_MAX *(PARTITION_BYTES + END_BYTES) + OWN_BYTES <= RING_BYTES,
               "the ring holds all parts");

/* A printer's number is the index of a partition, or PRINTER_OWN for the hypervisor. */
#define PRINTER_OWN DESCRIPTION_PARTITIONS_MAX
#define PRINTERS    (DESCRIPTION_PARTITIONS_MAX + 1u)

#define KEYS 128u /* that wait for a partition: a power of two */

#define NOBODY 0u /* partitions count from 1 here, so that all zero is right at first */

static struct {
    struct ticket_lock lock;
    uintptr_t uart;
    bool shared;             /* other monitors may print: the lock, which needs the MMU, is used */
    bool stuck;              /* the PL011's FIFO stayed full for POLLS_MAX polls */
    uint32_t line;           /* the partition whose line is not complete */
    uint32_t input;          /* the partition that has the keyboard */
    bool listening;          /* the PL011's interrupt is routed to a core */
    bool sending;            /* it interrupts when it has room */
    uint32_t waiting;        /* bit i: partition i found no room in the ring */
    uint32_t lost;           /* messages of the hypervisor that found no room since the last one */
    const char *explanation; /* of an exception during boot */
    /* Bytes that wait for room in the PL011, from `read` to `write`; both count all bytes. */
    uint32_t read, write;
    uint32_t unsent[PRINTERS]; /* in the ring, at most so many ... */
    uint32_t end[PRINTERS];    /* ... and none once `read` has come here */
    char ring[RING_BYTES];
    /* Keys that wait for a partition, from `first` on. */
    struct keys {
        uint16_t keys[KEYS];
        uint32_t first, count;
        bool has_command;
    } typed[DESCRIPTION_PARTITIONS_MAX];
} terminal __attribute__((section(".bss.monitor_shared")));

/* Sends from the ring what the PL011 takes at once. */
static void send_at_once(void)
{
    for (uint32_t i = 0; i < SEND_BYTES_MAX && terminal.read != terminal.write &&
                         (device_read32(terminal.uart + UARTFR) & FLAG_TRANSMIT_FULL) == 0;
         i++) {
        device_write32(terminal.uart + UARTDR, (uint8_t)terminal.ring[terminal.read % RING_BYTES]);
        terminal.read++;
    }
}

/* Waits until at most `bytes` are in the ring. A PL011 that takes nothing is waited for once. */
static void wait_for_ring(uint32_t bytes)
{
    uint32_t polls = terminal.stuck ? 1 : POLLS_MAX;

    while (polls != 0 && terminal.write - terminal.read > bytes) {
        uint32_t before = terminal.read;

        send_at_once();
        polls = terminal.read == before ? polls - 1 : POLLS_MAX;
    }
    terminal.stuck = polls == 0;
}

static void put(char character)
{
    if (terminal.uart == 0) {
        return;
    }
    if (!terminal.listening && terminal.write - terminal.read == RING_BYTES) {
        wait_for_ring(RING_BYTES - 1);
    }
    if (terminal.write - terminal.read < RING_BYTES) {
        terminal.ring[terminal.write % RING_BYTES] = character;
        terminal.write++;
    }
}

/* Returns true if the printer has room for `bytes` in a part of `part` bytes. Locked. */
static bool has_room(uint32_t printer, uint32_t part, uint32_t bytes)
{
    if ((int32_t)(terminal.read - terminal.end[printer]) >= 0) {
        terminal.unsent[printer] = 0;
    }
    return terminal.unsent[printer] <= part - bytes;
}

/* Counts what the printer has added since the ring's end was at `before`. Locked. */
static void count_unsent(uint32_t printer, uint32_t before)
{
    (void)has_room(printer, 0, 0); /* forgets what was sent */
    terminal.unsent[printer] += terminal.write - before;
    terminal.end[printer] = terminal.write;
}

/* Enables the PL011's interrupts: for input, and if there is more to send, for room in its FIFO. */
static void enable_interrupts(void)
{
    uint32_t input = terminal.input != NOBODY ? INTERRUPT_RECEIVE | INTERRUPT_RECEIVE_TIMEOUT : 0;

    terminal.sending = terminal.read != terminal.write;
    device_write32(terminal.uart + UARTIMSC, input | (terminal.sending ? INTERRUPT_TRANSMIT : 0));
}

static void lock_terminal(void)
{
    if (terminal.shared) {
        ticket_lock_take(&terminal.lock, PATIENCE);
    }
}

/* Sends what the PL011 takes at once. The rest is sent when the PL011 interrupts; as long as it
 * can't, the caller waits for it, and what it does not take is lost. */
static void send_and_unlock_terminal(void)
{
    send_at_once();
    if (!terminal.listening && terminal.read != terminal.write) {
        wait_for_ring(0);
        terminal.read = terminal.write;
    }
    if (terminal.listening && terminal.sending != (terminal.read != terminal.write)) {
        enable_interrupts();
    }
    if (terminal.shared) {
        ticket_lock_give(&terminal.lock);
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

/* Says first how many messages were lost before this one. */
static void put_message(const char *format, va_list arguments)
{
    begin_line("bulkhead");
    if (terminal.lost != 0) {
        put_text("messages lost: ");
        put_number(terminal.lost, 10);
        end_line();
        begin_line("bulkhead");
        terminal.lost = 0;
    }
    put_format(format, arguments);
    end_line();
}

void terminal_print(const char *format, ...)
{
    uint32_t before;
    va_list arguments;

    va_start(arguments, format);
    lock_terminal();
    before = terminal.write;
    if (!terminal.listening || has_room(PRINTER_OWN, OWN_BYTES, MESSAGE_BYTES_MAX)) {
        put_message(format, arguments);
        count_unsent(PRINTER_OWN, before);
    } else {
        terminal.lost++;
    }
    send_and_unlock_terminal();
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

/* No core may be left that sends the rest. */
static void send_all(void)
{
    lock_terminal();
    if (terminal.uart != 0) {
        wait_for_ring(0);
    }
    send_and_unlock_terminal();
}

void terminal_failed(const char *text, uint64_t number)
{
    terminal_print("the system can't start: %s 0x%lx", text, number);
    send_all();
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
        send_all();
    }
}

void terminal_show(const struct partition *partition, const char *line, uint32_t shown,
                   uint32_t bytes, bool end)
{
    uint32_t before;

    lock_terminal();
    before = terminal.write;
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
    count_unsent(partition->index, before);
    send_and_unlock_terminal();
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
    terminal.listening = true;
    /* The time-out is for bytes that stay below the FIFO's trigger level. */
    enable_interrupts();
}

bool terminal_has_room(const struct partition *partition, enum terminal_part part)
{
    uint32_t bytes = part == TERMINAL_LAST ? PARTITION_BYTES + END_BYTES : PARTITION_BYTES;
    bool room;

    lock_terminal();
    send_at_once();
    room = has_room(partition->index, bytes, SHOW_BYTES_MAX);
    if (!room && part == TERMINAL_USUAL) {
        terminal.waiting |= 1u << partition->index;
    }
    send_and_unlock_terminal();
    return room;
}

uint32_t terminal_continue(void)
{
    uint32_t wake = 0;

    lock_terminal();
    send_at_once();
    for (uint32_t i = 0; i < DESCRIPTION_PARTITIONS_MAX; i++) {
        if ((terminal.waiting >> i & 1u) != 0 && has_room(i, PARTITION_BYTES, SHOW_BYTES_MAX)) {
            wake |= 1u << i;
        }
    }
    terminal.waiting &= ~wake;
    send_and_unlock_terminal();
    return wake;
}

/* Locked, because more than one core may read: one takes over from another. */
bool terminal_get(uint8_t *byte)
{
    bool has_byte;

    lock_terminal();
    has_byte = (device_read32(terminal.uart + UARTFR) & FLAG_RECEIVE_EMPTY) == 0;
    if (has_byte) {
        *byte = (uint8_t)device_read32(terminal.uart + UARTDR);
    }
    send_and_unlock_terminal();
    return has_byte;
}

bool terminal_pass(uint32_t partition, uint32_t key)
{
    struct keys *typed = &terminal.typed[partition];
    bool is_command = key > KEY_SHOW, is_kept;

    lock_terminal();
    is_kept = is_command ? !typed->has_command : typed->count < KEYS - 1;
    if (is_kept) {
        typed->has_command = typed->has_command || is_command;
        typed->keys[(typed->first + typed->count) % KEYS] = (uint16_t)key;
        __atomic_store_n(&typed->count, typed->count + 1, __ATOMIC_RELAXED);
    }
    send_and_unlock_terminal();
    return is_kept;
}

bool terminal_has_key(uint32_t partition)
{
    return __atomic_load_n(&terminal.typed[partition].count, __ATOMIC_RELAXED) != 0;
}

bool terminal_take(uint32_t partition, uint32_t *key)
{
    struct keys *typed = &terminal.typed[partition];
    bool has_key;

    if (!terminal_has_key(partition)) {
        return false;
    }
    lock_terminal();
    has_key = typed->count != 0;
    if (has_key) {
        *key = typed->keys[typed->first % KEYS];
        typed->first++;
        typed->count--;
        typed->has_command = typed->has_command && *key <= KEY_SHOW;
    }
    send_and_unlock_terminal();
    return has_key;
}
