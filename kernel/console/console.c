/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring between print() and the serial line, and the queue for what is typed. All state is
 * changed with interrupts masked; how long for is bounded by one message and the line's own FIFO.
 */
#include "console/console.h"

#include "console/pl011.h"
#include "console/serial_line.h"
#include "kernel/console.h"
#include "kernel/interrupt.h"
#include "kernel/sync.h"
#include "kernel/time.h"
#include <stdbool.h>
#include <stdio.h>

#define RING_BYTES  4096u /* a power of two */
#define INPUT_BYTES 64u
#define NOTE_BYTES  64u

/* Polls that a byte may take: more than a second on any machine, at rates from 1200 baud. */
#define POLLS_MAX 100000000u

static struct {
    struct pl011 uart;
    bool absent;  /* there is no line: nothing is kept */
    bool waiting; /* console_poll() was called */
    bool input_ready;
    uint32_t read;  /* total bytes taken out of the ring; modulo its size */
    uint32_t write; /* total bytes put in */
    uint64_t dropped;
    struct message_queue input;
    uint8_t input_storage[INPUT_BYTES];
    char ring[RING_BYTES];
} console;

static uint32_t room(void)
{
    return RING_BYTES - (console.write - console.read);
}

static void pump(void)
{
    while (console.read != console.write &&
           pl011_put(&console.uart, (uint8_t)console.ring[console.read % RING_BYTES])) {
        console.read++;
    }
}

static void pump_waiting(void)
{
    unsigned polls = 0;

    while (console.read != console.write || !pl011_is_idle(&console.uart)) {
        uint32_t before = console.read;

        pump();
        polls = console.read == before ? polls + 1 : 0;
        if (polls == POLLS_MAX) {
            console.absent = true;
            return;
        }
    }
}

static void put(char character)
{
    if (room() == 0) {
        console.dropped++;
        return;
    }
    console.ring[console.write % RING_BYTES] = character;
    console.write++;
}

static void put_text(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '\n') {
            put('\r');
        }
        put(text[i]);
    }
}

static void put_note_of_loss(void)
{
    char note[NOTE_BYTES];

    if (console.dropped != 0 && room() >= 2 * NOTE_BYTES) {
        int length = snprintf(note, sizeof note, "\n[console: %llu bytes dropped]\n",
                              (unsigned long long)console.dropped);

        console.dropped = 0;
        put_text(note, (size_t)length);
    }
}

/* Moves what the line takes, and has it ask for the rest. */
static void drain(void)
{
    if (console.uart.registers == 0 || console.absent) {
        return;
    }
    if (console.waiting) {
        pump_waiting();
        return;
    }
    pump();
    put_note_of_loss();
    pl011_want_room(&console.uart, console.read != console.write);
}

void console_write(const char *text, size_t bytes)
{
    interrupt_state state = interrupts_save();

    if (!console.absent) {
        put_text(text, bytes);
        drain();
    }
    interrupts_restore(state);
}

void console_poll(void)
{
    console.waiting = true;
    drain();
}

static void take_input(void)
{
    uint8_t byte;

    /* At most what the queue holds: a line that never stops does not keep us in here. */
    for (unsigned i = 0; i < INPUT_BYTES && pl011_get(&console.uart, &byte); i++) {
        (void)message_queue_send(&console.input, &byte, DEADLINE_POLL);
    }
}

static void handle_interrupt(void *argument)
{
    (void)argument;
    pl011_acknowledge(&console.uart);
    take_input();
    drain();
}

void console_init(void)
{
    uintptr_t registers = serial_line_find();

    console.absent = registers == 0;
    if (registers != 0) {
        pl011_init(&console.uart, registers);
        drain();
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
        return; /* output then moves with each print, and there is no input */
    }
    pl011_want_input(&console.uart, true);
}

enum result console_read(char *byte, uint64_t deadline)
{
    return console.input_ready ? message_queue_receive(&console.input, byte, deadline)
                               : RESULT_TIMED_OUT;
}
