/* SPDX-License-Identifier: BSD-2-Clause */
#include "console/input.h"

#include "console/terminal.h"
#include "console/uart.h"
#include "gic/setup.h"

#define SWITCH  0x1d /* Ctrl-] */
#define COMMAND 0x1e /* Ctrl-^ */

/* Bytes that one interrupt handles: the PL011's FIFO. More of them raise another interrupt. */
#define BATCH 32u

static void route(const struct description *system, uint32_t partition)
{
    gic_route(system, system->board.uart_interrupt,
              description_boot_core(&system->partitions[partition]));
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

static void switch_input(const struct partition *partition)
{
    uint32_t next = next_of(partition->system, partition->index);

    terminal_print("the input is for %s", partition->system->partitions[next].name);
    give_input(partition->system, next);
}

static enum partition_request handle_key(struct partition *partition, uint8_t byte)
{
    bool commanded = partition->uart.commanded;

    partition->uart.commanded = !commanded && byte == COMMAND;
    if (commanded && byte == 's') {
        return REQUEST_STOP;
    }
    if (commanded && byte == 'r') {
        return REQUEST_RESET;
    }
    if (commanded) {
        uart_receive(partition, COMMAND);
    }
    if (byte == SWITCH) {
        switch_input(partition);
    } else if (!partition->uart.commanded) {
        uart_receive(partition, byte);
    }
    return REQUEST_NONE;
}

/* A UART whose FIFO was full has room again: its monitors did not see that happen. */
static void raise_waiting(const struct description *system)
{
    uint32_t partitions = terminal_continue();

    for (uint32_t i = 0; i < system->partition_count; i++) {
        if ((partitions >> i & 1u) != 0) {
            gic_make_pending(system, system->partitions[i].console_interrupt);
        }
    }
}

enum partition_request terminal_input(struct partition *partition)
{
    enum partition_request request = REQUEST_NONE;
    uint8_t byte;

    raise_waiting(partition->system);
    if (terminal_input_owner() == partition->index) {
        uart_flush(partition, false);
    }
    /* When the keyboard changes its partition, the remaining bytes stay in the PL011, whose
     * interrupt stays asserted for the new one. */
    for (unsigned i = 0; i < BATCH && request == REQUEST_NONE &&
                         terminal_input_owner() == partition->index && terminal_get(&byte);
         i++) {
        request = handle_key(partition, byte);
    }
    return request;
}
