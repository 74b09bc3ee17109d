/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that wake and execute in a pattern, which repeats: boot arguments attacker0, attacker1
 * and so on,
 *
 *   attackerN=LENGTH:AT+EXECUTE,AT+EXECUTE ...
 *
 * in microseconds. The thread sleeps until AT after the begin of the pattern and executes EXECUTE.
 * An AT that has passed is no sleep. LENGTH is that of the pattern. The patterns begin together.
 */
#ifndef ATTACKERS_H
#define ATTACKERS_H

#include <stdbool.h>
#include <stdint.h>

#define ATTACKERS_MAX 8u

/* Starts the threads "attacker0" and so on of the boot arguments, whose patterns begin at this
 * time. Prints an error and returns false if there is one. Thread context. */
bool attackers_start(uint64_t begin);

#endif
