/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keyboard input. One partition has the input. Ctrl-] gives it to the next partition that has a
 * console, in the description's order, and the hypervisor prints that partition's name. Ctrl-^ s
 * stops the partition that has the input. Ctrl-^ r restarts it, whether it runs or is stopped.
 * Before any other key, Ctrl-^ is passed on to the guest.
 *
 * The PL011's interrupt is routed to the boot core of the partition that has the input, whether
 * that partition is started or not. If the guest can shut that core, and the system has cores that
 * can't be shut, the interrupt is routed to one of those (docs/decisions/0039). Only a partition's
 * own monitors map its page. So the monitor that reads the PL011 queues the keys in the terminal's
 * memory for them. Bytes for which the queue has no room wait in the PL011, for a second
 * at most (input_flow.h).
 */
#ifndef HYPERVISOR_INPUT_H
#define HYPERVISOR_INPUT_H

#include "hypervisor/partition.h"

/* Gives the input to the partition that the description names, or else to the first one with a
 * console, and routes the PL011's interrupt. Boot, once, after terminal_init() and gic_start(). */
void input_start(const struct description *system);

/* Partitions whose boot VCPUs have to call input_take(): bit i for partition i. */
struct input_calls {
    uint32_t called;
    /* Partitions of `called` that must be recalled, because they have to stop or restart. */
    uint32_t recalled;
};

/* Handles the PL011's interrupt: reads typed keys and queues them. `now`: CNTPCT_EL0. Returns the
 * partitions for which keys were queued. Any core. */
struct input_calls input_receive(const struct description *system, uint64_t now);

/* Returns true if the partition can take keys that wait for it: a command, or a byte for which its
 * virtual PL011 has room. */
bool input_can_take(const struct partition *partition);

/* Writes keys that were typed for the partition to its virtual PL011, up to a command, a number of
 * keys or the virtual PL011's room. input_can_take() returns true if more keys can be taken.
 * Returns the command, REQUEST_STOP or REQUEST_RESET, or REQUEST_NONE. On the partition's boot
 * VCPU. */
enum partition_request input_take(struct partition *partition);

#endif
