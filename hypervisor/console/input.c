/* SPDX-License-Identifier: BSD-2-Clause */
#include "console/input.h"

#include "console/terminal.h"
#include "console/uart.h"
#include "gic/setup.h"
#include "hypervisor/description.h"

#define SWITCH  0x1d /* Ctrl-] */
#define COMMAND 0x1e /* Ctrl-^ */

/* Keys that one interrupt handles, when they are read and when they are taken. More of them raise
 * another one. */
#define BATCH 16u

static bool commanded __attribute__((section(".bss.monitor_shared"))); /* the last key: Ctrl-^ */

static void route(const struct description *system, uint32_t partition)
{
    uint32_t safe = description_first_listed(system);

    if (safe == DESCRIPTION_NO_PARTITION ||
        description_has_listed_interrupts(&system->partitions[partition])) {
        safe = partition;
    }
    gic_route(system, system->board.uart_interrupt,
              description_boot_core(&system->partitions[safe]));
}

static void give_input(const struct description *system, uint32_t partition)
{
    terminal_give_input(partition);
    route(system, partition);
}

/* Returns the next partition that has a console. At least one has. */
static uint32_t next_of(const struct description *system, uint32_t partition)
{
    do {
        partition = (partition + 1) % system->partition_count;
    } while (system->partitions[partition].console == 0);
    return partition;
}

void input_start(const struct description *system)
{
    uint32_t owner = DESCRIPTION_NO_PARTITION;

    commanded = false;
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
        /* Also if no partition has a console: the hypervisor's messages are sent by interrupts. */
        route(system, owner != DESCRIPTION_NO_PARTITION ? owner : 0);
        terminal_listen();
    }
}

/* Returns the partition that has the input now. */
static uint32_t switch_input(const struct description *system, uint32_t partition)
{
    uint32_t next = next_of(system, partition);

    terminal_print("the input is for %s", system->partitions[next].name);
    (void)terminal_pass(next, KEY_SHOW);
    give_input(system, next);
    return next;
}

/* Returns the key that Ctrl-^ and `byte` make, or KEY_SHOW if they make none. */
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

/* A command that follows another one which its boot core has not taken is not kept. */
static void pass_command(const struct description *system, uint32_t partition, uint32_t key)
{
    const struct description_partition *described = &system->partitions[partition];

    if (!terminal_pass(partition, key)) {
        terminal_print("%s waits: core %u does not answer", described->name,
                       description_boot_core(described));
    }
}

static void handle_key(const struct description *system, uint32_t partition, uint8_t byte,
                       struct input_calls *calls)
{
    uint32_t command = commanded ? command_of(byte) : KEY_SHOW;
    bool was_commanded = commanded;

    commanded = !was_commanded && byte == COMMAND;
    calls->called |= UINT32_C(1) << partition;
    if (command != KEY_SHOW) {
        pass_command(system, partition, command);
        calls->recalled |= UINT32_C(1) << partition;
        return;
    }
    if (was_commanded) {
        (void)terminal_pass(partition, COMMAND);
    }
    if (byte == SWITCH) {
        calls->called |= UINT32_C(1) << switch_input(system, partition);
    } else if (!commanded) {
        (void)terminal_pass(partition, byte);
    }
}

/* UARTs whose FIFOs were full have room again: their monitors did not see that happen. Returns true
 * if that of `owner`, which has the input, is one of them: more of its line can be shown. */
static bool raise_waiting(const struct description *system, uint32_t owner)
{
    uint32_t partitions = terminal_continue();

    for (uint32_t i = 0; i < system->partition_count; i++) {
        if ((partitions >> i & 1u) != 0) {
            gic_make_pending(system, system->partitions[i].console_interrupt);
        }
    }
    return (partitions >> owner & 1u) != 0 && terminal_pass(owner, KEY_SHOW);
}

struct input_calls input_receive(const struct description *system)
{
    struct input_calls calls = {0, 0};
    uint32_t owner = terminal_input_owner();
    uint8_t byte;

    if (owner == DESCRIPTION_NO_PARTITION) {
        (void)terminal_continue(); /* there is only the hypervisor's own output */
        return calls;
    }
    if (raise_waiting(system, owner)) {
        calls.called |= UINT32_C(1) << owner;
    }
    /* After a command, and when the keyboard changes its partition, the remaining bytes stay in the
     * PL011, whose interrupt stays asserted. */
    for (unsigned i = 0;
         i < BATCH && calls.recalled == 0 && terminal_input_owner() == owner && terminal_get(&byte);
         i++) {
        handle_key(system, owner, byte, &calls);
    }
    return calls;
}

enum partition_request input_take(struct partition *partition)
{
    uint32_t key;

    if (terminal_has_key(partition->index)) {
        uart_flush(partition, false);
    }
    for (unsigned i = 0; i < BATCH && terminal_take(partition->index, &key); i++) {
        if (key == KEY_STOP) {
            return REQUEST_STOP;
        }
        if (key == KEY_RESTART) {
            return REQUEST_RESET;
        }
        if (key != KEY_SHOW) {
            uart_receive(partition, (uint8_t)key);
        }
    }
    return REQUEST_NONE;
}
