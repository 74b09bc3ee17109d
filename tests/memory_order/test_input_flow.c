/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Explores the flow of typed bytes (hypervisor/console) under a weak memory model: the core that
 * handles the PL011's interrupt against a core whose partition takes its keys, is commanded or
 * restarts, and against a core whose timer ends a pause. At the end of each execution:
 *   - The PL011's interrupts for input are disabled only while there is a time at which that began
 *     and the queue of the partition that has the input is nearly full. So this partition enables
 *     them when it takes keys, and otherwise the timer does.
 *   - A partition is deaf only while its queue is nearly full.
 *   - Bytes reach the guest in the order in which they were typed.
 */
#include "console/input.h"
#include "console/uart.h"
#include "orders.h"
#include <arch/device_access.h>
#include <devices/pl011_registers.h>
#include <gic/setup.h>
#include <string.h>

/* With their states. NOLINTBEGIN(bugprone-suspicious-include) */
#include "console/input_flow.c"
#include "console/terminal.c"
/* NOLINTEND(bugprone-suspicious-include) */

#define THREADS        2u
#define ORDERS         2u
#define EXECUTIONS_MAX 3000000u

#define UART     0x9000000u
#define FIRST    0u
#define SECOND   1u
#define SHORT    (KEY_QUEUE_KEYS - 1 - INPUT_FLOW_ROOM) /* keys of a queue that is nearly full */
#define BEGIN    1000u                                  /* of the pauses, in ticks */
#define A_SECOND 100u

static struct description description;
static struct partition partitions[2];
static uint32_t mask;       /* UARTIMSC */
static uint8_t typed[64];   /* bytes in the receive FIFO */
static unsigned typed_next; /* the next one that is read */
static unsigned typed_end;
static uint8_t next_byte; /* that is typed */
static unsigned ended;    /* number of threads */
static unsigned halted;   /* number of cores */

uint32_t device_read32(uintptr_t address)
{
    if (address == UART + UARTFR) {
        return FLAG_TRANSMIT_EMPTY | (typed_next == typed_end ? FLAG_RECEIVE_EMPTY : 0);
    }
    return typed[typed_next++];
}

void device_write32(uintptr_t address, uint32_t value)
{
    if (address == UART + UARTIMSC) {
        mask = value;
    }
}

void gic_make_pending(const struct description *system, uint32_t interrupt)
{
    (void)system;
    (void)interrupt;
}

void gic_route(const struct description *system, uint32_t interrupt, uint32_t core)
{
    (void)system;
    (void)interrupt;
    (void)core;
}

void ticket_lock_take(struct ticket_lock *lock, uint64_t patience)
{
    (void)patience;
    model_lock(lock);
}

void ticket_lock_give(struct ticket_lock *lock)
{
    model_unlock(lock);
}

static void type_byte(uint8_t byte)
{
    typed[typed_end++] = byte;
}

static void queue_bytes(uint32_t partition, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        MODEL_CHECK(key_queue_add(&terminal.typed[partition], next_byte++));
    }
}

/* Registers the words with their values: the last step of a preparation. */
static void share(void)
{
    model_share(&terminal.paused_since, sizeof(terminal.paused_since));
    model_share(&terminal.input, sizeof(terminal.input));
    model_share(&flow.deaf, sizeof(flow.deaf));
    for (uint32_t i = 0; i < 2; i++) {
        model_share(&terminal.typed[i].count, sizeof(terminal.typed[i].count));
    }
}

/* Prepares a system in which the first partition has the input, with keys in the queues of both. */
static void prepare(unsigned first_keys, unsigned second_keys)
{
    memset(&description, 0, sizeof(description));
    memset(partitions, 0, sizeof(partitions));
    memset(&terminal, 0, sizeof(terminal));
    memset(&flow, 0, sizeof(flow));
    mask = typed_next = typed_end = ended = halted = 0;
    next_byte = 'a';
    description.partition_count = 2;
    description.core_count = 2;
    for (uint32_t i = 0; i < 2; i++) {
        struct description_partition *described = &description.partitions[i];

        described->name[0] = (char)('a' + i);
        described->console = described->console_interrupt = 1;
        described->vcpu_count = 1;
        described->vcpus[0].core = i;
        partitions[i].constant.system = &description;
        partitions[i].constant.described = described;
        partitions[i].constant.index = i;
    }
    description.board.uart = UART;
    description.board.uart_interrupt = 1;
    terminal_init(UART);
    terminal_share();
    input_start(&description);
    MODEL_CHECK(terminal_input_owner() == FIRST);
    queue_bytes(FIRST, first_keys);
    queue_bytes(SECOND, second_keys);
}

static bool is_full(uint32_t partition)
{
    return terminal.typed[partition].count >= SHORT;
}

/* Called at the end of each thread. The values in memory are the newest ones. */
static void end_thread(void)
{
    uint32_t owner = terminal.input - 1;
    const struct virtual_uart *uart = &partitions[FIRST].uart;

    if (++ended != THREADS) {
        return;
    }
    if ((mask & INTERRUPT_RECEIVE) == 0) {
        MODEL_CHECK(terminal.paused_since != 0);
        MODEL_CHECK(is_full(owner));
    } else {
        MODEL_CHECK(terminal.paused_since == 0);
    }
    for (uint32_t i = 0; i < 2; i++) {
        MODEL_CHECK((flow.deaf >> i & 1) == 0 || is_full(i));
    }
    for (uint32_t i = 1; i < uart->input_count; i++) {
        MODEL_CHECK(uart->input[uart->input_first + i] ==
                    (uint8_t)(uart->input[uart->input_first] + i));
    }
}

