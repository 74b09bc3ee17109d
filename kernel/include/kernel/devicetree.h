/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Read access to the machine's devicetree (Devicetree Specification 0.4), on libfdt. The kernel has
 * all addresses and interrupt numbers from this tree. A node is an offset, as in libfdt; a negative
 * number is no node. Any thread context; the tree does not change after boot.
 */
#ifndef KERNEL_DEVICETREE_H
#define KERNEL_DEVICETREE_H

#include "kernel/interrupt.h"
#include "kernel/result.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Checks the tree at `blob`: 8-byte aligned, mapped up to the size in its header, 2 MiB at most.
 * The blob must stay there, because the functions below read it. Called once, at boot. Returns
 * RESULT_OK, or RESULT_INVALID if the tree is not well-formed. */
enum result devicetree_init(const void *blob);

/* Returns the next node after `previous` (-1: from the start) whose `compatible` list contains the
 * string and whose status is okay; -1 if there is none. */
int devicetree_next_compatible(int previous, const char *compatible);
/* Returns true if the `compatible` list of the node, whatever its status, contains the string. */
bool devicetree_compatible(int node, const char *compatible);

/* The same for any property that is a list of strings ("device_type"). */
int devicetree_next_with(int previous, const char *property, const char *text);
/* Returns the next child of `parent` after `previous` (-1: the first), whatever its status; -1 if
 * there is none. */
int devicetree_next_child(int parent, int previous);
/* Returns the node at an absolute path of `length` characters, in which unit addresses may be
 * omitted; -1 if there is none. */
int devicetree_find(const char *path, size_t length);

/* Reads address and size of entry `index` of the node's `reg`, translated to an address of the
 * processor through the parents' `ranges`. Returns RESULT_OK, RESULT_NOT_FOUND (no such entry, or
 * not in the processor's address space), RESULT_INVALID (malformed) or RESULT_UNSUPPORTED
 * (addresses of more than 64 bits, such as PCI's). */
enum result devicetree_reg(int node, unsigned index, uint64_t *address, uint64_t *size);

/* Translates the address of `size` bytes on the bus that `bus` provides to its children to an
 * address of the processor. Returns RESULT_OK, RESULT_NOT_FOUND (no `ranges` entry contains all of
 * them), RESULT_INVALID (malformed) or RESULT_UNSUPPORTED (addresses of more than 64 bits). */
enum result devicetree_translate(int bus, uint64_t *address, uint64_t size);

/* Returns the parent of a node, -1 if it has none. */
int devicetree_parent(int node);
/* Returns the node with that phandle, -1 if there is none. */
int devicetree_by_phandle(uint32_t phandle);
/* Returns the property `name` and its size; NULL if it is absent. */
const void *devicetree_property(int node, const char *name, unsigned *bytes);
/* Returns the property `name` as 32-bit cells (big-endian: read them with devicetree_cell()); NULL
 * if it is absent or not a whole number of cells. */
const uint32_t *devicetree_cells(int node, const char *name, unsigned *count);
uint32_t devicetree_cell(const uint32_t *cell);
/* Returns the value of a property of one cell; `fallback` if it is absent or has another size. */
uint32_t devicetree_number(int node, const char *name, uint32_t fallback);

/* Reads INTID and trigger of interrupt `index` of the node, whose interrupt parent is a GIC.
 * Returns RESULT_OK, RESULT_NOT_FOUND, RESULT_UNSUPPORTED (the interrupt parent is no GIC, or
 * kernel/interrupt.h does not support the range) or RESULT_INVALID (malformed). */
enum result devicetree_interrupt(int node, unsigned index, uint32_t *number,
                                 enum interrupt_trigger *trigger);

/* Resolves an interrupt through the `interrupt-map` of a node, such as a PCI host bridge.
 * `specifier` contains the unit address and the interrupt specifier, `count` numbers in all, as in
 * the child columns of the map. Results as devicetree_interrupt(). */
enum result devicetree_mapped_interrupt(int node, const uint32_t *specifier, unsigned count,
                                        uint32_t *number, enum interrupt_trigger *trigger);

/* Returns the whole tree, for functions of libfdt that the functions above do not replace. */
const void *devicetree_blob(void);

/*
 * Finds a boot argument, a word `name=value` or `name` of /chosen/bootargs, and copies its value,
 * cut to `capacity` - 1 characters. A word without `=` has an empty value. Returns false if there
 * is no such argument.
 */
bool boot_argument(const char *name, char *value, size_t capacity);

/* Returns a boot argument as a number (decimal, or hexadecimal with 0x), or `fallback` if it is
 * absent. If the value is not a number from `minimum` to `maximum`, reports that on the console and
 * returns `fallback`. */
uint64_t boot_argument_number(const char *name, uint64_t fallback, uint64_t minimum,
                              uint64_t maximum);

#endif
