/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is typed goes to one partition. Ctrl-] gives the input to the next one that has a console,
 * in the description's order, and a line of the hypervisor's says which that is. Ctrl-^ and s stops
 * the partition that has the input, Ctrl-^ and r begins it anew, stopped or not; before any other
 * key Ctrl-^ is a key like others.
 *
 * Nobody but a partition's own monitors can put something into its page. So the PL011's interrupt
 * always goes to the boot core of the partition that has the input, started or not, and who gets
 * the input next is interrupted there.
 */
#ifndef HYPERVISOR_INPUT_H
#define HYPERVISOR_INPUT_H

#include "hypervisor/partition.h"

/* Boot, once, after terminal_init() and gic_start(): the partition that the description names has
 * the input, or else the first with a console, and the interrupt goes there. */
void input_start(const struct description *system);

/* The PL011's interrupt came. On any core of any partition; returns at once where it is stale. What
 * the partition is to do: REQUEST_NONE, REQUEST_STOP or REQUEST_RESET. */
enum partition_request terminal_input(struct partition *partition);

#endif
