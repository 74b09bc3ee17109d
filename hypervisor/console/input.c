/* SPDX-License-Identifier: BSD-2-Clause */
#include "console/input.h"

#include "console/input_flow.h"
#include "console/terminal.h"
#include "console/uart.h"
#include "gic/setup.h"
#include "hypervisor/description.h"

/* Most keys that are read from the PL011 in one exit. Further keys cause another exit. */
#define BATCH 16u
/* Most of those that are Ctrl-], or Ctrl-^ and the key after it, because these take longer. */
#define SPECIAL_KEYS 4u

_Static_assert(BATCH <= INPUT_FLOW_ROOM, "a batch fits");

/* The key before was Ctrl-^. */
static bool follows_command_key __attribute__((section(".bss.monitor_shared")));

static void route_uart_interrupt(const struct description *system, uint32_t partition)
{
    uint32_t target = description_first_listed(system);

    if (target == DESCRIPTION_NO_PARTITION ||
        description_has_listed_interrupts(&system->partitions[partition])) {
        target = partition;
    }
    gic_route(system, system->board.uart_interrupt,
              description_boot_core(&system->partitions[target]));
}

static void give_input(const struct description *system, uint32_t partition)
{
    terminal_give_input(partition);
    terminal_resume_input();
    route_uart_interrupt(system, partition);
}

/* Returns the next partition that has a console, in the description's order. At least one partition
 * has a console. */
static uint32_t next_with_console(const struct description *system, uint32_t partition)
{
    do {
        partition = (partition + 1) % system->partition_count;
    } while (system->partitions[partition].console == 0);
    return partition;
}

void input_start(const struct description *system)
{
    uint32_t owner = DESCRIPTION_NO_PARTITION;

    follows_command_key = false;
    input_flow_start();
    for (uint32_t i = system->partition_count; i-- != 0;) {
        const struct description_partition *partition = &system->partitions[i];

        if (partition->console_input != 0 ||
            (partition->console != 0 &&
             (owner == DESCRIPTION_NO_PARTITION || system->partitions[owner].console_input == 0))) {
            owner = i;
        }
    }
    terminal_give_input(owner);
    if (system->board.uart != 0 && system->board.uart_interrupt != 0) {
        /* The interrupt is also needed if no partition has a console, because it sends the
         * hypervisor's messages. */
        route_uart_interrupt(system, owner != DESCRIPTION_NO_PARTITION ? owner : 0);
        terminal_enable_interrupts();
    }
}

/* Gives the input to the next partition with a console. Returns that partition. */
static uint32_t switch_input(const struct description *system, uint32_t partition)
{
    uint32_t next = next_with_console(system, partition);

    terminal_print("the input is for %s", system->partitions[next].name);
    (void)terminal_queue_key(next, KEY_SHOW);
    give_input(system, next);
    return next;
}

/* Returns the command that Ctrl-^ and `byte` are, or KEY_SHOW if they are no command. */
static uint32_t command_of(uint8_t byte)
{
    switch (byte) {
    case 's':
        return KEY_STOP;
    case 'r':
        return KEY_RESTART;
    default:
        return KEY_SHOW;
    }
}

/* Queues a command for the partition. Drops it, with a message, if the partition's boot core has
 * not handled the command before. */
static void queue_command(const struct description *system, uint32_t partition, uint32_t key)
{
    const struct description_partition *described = &system->partitions[partition];

    if (!terminal_queue_key(partition, key)) {
        terminal_print("%s waits: core %u does not answer", described->name,
                       description_boot_core(described));
    }
}

static void handle_key(const struct description *system, uint32_t partition, uint8_t byte,
                       struct input_calls *calls)
{
    uint32_t command = follows_command_key ? command_of(byte) : KEY_SHOW;
    bool is_second_key = follows_command_key;

    follows_command_key = !is_second_key && byte == BYTE_COMMAND;
    calls->called |= UINT32_C(1) << partition;
    if (command != KEY_SHOW) {
        queue_command(system, partition, command);
        calls->recalled |= UINT32_C(1) << partition;
        return;
    }
    if (is_second_key) {
        (void)terminal_queue_key(partition, BYTE_COMMAND);
    }
    if (byte == BYTE_SWITCH) {
        calls->called |= UINT32_C(1) << switch_input(system, partition);
    } else if (!follows_command_key) {
        (void)terminal_queue_key(partition, byte);
    }
}

