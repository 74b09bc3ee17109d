/* SPDX-License-Identifier: BSD-2-Clause */
/* The roles of this guest. Each one is called in the thread "init". */
#ifndef ROLES_H
#define ROLES_H

#include <stdint.h>

/* A control loop: each period it multiplies a matrix by a vector. It begins and ends what the model
 * of the memory system counts. Boot arguments: after (ms since boot), period (us), periods. */
void be_victim(void);

/* Each neighbour uses its memory for ever. The boot argument `bytes` is its size. */
void read_in_turn(void);
void write_in_turn(void);
void read_one_of_each_page(void);
void access_at_random(void);
void follow_pointers(void);
void execute_much_code(void);

/* Reads its memory once, and restarts its partition. */
void read_and_restart(void);

/* CODE_LINES lines of instructions (code.S). */
void much_code(void);

#endif
