/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of functions, from the table that tools/symbol_table.py makes of a first link.
 */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include <stdint.h>

/* The function that holds the address, and how far inside; NULL if the table has none. */
const char *symbol_find(uintptr_t address, uintptr_t *offset);

#endif
