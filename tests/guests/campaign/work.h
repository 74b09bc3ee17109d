/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The work of the programs of ./bulkhead campaign: turns whose result is a function of the turn's
 * number alone. A turn reads constants, builds and frees lists on the heap, and recurses on the
 * stack, so that a fault in any of these changes the result or ends the program.
 */
#ifndef CAMPAIGN_WORK_H
#define CAMPAIGN_WORK_H

#include <stdint.h>

/* Does the work of a turn. Returns its digest, never 0. Panics if the heap is exhausted. Thread
 * context. */
uint32_t work_turn(uint32_t turn);

/* Returns the digest of `digest` and a further word. Any context. */
uint32_t work_mix(uint32_t digest, uint64_t word);

/* Prints the line of a turn: "turn 12: 89abcdef". Thread context. */
void work_print(uint32_t turn, uint32_t digest);

#endif
