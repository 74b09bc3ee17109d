/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keyboard input goes to one partition. Ctrl-] gives it to the next partition that has a console,
 * in the description's order, and a line of the hypervisor names that partition. Ctrl-^ s stops the
 * partition that has the keyboard, Ctrl-^ r restarts it, running or stopped. Before any other key
 * Ctrl-^ is passed on.
 *
 * The PL011's interrupt is routed to the boot core of the partition that has the keyboard, started
 * or not. If the guest can shut that core, and the system has cores that can't be shut, it is
 * routed to one of those (docs/decisions/0039). Only a partition's own monitors map its page, so
 * the monitor that reads the PL011 leaves the keys in the terminal's memory for them.
 */
#ifndef HYPERVISOR_INPUT_H
#define HYPERVISOR_INPUT_H

#include "hypervisor/partition.h"

/* Boot, once, after terminal_init() and gic_start(): the partition that the description names has
 * the input, or else the first with a console, and the interrupt goes there. */
void input_start(const struct description *system);

/* Partitions whose boot VCPUs have to call input_take(), bit i for partition i. */
struct input_calls {
    uint32_t called;
    uint32_t recalled; /* of these: whatever the guest does, because it is to stop */
};

/* Handles the PL011's interrupt. Any core. */
struct input_calls input_receive(const struct description *system);

/* Gives the guest what was typed for it, up to a command or a number of keys: terminal_has_key()
 * tells whether there is more. Returns the command, REQUEST_STOP or REQUEST_RESET, or REQUEST_NONE.
 * On the partition's boot VCPU. */
enum partition_request input_take(struct partition *partition);

#endif
