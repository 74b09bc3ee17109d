/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses: `reg`, and its translation through the `ranges` of the parents (Devicetree
 * Specification 0.4, 2.3.5, 2.3.6 and 2.3.8).
 */
#include "devicetree/devicetree_private.h"
#include "kernel/devicetree.h"

/* The number of cells of an address and of a size on the bus that a node provides. */
struct bus_cells {
    unsigned address;
    unsigned size;
};

#define ADDRESS_CELLS_DEFAULT 2u /* Devicetree Specification 2.3.5 */
#define SIZE_CELLS_DEFAULT    1u

static enum result read_bus_cells(int bus, struct bus_cells *cells)
{
    cells->address = devicetree_number(bus, "#address-cells", ADDRESS_CELLS_DEFAULT);
    cells->size = devicetree_number(bus, "#size-cells", SIZE_CELLS_DEFAULT);
    if (cells->address == 0) {
        return RESULT_INVALID;
    }
    return cells->address > 2 || cells->size > 2 ? RESULT_UNSUPPORTED : RESULT_OK;
}

static uint64_t read_number(const uint32_t *cells, unsigned count)
{
    uint64_t number = 0;

    for (unsigned index = 0; index < count; index++) {
        number = number << 32 | devicetree_cell(cells + index);
    }
    return number;
}

/* Translates an address on the bus that `bus` provides to the bus that `bus` is on. */
static enum result translate_once(int bus, int parent, uint64_t *address, uint64_t size)
{
    struct bus_cells child, above;
    unsigned count = 0, entry_cells;
    unsigned bytes;
    const uint32_t *ranges;
    enum result result = read_bus_cells(bus, &child);

    if (result == RESULT_OK) {
        result = read_bus_cells(parent, &above);
    }
    if (result != RESULT_OK) {
        return result;
    }
    if (devicetree_property(bus, "ranges", &bytes) == NULL) {
        return RESULT_NOT_FOUND; /* the processor cannot reach the bus (2.3.8) */
    }
    if (bytes == 0) {
        return RESULT_OK; /* empty `ranges`: identical addresses (2.3.8) */
    }
    ranges = devicetree_cells(bus, "ranges", &count);
    entry_cells = child.address + above.address + child.size;
    if (ranges == NULL || count % entry_cells != 0) {
        return RESULT_INVALID;
    }
    for (; count > 0; count -= entry_cells, ranges += entry_cells) {
        uint64_t from = read_number(ranges, child.address);
        uint64_t to = read_number(ranges + child.address, above.address);
        uint64_t length = read_number(ranges + child.address + above.address, child.size);
        uint64_t offset = *address - from;

        if (*address >= from && offset < length && size <= length - offset) {
            *address = to + offset;
            return *address < to ? RESULT_INVALID : RESULT_OK;
        }
    }
    return RESULT_NOT_FOUND;
}

static enum result translate(const struct node_path *bus, uint64_t *address, uint64_t size)
{
    for (unsigned level = bus->depth; level > 0; level--) {
        enum result result =
            translate_once(bus->ancestor[level], bus->ancestor[level - 1], address, size);

        if (result != RESULT_OK) {
            return result;
        }
    }
    return size > 0 && *address + (size - 1) < *address ? RESULT_INVALID : RESULT_OK;
}

enum result devicetree_translate(int bus, uint64_t *address, uint64_t size)
{
    struct node_path path;

    return devicetree_path(bus, &path) ? translate(&path, address, size) : RESULT_INVALID;
}

enum result devicetree_reg(int node, unsigned index, uint64_t *address, uint64_t *size)
{
    struct node_path path;
    struct bus_cells cells;
    unsigned count, entry_cells;
    const uint32_t *reg = devicetree_cells(node, "reg", &count);
    enum result result;

    if (reg == NULL) {
        return RESULT_NOT_FOUND;
    }
    if (!devicetree_path(node, &path) || path.depth == 0) {
        return RESULT_INVALID;
    }
    path.depth--;
    path.node = path.ancestor[path.depth];
    result = read_bus_cells(path.node, &cells);
    if (result != RESULT_OK) {
        return result;
    }
    entry_cells = cells.address + cells.size;
    if (index >= count / entry_cells) {
        return RESULT_NOT_FOUND;
    }
    reg += (size_t)index * entry_cells;
    *address = read_number(reg, cells.address);
    *size = read_number(reg + cells.address, cells.size);
    return translate(&path, address, *size);
}
