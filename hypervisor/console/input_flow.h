/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flow of typed bytes to the partition that has the input. If its queue is nearly full, the
 * PL011's interrupts for input are disabled: the bytes stay in the PL011's FIFO, and whoever sends
 * them sees that it is full. They are enabled when the partition has taken bytes. A partition that
 * takes none for a second is deaf: bytes that find its queue full are lost, so that Ctrl-] and
 * Ctrl-^ are read. A message says so at once, and another one how many were lost, when the
 * partition takes bytes again.
 *
 * Any core. Times are values of CNTPCT_EL0.
 */
#ifndef CONSOLE_INPUT_FLOW_H
#define CONSOLE_INPUT_FLOW_H

#include "hypervisor/partition.h"
#include <stdbool.h>
#include <stdint.h>

/* Room of a queue, in keys, below which its partition's bytes wait: a batch that input.c reads,
 * which may begin with the second key of a Ctrl-^ before it. */
#define INPUT_FLOW_ROOM 16u

/* Begins with a flow for all partitions. Boot. */
void input_flow_start(void);

/* Disables the PL011's interrupts for input from `now` on, or leaves them disabled, unless the
 * partition, which has the input, has taken bytes meanwhile. terminal_input_paused_since() returns
 * the begin of the pause. */
void input_flow_pause(uint32_t partition, uint64_t now);

/* Returns true if the partition's bytes have to wait in the PL011. `partition`: index. */
bool input_flow_has_to_wait(uint32_t partition);

/* If the interrupts have been disabled for `second` ticks, makes the partition that has the input
 * deaf, and enables them. */
void input_flow_watch(const struct description *system, uint64_t now, uint64_t second);

/* Counts bytes for the partition that were lost. */
void input_flow_lose(uint32_t partition, uint32_t bytes);

/* Keys were removed from the partition's queue: enables the interrupts, if it has the input.
 * `partition`: index. */
void input_flow_make_room(uint32_t partition);

/* Makes the partition hear again if it is deaf, and prints how many bytes were lost. Returns false
 * if it is not deaf. Called when it can take bytes. */
bool input_flow_report(const struct partition *partition);

/* Does what both do, for bytes that the partition has taken. */
void input_flow_take(const struct partition *partition);

#endif
