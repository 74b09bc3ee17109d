/* SPDX-License-Identifier: BSD-2-Clause */
/* Trees for the devicetree tests, and a function that makes all queries about a tree. */
#ifndef TREE_H
#define TREE_H

#include <stddef.h>
#include <stdint.h>

/* Reads a file into memory of exactly its size, aligned to 8 bytes. Ends the program on failure.
 * The caller frees the memory. */
void *tree_load(const char *path, size_t *bytes);

/* Makes the kernel load the tree and makes all queries about it, which must not cause memory
 * errors. `bytes` is the size of the block: trees that claim to be larger are not loaded, as in the
 * boot code. */
void tree_exercise(const void *blob, size_t bytes);

/* The last text given to print(). */
extern char tree_printed[256];

#endif
