/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Read access to the machine's devicetree (Devicetree Specification 0.4), on libfdt. Everything the
 * kernel knows of addresses and interrupt numbers comes from here. Nodes are offsets as libfdt's; a
 * negative one is no node. Any thread context; read only after boot.
 */
#ifndef KERNEL_DEVICETREE_H
#define KERNEL_DEVICETREE_H

#include "kernel/interrupt.h"
#include "kernel/result.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Checks the tree at `blob` (8-byte aligned, mapped as far as its header says, 2 MiB at most) and
 * keeps using it where it is. Boot, once. RESULT_INVALID: not a well-formed tree. */
enum result devicetree_init(const void *blob);

/* The next node after `previous` (-1: from the start) whose `compatible` list has the string and
 * whose status is okay; -1 if there is none. */
int devicetree_next_compatible(int previous, const char *compatible);

/* The same for any property that is a list of strings ("device_type"). */
int devicetree_next_with(int previous, const char *property, const char *text);
/* The next child of `parent` after `previous` (-1: the first), whatever its status; -1 if there is
 * none. */
int devicetree_next_child(int parent, int previous);
/* The node at an absolute path of `length` characters; a unit address may be left out. -1: none. */
int devicetree_find(const char *path, size_t length);

/* Address and size `index` of the node's `reg`, translated to the processor's view through the
 * parents' `ranges`. RESULT_NOT_FOUND (no such entry, or not in the processor's address space),
 * RESULT_INVALID (malformed), RESULT_UNSUPPORTED (addresses of more than 64 bits: PCI's). */
enum result devicetree_reg(int node, unsigned index, uint64_t *address, uint64_t *size);

/* The processor's view of `size` bytes at an address of the bus that `bus` provides to its
 * children. RESULT_NOT_FOUND (no `ranges` entry has all of them), RESULT_INVALID (malformed),
 * RESULT_UNSUPPORTED (addresses of more than 64 bits). */
enum result devicetree_translate(int bus, uint64_t *address, uint64_t size);

/* The parent of a node; -1: none. */
int devicetree_parent(int node);
/* The node with that phandle; -1: none. */
int devicetree_by_phandle(uint32_t phandle);
/* Property `name` and its size; NULL if it is absent. */
const void *devicetree_property(int node, const char *name, unsigned *bytes);
/* Property `name` as 32-bit cells (big-endian: read them with devicetree_cell()); NULL if it is
 * absent or not a whole number of cells. */
const uint32_t *devicetree_cells(int node, const char *name, unsigned *count);
uint32_t devicetree_cell(const uint32_t *cell);
/* A property of one cell; `fallback` if it is absent or of another size. */
uint32_t devicetree_number(int node, const char *name, uint32_t fallback);

/* Interrupt `index` of the node, for a GIC parent: INTID and trigger. RESULT_NOT_FOUND,
 * RESULT_UNSUPPORTED (not a GIC's, or of a range that kernel/interrupt.h does not have),
 * RESULT_INVALID (malformed). */
enum result devicetree_interrupt(int node, unsigned index, uint32_t *number,
                                 enum interrupt_trigger *trigger);

/* Resolves an interrupt through the `interrupt-map` of a node (a PCI host bridge): `specifier` is
 * the unit address and the interrupt specifier, `count` numbers in all, as the map's child columns
 * have them. Results as devicetree_interrupt(). */
enum result devicetree_mapped_interrupt(int node, const uint32_t *specifier, unsigned count,
                                        uint32_t *number, enum interrupt_trigger *trigger);

/* The whole tree, for what the calls above do not cover (libfdt functions). */
const void *devicetree_blob(void);

/*
 * Boot arguments: words `name=value` or `name` of /chosen/bootargs. Looks one up and copies its
 * value, cut to `capacity` - 1 characters (a bare name has an empty value).
 * False if it is not there.
 */
bool boot_argument(const char *name, char *value, size_t capacity);

/* The same as a number (decimal, or hexadecimal with 0x); `fallback` if absent. A value that is no
 * number or lies outside minimum..maximum is reported on the console, and `fallback` is used. */
uint64_t boot_argument_number(const char *name, uint64_t fallback, uint64_t minimum,
                              uint64_t maximum);

#endif