static void handle_interrupt(uint64_t now)
{
    (void)input_receive(&description, now);
}

static void take_keys(uint32_t partition)
{
    uart_receive(&partitions[partition]);
}

/* The end of an interrupt that finds the queue nearly full. */
static void pause_input(uint64_t now)
{
    if (input_flow_has_to_wait(FIRST)) {
        input_flow_pause(FIRST, now);
    }
}

static void pause_once(void)
{
    pause_input(BEGIN);
    end_thread();
}

/* The second interrupt is for output, or because the first pause has ended. */
static void pause_twice(void)
{
    pause_input(BEGIN);
    pause_input(BEGIN + 1);
    end_thread();
}

static void receive(void)
{
    handle_interrupt(BEGIN);
    end_thread();
}

static void receive_twice(void)
{
    handle_interrupt(BEGIN);
    handle_interrupt(BEGIN + 1);
    end_thread();
}

static void take_once(void)
{
    take_keys(FIRST);
    end_thread();
}

static void prepare_full(void)
{
    prepare(SHORT, 0);
    share();
}

/* The keys that are typed make the queue nearly full. */
static void prepare_nearly_full(void)
{
    prepare(SHORT - 2, 0);
    for (unsigned i = 0; i < 4; i++) {
        type_byte(next_byte++);
    }
    share();
}

static void prepare_paused(void)
{
    prepare(SHORT, 0);
    handle_interrupt(BEGIN - A_SECOND);
    share();
}

/* A command stands behind some of the keys. */
static void prepare_command(void)
{
    prepare(2, 0);
    MODEL_CHECK(key_queue_add(&terminal.typed[FIRST], KEY_RESTART));
    queue_bytes(FIRST, SHORT - 2);
    share();
}

static void take_command(void)
{
    MODEL_CHECK(input_take(&partitions[FIRST]) == REQUEST_RESET);
    end_thread();
}

static void restart(void)
{
    uart_hold_input(&partitions[FIRST]);
    uart_reset(&partitions[FIRST]);
    uart_release_input(&partitions[FIRST]);
    MODEL_CHECK(partitions[FIRST].uart.input_count != 0); /* of the keys that wait */
    end_thread();
}

static void watch(void)
{
    input_flow_watch(&description, BEGIN + 1, A_SECOND);
    end_thread();
}

static void watch_and_take(void)
{
    input_flow_watch(&description, BEGIN + 1, A_SECOND);
    take_keys(FIRST);
    end_thread();
}

/* The input moves to the other partition, whose queue is nearly full. */
static void prepare_switch(void)
{
    prepare(SHORT - 2, SHORT);
    type_byte(BYTE_SWITCH);
    share();
}

/* An interrupt for output finds that the partition has taken keys, and that Ctrl-] follows, before
 * the pause ends. */
static void prepare_switch_in_a_pause(void)
{
    prepare(SHORT, 0);
    handle_interrupt(BEGIN - A_SECOND);
    type_byte(BYTE_SWITCH);
    share();
}

static void take_second(void)
{
    take_keys(SECOND);
    end_thread();
}

/* The guest reads its last byte on one core, while its boot core takes keys. */
static void prepare_last_byte(void)
{
    prepare(36, 0);
    uart_receive(&partitions[FIRST]);
    partitions[FIRST].uart.input_first = 15;
    partitions[FIRST].uart.input_count = 1;
    share();
}

static void read_last_byte(void)
{
    struct access access = {.offset = UARTDR, .bytes = 4};

    MODEL_CHECK(uart_access(&partitions[FIRST], &access) == ACCESS_DONE);
    MODEL_CHECK(access.value == 'a' + 15);
    end_thread();
}

/* A core that halts right after it has paused the input (watch_leave(), entry/watch.c). */
static void pause_and_halt(void)
{
    pause_input(BEGIN);
    terminal_resume_input();
    MODEL_CHECK(++halted <= THREADS);
    MODEL_CHECK(halted != THREADS ||
                ((mask & INTERRUPT_RECEIVE) != 0 && terminal.paused_since == 0));
    end_thread();
}

static const struct order_program programs[] = {
    {{"a pause", prepare_full, {pause_once, take_once}}, EXECUTIONS_MAX},
    {{"keys and a pause", prepare_nearly_full, {receive, take_once}}, EXECUTIONS_MAX},
    {{"two pauses", prepare_full, {pause_twice, take_once}}, EXECUTIONS_MAX},
    {{"command", prepare_command, {pause_once, take_command}}, EXECUTIONS_MAX},
    {{"restart", prepare_full, {pause_once, restart}}, EXECUTIONS_MAX},
    {{"restart in a pause", prepare_paused, {watch, restart}}, EXECUTIONS_MAX},
    {{"timer and a pause", prepare_paused, {pause_once, watch}}, EXECUTIONS_MAX},
    {{"timer, pause, keys", prepare_paused, {pause_once, watch_and_take}}, EXECUTIONS_MAX},
    {{"switch", prepare_switch, {receive_twice, take_second}}, EXECUTIONS_MAX},
    {{"switch in a pause", prepare_switch_in_a_pause, {receive, take_once}}, EXECUTIONS_MAX},
    {{"two cores halt", prepare_full, {pause_and_halt, pause_and_halt}}, EXECUTIONS_MAX},
    {{"order", prepare_last_byte, {take_once, read_last_byte}}, EXECUTIONS_MAX},
};

int main(void)
{
    return orders_test(programs, sizeof(programs) / sizeof(programs[0]), ORDERS);
}
