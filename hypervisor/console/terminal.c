/* SPDX-License-Identifier: BSD-2-Clause */
#include "console/terminal.h"

#include "console/board_uart.h"
#include "console/format.h"
#include "console/key_queue.h"
#include "console/output_ring.h"
#include "hypervisor/ticket_lock.h"
#include <stdarg.h>
#include <stddef.h>

/* Polls of a full PL011 before its output is discarded: more than a tenth of a second. */
#define POLLS_MAX 1000000u

/* Quotas of the output ring: for a partition's lines, in addition for the output that a partition
 * leaves when it stops; for the hypervisor's messages about a partition, in addition for the report
 * of its fault; and for the hypervisor's other messages. */
#define PARTITION_BYTES  256u
#define LAST_BYTES       512u
#define EVENT_BYTES      512u
#define FAULT_BYTES      MESSAGE_BYTES_MAX
#define HYPERVISOR_BYTES 1024u
/* The longest output of terminal_write_line(): the end of another partition's line, a name, "| ", a
 * complete line, its end. */
#define SHOW_BYTES_MAX \
    (2u + sizeof(((struct description_partition *)0)->name) + 2u + CONSOLE_LINE_BYTES + 2u)
/* The longest output of a message of the hypervisor, with a report of dropped ones before it. */
#define MESSAGE_BYTES_MAX 256u
/* The most bytes that are sent in one exit, so that none takes long: of a complete line or a
 * message, and otherwise. A PL011 accepts 32 bytes at most, but that of a virtual machine may
 * accept any number. Its interrupt sends the other bytes. */
#define SEND_WHOLE_MAX MESSAGE_BYTES_MAX
#define SEND_PART_MAX  64u

_Static_assert(SHOW_BYTES_MAX <= PARTITION_BYTES, "a partition's quota holds a line");
_Static_assert(DESCRIPTION_PARTITIONS_MAX *(PARTITION_BYTES + LAST_BYTES + EVENT_BYTES +
                                            FAULT_BYTES) +
                       HYPERVISOR_BYTES <=
                   OUTPUT_RING_BYTES,
               "the ring holds all quotas");

/* No partition. A partition is its index + 1 here, so that all zero is the state at boot. */
#define NOBODY 0u

static struct {
    struct ticket_lock lock;
    uintptr_t uart;        /* address of the PL011's registers; 0: the board has no terminal */
    bool shared;           /* several monitors print, so that the lock is taken. It needs the MMU */
    bool stuck;            /* the PL011's FIFO stayed full for POLLS_MAX polls */
    uint32_t line;         /* the partition whose line is incomplete, or NOBODY */
    uint32_t input;        /* the partition that has the input, or NOBODY */
    bool listening;        /* the PL011's interrupt is routed to a core */
    bool sending;          /* the PL011's transmit interrupt is enabled */
    uint64_t paused_since; /* CNTPCT_EL0 at which its interrupts for input were disabled; 0: they
                            * are enabled. Atomic: read without the lock */
    uint32_t waiting;      /* bit i: partition i found no room in the ring */
    uint32_t unreported;   /* number of elements of `dropped` whose count is not 0. Atomic */
    /* By writer: messages dropped since the last report of them. `name`: the partition that they
     * are about; NULL for those of no partition. */
    struct dropped {
        uint32_t count;
        const char *name;
    } dropped[OUTPUT_RING_WRITERS];
    /* The text that explains an exception during boot; NULL: none is expected. */
    const char *explanation;
    struct output_ring ring;
    struct key_queue typed[DESCRIPTION_PARTITIONS_MAX];
} terminal __attribute__((section(".bss.monitor_shared")));

/* Sends bytes of the ring until the PL011's FIFO is full, `most` at most. */
static void send_without_waiting(uint32_t most)
{
    uintptr_t uart = terminal.uart;
    uint32_t length = output_ring_length(&terminal.ring), first = terminal.ring.removed, sent = 0;

    length = length < most ? length : most;
    while (sent < length &&
           board_uart_try_send(uart, output_ring_byte(&terminal.ring, first + sent))) {
        sent++;
    }
    output_ring_remove(&terminal.ring, sent);
}

/* Sends bytes until at most `bytes` are left in the ring, or until the PL011's FIFO has stayed full
 * for POLLS_MAX polls. After that, only one poll is made in each call until the FIFO has room
 * again. */
static void wait_for_ring(uint32_t bytes)
{
    uint32_t polls = terminal.stuck ? 1 : POLLS_MAX;

    while (polls != 0 && output_ring_length(&terminal.ring) > bytes) {
        uint32_t length = output_ring_length(&terminal.ring);

        send_without_waiting(SEND_WHOLE_MAX);
        polls = output_ring_length(&terminal.ring) == length ? polls - 1 : POLLS_MAX;
    }
    terminal.stuck = polls == 0;
}

