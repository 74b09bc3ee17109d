/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of functions, from the table that tools/symbol_table.py writes into the linked image.
 */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include <stdint.h>

/* Returns the name of the function that contains the address, NULL if there is none in the table.
 * *offset gets the distance from the function's start. */
const char *symbol_find(uintptr_t address, uintptr_t *offset);

#endif
