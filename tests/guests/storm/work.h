/* SPDX-License-Identifier: BSD-2-Clause */
/* Work of a known number of instructions. Where time counts instructions (QEMU's -icount), it takes
 * a known time, plus that of the others that execute meanwhile. Thread context. */
#ifndef WORK_H
#define WORK_H

#include <stdint.h>

/* Executes a loop of so many turns. */
void work_execute(uint64_t turns);

/* Returns the turns that take this time. The first call measures that, with interrupts masked. */
uint64_t work_turns(uint64_t nanoseconds);

#endif
