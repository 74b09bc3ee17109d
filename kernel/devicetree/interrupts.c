/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interrupts: from a node's properties through interrupt parents and nexus nodes to the GIC
 * (Devicetree Specification 0.4, 2.4; the GIC's cells: Linux binding "arm,gic-v3").
 */
#include "devicetree/devicetree_private.h"
#include "kernel/devicetree.h"

/* Maximum number of interrupt parents, because phandles can form a loop. Real trees have 2 or 3. */
#define HOPS_MAX  16u
#define CELLS_MAX 8u /* unit address and interrupt specifier: PCI's are 3 + 1, a GIC's 2 + 4 */

/* An interrupt while it is translated: the node that was reached, and the cells that identify the
 * interrupt there. */
struct interrupt_place {
    int node;
    unsigned count;
    uint32_t specifier[CELLS_MAX];
};

static bool has(int node, const char *name)
{
    return devicetree_property(node, name, NULL) != NULL;
}

/* Returns the interrupt parent: the node's `interrupt-parent`, or its parent in the tree (2.4.1).
 * Skips nodes that are neither an interrupt controller nor a nexus. */
static int interrupt_parent(int node)
{
    for (unsigned hop = 0; hop < HOPS_MAX && node >= 0; hop++) {
        uint32_t phandle = devicetree_number(node, "interrupt-parent", 0);

        node = phandle != 0 ? devicetree_by_phandle(phandle) : devicetree_parent(node);
        if (has(node, "#interrupt-cells")) {
            return node;
        }
    }
    return -1;
}

/* Compares a map's child columns with the specifier, both masked (2.4.3). */
static bool row_matches(const uint32_t *row, const uint32_t *mask,
                        const struct interrupt_place *place)
{
    for (unsigned index = 0; index < place->count; index++) {
        uint32_t care = mask == NULL ? UINT32_MAX : devicetree_cell(mask + index);

        if (((devicetree_cell(row + index) ^ place->specifier[index]) & care) != 0) {
            return false;
        }
    }
    return true;
}

/* Makes one step through an `interrupt-map` (2.4.3). A row contains the child unit address and
 * specifier, the phandle of the parent, and the parent unit address and specifier. */
static enum result follow_map(struct interrupt_place *place)
{
    unsigned left, mask_count = 0;
    const uint32_t *row = devicetree_cells(place->node, "interrupt-map", &left);
    const uint32_t *mask = devicetree_cells(place->node, "interrupt-map-mask", &mask_count);

    if (row == NULL || (mask != NULL && mask_count != place->count)) {
        return RESULT_INVALID;
    }
    while (left > place->count) {
        int parent = devicetree_by_phandle(devicetree_cell(row + place->count));
        uint32_t address_cells = devicetree_number(parent, "#address-cells", 0);
        uint32_t specifier_cells = devicetree_number(parent, "#interrupt-cells", 0);
        const uint32_t *specifier = row + place->count + 1;

        left -= place->count + 1;
        if (parent < 0 || address_cells > CELLS_MAX || specifier_cells > CELLS_MAX ||
            address_cells + specifier_cells > CELLS_MAX || specifier_cells == 0 ||
            address_cells + specifier_cells > left) {
            return RESULT_INVALID;
        }
        if (row_matches(row, mask, place)) {
            /* A controller ignores the unit address; a further nexus compares it. */
            if (has(parent, "interrupt-controller")) {
                specifier += address_cells;
                address_cells = 0;
            }
            place->node = parent;
            place->count = address_cells + specifier_cells;
            for (unsigned index = 0; index < place->count; index++) {
                place->specifier[index] = devicetree_cell(specifier + index);
            }
            return RESULT_OK;
        }
        row = specifier + address_cells + specifier_cells;
        left -= address_cells + specifier_cells;
    }
    return RESULT_NOT_FOUND;
}

static bool is_gic(int node)
{
    return devicetree_compatible(node, "arm,gic-v3") ||
           devicetree_compatible(node, "arm,gic-400") ||
           devicetree_compatible(node, "arm,cortex-a15-gic");
}

/* Decodes a specifier of the binding "arm,gic-v3": cell 0 is the kind, cell 1 the number within the
 * kind, cell 2 the trigger in bits 3:0 (1 and 2: edge, 4 and 8: level). A fourth cell names the
 * cores that a private interrupt belongs to. */
static enum result decode_gic(const struct interrupt_place *place, uint32_t *number,
                              enum interrupt_trigger *trigger)
{
    uint32_t index = place->specifier[1];

    if (!is_gic(place->node)) {
        return RESULT_UNSUPPORTED;
    }
    if (place->count < 3) {
        return RESULT_INVALID;
    }
    switch (place->specifier[0]) {
    case 0: /* SPI: INTID 32..1019 */
        if (index > 1019 - 32) {
            return RESULT_INVALID;
        }
        *number = 32 + index;
        break;
    case 1: /* PPI: INTID 16..31 */
        if (index > 31 - 16) {
            return RESULT_INVALID;
        }
        *number = 16 + index;
        break;
    default: /* extended ranges */
        return RESULT_UNSUPPORTED;
    }
    *trigger = (place->specifier[2] & 0x3) != 0 ? INTERRUPT_EDGE : INTERRUPT_LEVEL;
    return RESULT_OK;
}

static enum result resolve(struct interrupt_place *place, uint32_t *number,
                           enum interrupt_trigger *trigger)
{
    for (unsigned hop = 0; hop < HOPS_MAX; hop++) {
        enum result result;

        if (has(place->node, "interrupt-controller")) {
            return decode_gic(place, number, trigger);
        }
        result = follow_map(place);
        if (result != RESULT_OK) {
            return result;
        }
    }
    return RESULT_INVALID;
}

/* Reads entry `index` of `interrupts-extended`, a list of pairs of phandle and specifier (2.4.1.2).
 */
static enum result find_extended(int node, unsigned index, struct interrupt_place *place)
{
    unsigned left;
    const uint32_t *cell = devicetree_cells(node, "interrupts-extended", &left);

    if (cell == NULL) {
        return RESULT_INVALID;
    }
    for (; left > 0; index--) {
        place->node = devicetree_by_phandle(devicetree_cell(cell));
        place->count = devicetree_number(place->node, "#interrupt-cells", 0);
        if (place->count == 0 || place->count > CELLS_MAX || place->count > left - 1) {
            return RESULT_INVALID;
        }
        if (index == 0) {
            for (unsigned at = 0; at < place->count; at++) {
                place->specifier[at] = devicetree_cell(cell + 1 + at);
            }
            return has(place->node, "interrupt-controller") ? RESULT_OK : RESULT_UNSUPPORTED;
        }
        cell += 1 + place->count;
        left -= 1 + place->count;
    }
    return RESULT_NOT_FOUND;
}

/* Writes the node's unit address, the first of its `reg`, in front of the specifier, for a nexus.
 */
static enum result prepend_unit_address(int node, struct interrupt_place *place)
{
    uint32_t address_cells = devicetree_number(place->node, "#address-cells", 0);
    unsigned reg_count = 0;
    const uint32_t *reg = devicetree_cells(node, "reg", &reg_count);

    if (address_cells > CELLS_MAX - place->count || address_cells > reg_count) {
        return RESULT_INVALID;
    }
    for (unsigned at = place->count; at > 0; at--) {
        place->specifier[at - 1 + address_cells] = place->specifier[at - 1];
    }
    for (unsigned at = 0; at < address_cells; at++) {
        place->specifier[at] = devicetree_cell(reg + at);
    }
    place->count += address_cells;
    return RESULT_OK;
}

static enum result find_plain(int node, unsigned index, struct interrupt_place *place)
{
    unsigned count;
    const uint32_t *cells = devicetree_cells(node, "interrupts", &count);

    if (cells == NULL) {
        return RESULT_NOT_FOUND;
    }
    place->node = interrupt_parent(node);
    place->count = devicetree_number(place->node, "#interrupt-cells", 0);
    if (place->count == 0 || place->count > CELLS_MAX) {
        return RESULT_INVALID;
    }
    if (index >= count / place->count) {
        return RESULT_NOT_FOUND;
    }
    for (unsigned at = 0; at < place->count; at++) {
        place->specifier[at] = devicetree_cell(cells + (size_t)index * place->count + at);
    }
    return has(place->node, "interrupt-controller") ? RESULT_OK : prepend_unit_address(node, place);
}

enum result devicetree_interrupt(int node, unsigned index, uint32_t *number,
                                 enum interrupt_trigger *trigger)
{
    struct interrupt_place place;
    enum result result;

    /* 2.4.1.2: `interrupts-extended` takes precedence over `interrupts`. */
    if (has(node, "interrupts-extended")) {
        result = find_extended(node, index, &place);
    } else {
        result = find_plain(node, index, &place);
    }
    return result == RESULT_OK ? resolve(&place, number, trigger) : result;
}

enum result devicetree_mapped_interrupt(int node, const uint32_t *specifier, unsigned count,
                                        uint32_t *number, enum interrupt_trigger *trigger)
{
    struct interrupt_place place = {.node = node, .count = count};
    uint32_t address_cells = devicetree_number(node, "#address-cells", 0);
    uint32_t specifier_cells = devicetree_number(node, "#interrupt-cells", 0);

    if (count > CELLS_MAX || address_cells > count || count - address_cells != specifier_cells) {
        return RESULT_INVALID;
    }
    if (!has(node, "interrupt-map")) {
        return RESULT_NOT_FOUND;
    }
    for (unsigned at = 0; at < count; at++) {
        place.specifier[at] = specifier[at];
    }
    return resolve(&place, number, trigger);
}
