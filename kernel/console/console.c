/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring between print() and the serial line, and the queue for input. Any context fills the
 * ring, and one thread empties it. The thread masks interrupts for one byte at a time, because in a
 * partition each access to the line is an exit to the hypervisor.
 */
#include "console/console.h"

#include "console/pl011.h"
#include "console/serial_line.h"
#include "kernel/console.h"
#include "kernel/interrupt.h"
#include "kernel/sync.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define RING_BYTES  4096u /* a power of two */
#define INPUT_BYTES 64u
#define NOTE_BYTES  64u

/* Above the thread `init`, so that the output of a program that never sleeps appears; below the
 * network's threads (40 and 48) and all more urgent threads. */
#define THREAD_PRIORITY    36u
#define THREAD_STACK_BYTES 4096u

/* Pause between two checks of a line whose FIFO is full. At 115,200 baud a FIFO of 16 bytes lasts
 * longer than the minimum. The pause doubles each time that the FIFO is still full. */
#define PAUSE_MIN NANOSECONDS_PER_MILLISECOND
#define PAUSE_MAX (128 * NANOSECONDS_PER_MILLISECOND)

/* Maximum number of polls for one byte: more than a second on any machine, so enough for 1200 baud
 * and more. */
#define POLLS_MAX 100000000u

/* Written with interrupts masked. */
static struct {
    struct pl011 uart;
    bool absent;   /* there is no line: all text is dropped */
    bool polling;  /* console_poll() was called */
    bool threaded; /* the console's thread sends the text */
    bool returned; /* the carriage return before the newline at `read` was sent */
    bool input_ready;
    uint32_t read;  /* total bytes taken out of the ring; modulo its size the index */
    uint32_t write; /* total bytes put into the ring; modulo its size the index */
    uint64_t dropped;
    struct semaphore filled; /* posted when text was put into the ring */
    struct message_queue input;
    uint8_t input_storage[INPUT_BYTES];
    char ring[RING_BYTES];
} console;

static uint32_t room(void)
{
    return RING_BYTES - (console.write - console.read);
}

/* Sends the next byte, to a line that has room for it. A newline is preceded by a carriage return.
 * Returns false if the ring is empty. Interrupts masked. */
static bool send_next(void)
{
    char next = console.ring[console.read % RING_BYTES];

    if (console.read == console.write) {
        return false;
    }
    if (next == '\n' && !console.returned) {
        pl011_send(&console.uart, '\r');
        console.returned = true;
        return true;
    }
    pl011_send(&console.uart, (uint8_t)next);
    console.returned = false;
    console.read++;
    return true;
}

/* Sends as many bytes as the line accepts at once. Returns true if it sent any. Interrupts masked.
 */
static bool send_at_once(void)
{
    bool sent = false;
    unsigned line_room;

    while (console.read != console.write && (line_room = pl011_room(&console.uart)) != 0) {
        while (line_room != 0 && send_next()) {
            line_room--;
            sent = true;
        }
    }
    return sent;
}

/* Sends all text by polling the line. Gives up a line that does not accept a byte in POLLS_MAX
 * polls. Interrupts masked. */
static void send_all(void)
{
    unsigned polls = 0;

    while (console.read != console.write || !pl011_is_idle(&console.uart)) {
        polls = send_at_once() ? 0 : polls + 1;
        if (polls == POLLS_MAX) {
            console.absent = true;
            return;
        }
    }
}

/* Copies text to the ring, and counts the bytes that do not fit. Interrupts masked. */
static void put(const char *text, size_t bytes)
{
    size_t kept = bytes < room() ? bytes : room();
    size_t at = console.write % RING_BYTES;
    size_t first = kept < RING_BYTES - at ? kept : RING_BYTES - at;

    memcpy(&console.ring[at], text, first);
    memcpy(console.ring, text + first, kept - first);
    console.write += (uint32_t)kept;
    console.dropped += bytes - kept;
}