/* Adds a character to the ring. A character that finds the ring full is lost. While no interrupt
 * sends the ring's bytes, the ring is empty whenever a message or a line begins. */
static void put(char character)
{
    (void)output_ring_add(&terminal.ring, character);
}

/* Returns true if the transmit interrupt is needed: to send bytes, to call a partition that waits
 * for room, or to report dropped messages. */
static bool has_to_send(void)
{
    return output_ring_length(&terminal.ring) != 0 || terminal.waiting != 0 ||
           terminal.unreported != 0;
}

/* Enables the receive interrupt if a partition has the input and it is not paused, and the transmit
 * interrupt if it is needed. */
static void update_interrupts(void)
{
    terminal.sending = has_to_send();
    board_uart_set_interrupts(terminal.uart, terminal.input != NOBODY && terminal.paused_since == 0,
                              terminal.sending);
}

static void lock_terminal(void)
{
    if (terminal.shared) {
        ticket_lock_take(&terminal.lock, TICKET_LOCK_PATIENCE);
    }
}

static void give_lock(void)
{
    if (terminal.shared) {
        ticket_lock_give(&terminal.lock);
    }
}

static void unlock_terminal(void)
{
    if (terminal.listening && terminal.sending != has_to_send()) {
        update_interrupts();
    }
    give_lock();
}

/* Sends the bytes that the PL011 accepts at once, and releases the lock. The PL011's interrupt
 * sends the other bytes. While the interrupt is not routed yet, waits for the PL011 instead, and
 * discards the bytes that it does not accept. */
static void send_and_unlock_terminal(uint32_t most)
{
    send_without_waiting(most);
    if (!terminal.listening && output_ring_length(&terminal.ring) != 0) {
        wait_for_ring(0);
        output_ring_clear(&terminal.ring);
    }
    unlock_terminal();
}

static void end_line(void)
{
    format_text(put, "\r\n");
    terminal.line = NOBODY;
}

static const char name_end[] = "| ";

/* Begins a line with a name in front. Ends the incomplete line of another partition before. */
static void begin_line(const char *name)
{
    if (terminal.line != NOBODY) {
        end_line();
    }
    format_text(put, name);
    format_text(put, name_end);
}

uint32_t terminal_margin(const struct partition *partition)
{
    uint32_t columns = 0;

    while (partition->constant.described->name[columns] != '\0') {
        columns++;
    }
    return columns + (uint32_t)sizeof(name_end) - 1;
}

void terminal_init(uint64_t uart)
{
    terminal.uart = (uintptr_t)uart;
    if (uart != 0) {
        board_uart_init(terminal.uart);
    }
}

void terminal_share(void)
{
    terminal.shared = true;
}

/* Prints the number of the writer's messages that were dropped, if there are any. */
static void put_dropped(uint32_t writer)
{
    struct dropped *dropped = &terminal.dropped[writer];

    if (dropped->count == 0) {
        return;
    }
    begin_line("bulkhead");
    format_text(put, "dropped messages");
    if (dropped->name != NULL) {
        format_text(put, " about ");
        format_text(put, dropped->name);
    }
    format_text(put, ": ");
    format_number(put, dropped->count, 10);
    end_line();
    dropped->count = 0;
    __atomic_store_n(&terminal.unreported, terminal.unreported - 1, __ATOMIC_RELAXED);
}

/* Returns true if the ring has room for a message of the writer within `quota`. */
static bool has_message_room(uint32_t writer, uint32_t quota)
{
    return !terminal.listening ||
           output_ring_has_room(&terminal.ring, writer, quota, MESSAGE_BYTES_MAX);
}

static void count_dropped(uint32_t writer, const char *name)
{
    struct dropped *dropped = &terminal.dropped[writer];

    if (dropped->count == 0) {
        __atomic_store_n(&terminal.unreported, terminal.unreported + 1, __ATOMIC_RELAXED);
    }
    dropped->count++;
    dropped->name = name;
}

/* Adds a line of the hypervisor to the ring: `name` and a space, unless it is NULL, and the
 * formatted text. Drops it if the writer would exceed `quota` bytes of the ring. The caller holds
 * the lock. */
static void add_message(uint32_t writer, uint32_t quota, const char *name, const char *format,
                        va_list arguments) __attribute__((format(printf, 4, 0)));

