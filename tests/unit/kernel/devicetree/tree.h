/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trees for the devicetree tests, and everything the kernel can be asked about one.
 */
#ifndef TREE_H
#define TREE_H

#include <stddef.h>
#include <stdint.h>

/* Reads a file into memory of exactly its size, 8-byte aligned; fails the program. free() it. */
void *tree_load(const char *path, size_t *bytes);

/* Has the kernel take the tree in and asks it everything; nothing may go wrong in memory. `bytes`
 * is the size of the block: trees that claim to be larger are not taken in, as the boot code does
 * not. */
void tree_exercise(const void *blob, size_t bytes);

/* What print() was given last. */
extern char tree_printed[256];

#endif
