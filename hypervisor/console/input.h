/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keyboard input goes to one partition. Ctrl-] gives it to the next partition that has a console,
 * in the description's order, and a line of the hypervisor names that partition. Ctrl-^ s stops the
 * partition that has the keyboard, Ctrl-^ r restarts it, running or stopped. Before any other key
 * Ctrl-^ is passed on.
 *
 * Only a partition's own monitors map its page. Therefore the PL011's interrupt is routed to the
 * boot core of the partition that has the keyboard, started or not, and is raised there again when
 * the keyboard changes its partition.
 */
#ifndef HYPERVISOR_INPUT_H
#define HYPERVISOR_INPUT_H

#include "hypervisor/partition.h"

/* Boot, once, after terminal_init() and gic_start(): the partition that the description names has
 * the input, or else the first with a console, and the interrupt goes there. */
void input_start(const struct description *system);

/* Handles the PL011's interrupt. Returns what was requested for the partition: REQUEST_NONE,
 * REQUEST_STOP or REQUEST_RESET. Any core of any partition; without effect if the partition does
 * not have the keyboard any more. */
enum partition_request terminal_input(struct partition *partition);

#endif