static void add_message(uint32_t writer, uint32_t quota, const char *name, const char *format,
                        va_list arguments)
{
    uint32_t start = terminal.ring.added;

    if (terminal.uart == 0) {
        return;
    }
    if (!has_message_room(writer, quota)) {
        count_dropped(writer, name);
        return;
    }
    put_dropped(writer);
    begin_line("bulkhead");
    if (name != NULL) {
        format_text(put, name);
        put(' ');
    }
    format_message(put, format, arguments);
    end_line();
    output_ring_charge(&terminal.ring, writer, start);
}

void terminal_print(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    lock_terminal();
    add_message(OUTPUT_RING_HYPERVISOR, HYPERVISOR_BYTES, NULL, format, arguments);
    send_and_unlock_terminal(SEND_WHOLE_MAX);
    va_end(arguments);
}

void terminal_print_event(const struct partition *partition, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    lock_terminal();
    add_message(OUTPUT_RING_MESSAGES + partition->constant.index, EVENT_BYTES,
                partition->constant.described->name, format, arguments);
    send_and_unlock_terminal(SEND_WHOLE_MAX);
    va_end(arguments);
}

void terminal_add_fault(const struct partition *partition, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    lock_terminal();
    add_message(OUTPUT_RING_MESSAGES + partition->constant.index, EVENT_BYTES + FAULT_BYTES,
                partition->constant.described->name, format, arguments);
    give_lock();
    va_end(arguments);
}

void terminal_send(void)
{
    lock_terminal();
    send_and_unlock_terminal(SEND_WHOLE_MAX);
}

void terminal_report_problem(uint64_t uart, const struct description_problem *problem)
{
    terminal_init(uart);
    if (problem->partition != DESCRIPTION_NO_PARTITION) {
        terminal_print("in the description of partition %u:", problem->partition);
    }
    terminal_failed(problem->text, problem->value);
}

void terminal_send_all(void)
{
    lock_terminal();
    if (terminal.uart != 0) {
        wait_for_ring(0);
    }
    send_and_unlock_terminal(SEND_WHOLE_MAX);
}

void terminal_failed(const char *text, uint64_t number)
{
    terminal_print("the system can't start: %s 0x%lx", text, number);
    terminal_send_all();
}

void terminal_explain(const char *text)
{
    terminal.explanation = text;
}

void terminal_failure(uint64_t syndrome, uint64_t pc, uint64_t address)
{
    if (terminal.explanation != NULL) {
        terminal_failed(terminal.explanation, address);
    } else {
        terminal_send_all(); /* so that no quota drops the report */
        terminal_print("a monitor failed: address 0x%lx, syndrome 0x%lx, pc 0x%lx", address,
                       syndrome, pc);
        terminal_send_all();
    }
}

bool terminal_write_line(const struct partition *partition, const char *line, uint32_t shown,
                         uint32_t bytes, bool end)
{
    uint32_t start;
    bool has_printed;

    if (terminal.uart == 0) {
        return false;
    }
    lock_terminal();
    start = terminal.ring.added;
    if (terminal.line != partition->constant.index + 1) {
        begin_line(partition->constant.described->name);
        shown = 0;
    }
    terminal.line = partition->constant.index + 1;
    output_ring_add_bytes(&terminal.ring, line + shown, bytes - shown);
    if (end) {
        end_line();
    }
    output_ring_charge(&terminal.ring, partition->constant.index, start);
    has_printed = terminal.ring.added != start;
    send_and_unlock_terminal(end ? SEND_WHOLE_MAX : SEND_PART_MAX);
    return has_printed;
}

uint32_t terminal_input_owner(void)
{
    return __atomic_load_n(&terminal.input, __ATOMIC_RELAXED) - 1;
}

void terminal_give_input(uint32_t partition)
{
    __atomic_store_n(&terminal.input, partition + 1, __ATOMIC_RELAXED);
}

void terminal_enable_interrupts(void)
{
    terminal.listening = true;
    update_interrupts();
}

bool terminal_has_room(const struct partition *partition, enum terminal_part part)
{
    uint32_t bytes = part == TERMINAL_LAST ? PARTITION_BYTES + LAST_BYTES : PARTITION_BYTES;
    bool room;

    lock_terminal();
    send_without_waiting(SEND_PART_MAX);
    room = output_ring_has_room(&terminal.ring, partition->constant.index, bytes, SHOW_BYTES_MAX);
    if (!room && part == TERMINAL_USUAL) {
        terminal.waiting |= 1u << partition->constant.index;
    }
    unlock_terminal();
    return room;
}

/* Reports the dropped messages of one writer that has room again. Returns false if there is none.
 */