/* Notifies partitions whose virtual PL011 was full and has room again, because their monitors do
 * not see the PL011 empty the ring. Returns true if the partition that has the input is one of
 * these: then KEY_SHOW was queued for it, so that more of its line is printed. */
static bool notify_waiting_partitions(const struct description *system, uint32_t owner)
{
    uint32_t partitions = terminal_send_output();

    for (uint32_t i = 0; i < system->partition_count; i++) {
        if ((partitions >> i & 1u) != 0) {
            gic_make_pending(system, system->partitions[i].console_interrupt);
        }
    }
    return (partitions >> owner & 1u) != 0 && terminal_queue_key(owner, KEY_SHOW);
}

/* Queues typed bytes for the partition up to the next one that is handled here: Ctrl-], Ctrl-^, and
 * the one after Ctrl-^. Sets *byte to that one, or returns false if there is none. *left: number of
 * bytes that may be read. */
static bool read_special(uint32_t partition, uint32_t *left, uint8_t *byte)
{
    if (!follows_command_key) {
        uint32_t lost = 0;
        bool is_special = terminal_queue_typed(partition, left, byte, &lost);

        input_flow_lose(partition, lost);
        return is_special;
    }
    if (!terminal_read_byte(byte)) {
        return false;
    }
    --*left;
    return true;
}

/* Reads keys that were typed for the partition that has the input. Stops after a command, and when
 * the input changes its partition. The remaining bytes stay in the PL011, whose interrupt stays
 * asserted. */
static void read_keys(const struct description *system, uint32_t owner, struct input_calls *calls)
{
    uint32_t left = BATCH;
    uint8_t byte;

    for (unsigned n = 0; n < SPECIAL_KEYS && left != 0 && calls->recalled == 0 &&
                         terminal_input_owner() == owner && read_special(owner, &left, &byte);
         n++) {
        handle_key(system, owner, byte, calls);
    }
    if (left != BATCH) {
        calls->called |= UINT32_C(1) << owner;
    }
}

struct input_calls input_receive(const struct description *system, uint64_t now)
{
    struct input_calls calls = {0, 0};
    uint32_t owner = terminal_input_owner();

    /* A report takes long, so it is the only work of its exit. The interrupt is still asserted. */
    if (terminal_report_dropped()) {
        return calls;
    }
    if (owner == DESCRIPTION_NO_PARTITION) {
        /* No partition has a console, so all output is the hypervisor's. */
        (void)terminal_send_output();
        return calls;
    }
    if (notify_waiting_partitions(system, owner)) {
        calls.called |= UINT32_C(1) << owner;
    }
    if (!input_flow_has_to_wait(owner)) {
        read_keys(system, owner, &calls);
    }
    if (terminal_input_owner() == owner && input_flow_has_to_wait(owner)) {
        input_flow_pause(owner, now);
    }
    return calls;
}

bool input_can_take(const struct partition *partition)
{
    uint32_t index = partition->constant.index;

    return terminal_has_command(index) ||
           (terminal_has_key(index) && uart_input_room(partition) != 0);
}

/* Takes a number of keys, up to a command. The guest ends by the command, so that it does not have
 * to read the bytes before it. */
static enum partition_request take_up_to_command(struct partition *partition)
{
    switch (uart_receive_to_command(partition)) {
    case KEY_STOP:
        return REQUEST_STOP;
    case KEY_RESTART:
        return REQUEST_RESET;
    default:
        return REQUEST_NONE;
    }
}

enum partition_request input_take(struct partition *partition)
{
    uint32_t index = partition->constant.index;

    if (!terminal_has_key(index)) {
        return REQUEST_NONE;
    }
    /* A line takes long to print, so the keys are taken in another exit. */
    if (!partition->uart.is_shown && uart_flush(partition, false)) {
        partition->uart.is_shown = true;
        return REQUEST_NONE;
    }
    partition->uart.is_shown = false;
    if (terminal_has_command(index)) {
        return take_up_to_command(partition);
    }
    /* The message takes long, too. */
    if (uart_input_room(partition) == 0 || !input_flow_report(partition)) {
        uart_receive(partition);
    }
    return REQUEST_NONE;
}