/* Puts a note of the number of dropped bytes into the ring, if there is room for it. Thread
 * context. */
static void put_note_of_loss(void)
{
    uint64_t dropped = console.dropped;
    char note[NOTE_BYTES];
    interrupt_state state;
    int length;

    if (dropped == 0 || room() < NOTE_BYTES) {
        return;
    }
    length = snprintf(note, sizeof note, "\n[console: %llu bytes dropped]\n",
                      (unsigned long long)dropped);
    state = interrupts_save();
    console.dropped -= dropped;
    put(note, (size_t)length);
    interrupts_restore(state);
}

/* Sends up to `count` bytes, for which the line has room. */
static void send_bytes(unsigned count)
{
    bool sent = true;

    while (sent && count != 0) {
        interrupt_state state = interrupts_save();

        sent = send_next();
        interrupts_restore(state);
        count--;
    }
}

/* Sends text until the ring is empty. Called by the console's thread. */
static void empty_ring(void)
{
    uint64_t pause = PAUSE_MIN;

    while (console.read != console.write) {
        unsigned line_room = pl011_room(&console.uart);

        if (line_room == 0) {
            thread_sleep_until(time_after(pause));
            pause = pause < PAUSE_MAX ? 2 * pause : PAUSE_MAX;
            continue;
        }
        pause = PAUSE_MIN;
        send_bytes(line_room);
        put_note_of_loss();
    }
}

static void run(void *argument)
{
    (void)argument;
    for (;;) {
        (void)semaphore_wait(&console.filled, DEADLINE_NONE);
        empty_ring();
    }
}

void console_write(const char *text, size_t bytes)
{
    interrupt_state state = interrupts_save();

    if (!console.absent) {
        put(text, bytes);
        if (console.polling) {
            send_all();
        } else if (console.threaded) {
            (void)semaphore_post(&console.filled); /* fails if already posted */
        } else if (console.uart.registers != 0) {
            (void)send_at_once();
        }
    }
    interrupts_restore(state);
}

void console_poll(void)
{
    console.polling = true;
    if (console.uart.registers != 0 && !console.absent) {
        send_all();
    }
}

/* Reads at most as many bytes as the queue holds, so that the handler returns even if the line
 * always has another byte. */
static void read_input(void)
{
    uint8_t byte;

    for (unsigned i = 0; i < INPUT_BYTES && pl011_get(&console.uart, &byte); i++) {
        (void)message_queue_send(&console.input, &byte, DEADLINE_POLL);
    }
}

static void handle_interrupt(void *argument)
{
    (void)argument;
    pl011_acknowledge(&console.uart);
    read_input();
}

void console_init(void)
{
    uintptr_t registers = serial_line_find();

    console.absent = registers == 0;
    if (registers != 0) {
        pl011_init(&console.uart, registers);
        (void)send_at_once();
    }
}

void console_start(void)
{
    uint32_t number;
    enum interrupt_trigger trigger;

    message_queue_init(&console.input, console.input_storage, 1, INPUT_BYTES);
    console.input_ready = true;
    if (console.absent || !serial_line_interrupt(&number, &trigger) ||
        interrupt_attach(number, trigger, handle_interrupt, NULL) != RESULT_OK) {
        return; /* the console has no input */
    }
    pl011_enable_input(&console.uart);
}

void console_start_thread(void)
{
    const struct thread_attributes attributes = {
        .name = "console", .priority = THREAD_PRIORITY, .stack_bytes = THREAD_STACK_BYTES};
    struct thread *thread;

    if (console.absent) {
        return;
    }
    semaphore_init(&console.filled, 1, 1);
    /* Set before the thread starts: from now on the thread sends the text. */
    console.threaded = true;
    console.threaded = thread_create(&thread, &attributes, run, NULL) == RESULT_OK;
}

enum result console_read(char *byte, uint64_t deadline)
{
    return console.input_ready ? message_queue_receive(&console.input, byte, deadline)
                               : RESULT_TIMED_OUT;
}