static bool report_dropped(void)
{
    for (uint32_t writer = OUTPUT_RING_MESSAGES; writer < OUTPUT_RING_WRITERS; writer++) {
        uint32_t start = terminal.ring.added;

        if (terminal.dropped[writer].count != 0 && has_message_room(writer, EVENT_BYTES)) {
            put_dropped(writer);
            output_ring_charge(&terminal.ring, writer, start);
            return true;
        }
    }
    return false;
}

bool terminal_report_dropped(void)
{
    bool has_reported;

    if (__atomic_load_n(&terminal.unreported, __ATOMIC_RELAXED) == 0) {
        return false;
    }
    lock_terminal();
    send_without_waiting(SEND_PART_MAX);
    has_reported = report_dropped();
    unlock_terminal();
    return has_reported;
}

uint32_t terminal_send_output(void)
{
    uint32_t wake = 0;

    lock_terminal();
    send_without_waiting(SEND_PART_MAX);
    for (uint32_t i = 0; i < DESCRIPTION_PARTITIONS_MAX; i++) {
        if ((terminal.waiting >> i & 1u) != 0 &&
            output_ring_has_room(&terminal.ring, i, PARTITION_BYTES, SHOW_BYTES_MAX)) {
            wake |= 1u << i;
        }
    }
    terminal.waiting &= ~wake;
    unlock_terminal();
    return wake;
}

/* The time and the enable in the PL011 change together, while the lock is held: so a pause and an
 * end of it on another core leave no pause without a time. */
static void set_paused_since(uint64_t time)
{
    __atomic_store_n(&terminal.paused_since, time, __ATOMIC_RELAXED);
    update_interrupts();
}

void terminal_pause_input(uint64_t now)
{
    lock_terminal();
    if (terminal.paused_since == 0) {
        set_paused_since(now | 1);
    }
    unlock_terminal();
}

void terminal_resume_input(void)
{
    if (terminal_input_paused_since() != 0) {
        lock_terminal();
        set_paused_since(0);
        unlock_terminal();
    }
}

uint64_t terminal_input_paused_since(void)
{
    return __atomic_load_n(&terminal.paused_since, __ATOMIC_RELAXED);
}

/* Takes the lock, because two cores may read while the input moves from one to the other. */
bool terminal_read_byte(uint8_t *byte)
{
    bool has_byte;

    lock_terminal();
    has_byte = board_uart_try_receive(terminal.uart, byte);
    unlock_terminal();
    return has_byte;
}

bool terminal_queue_typed(uint32_t partition, uint32_t *count, uint8_t *special, uint32_t *lost)
{
    bool is_special = false;

    *lost = 0;
    lock_terminal();
    while (*count != 0 && !is_special && board_uart_try_receive(terminal.uart, special)) {
        --*count;
        is_special = *special == BYTE_SWITCH || *special == BYTE_COMMAND;
        if (!is_special && !key_queue_add(&terminal.typed[partition], *special)) {
            ++*lost;
        }
    }
    unlock_terminal();
    return is_special;
}

bool terminal_queue_key(uint32_t partition, uint32_t key)
{
    bool is_kept;

    lock_terminal();
    is_kept = key_queue_add(&terminal.typed[partition], key);
    unlock_terminal();
    return is_kept;
}

bool terminal_has_key(uint32_t partition)
{
    return !key_queue_is_empty(&terminal.typed[partition]);
}

bool terminal_has_command(uint32_t partition)
{
    return key_queue_has_command(&terminal.typed[partition]);
}

uint32_t terminal_key_room(uint32_t partition)
{
    return key_queue_room(&terminal.typed[partition]);
}

uint32_t terminal_dequeue_keys(uint32_t partition, uint8_t *bytes, uint32_t count,
                               uint32_t *command)
{
    uint32_t key = KEY_SHOW, taken = 0;

    *command = KEY_SHOW;
    lock_terminal();
    for (uint32_t i = 0;
         i < count && *command == KEY_SHOW && key_queue_remove(&terminal.typed[partition], &key);
         i++) {
        if (key <= UINT8_MAX) {
            bytes[taken++] = (uint8_t)key;
        } else {
            *command = key;
        }
    }
    unlock_terminal();
    return taken;
}

uint32_t terminal_dequeue_typed(uint32_t partition, uint8_t *bytes, uint32_t count)
{
    struct key_queue *queue = &terminal.typed[partition];
    uint32_t key = KEY_SHOW, taken = 0;

    lock_terminal();
    while (taken < count && key_queue_remove_typed(queue, &key)) {
        if (key <= UINT8_MAX) {
            bytes[taken++] = (uint8_t)key;
        }
    }
    unlock_terminal();
    return taken;
}
