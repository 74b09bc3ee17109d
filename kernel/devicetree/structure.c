/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nodes and properties of the flattened tree (Devicetree Specification 0.4, chapter 5).
 *
 * libfdt checks the header. The walk through the nodes is our own, because libfdt compares every
 * name character by character and searches the strings block for every property's name: one search
 * through QEMU's tree costs it 200,000 instructions, a fifth of the goal for the whole boot. Every
 * step is checked against the bounds of the blocks, so that the worst effect of a damaged tree is
 * that nodes are not found.
 */
#include "devicetree/devicetree_private.h"
#include "kernel/devicetree.h"
#include <libfdt.h>
#include <string.h>

#define TAG_BYTES       4u
#define PROPERTY_HEADER 12u                  /* tag, length, offset of the name */
#define BLOB_BYTES_MAX  (2u * 1024u * 1024u) /* Linux arm64 boot protocol, section 2 */
#define VERSION_NEEDED  17u                  /* the first that gives the structure block's size */

/* Written by devicetree_init() only. */
static struct {
    const void *blob;
    const uint32_t *structure;
    const char *strings;
    uint32_t structure_bytes; /* whole cells */
    uint32_t strings_bytes;
    int chosen;
} tree = {.chosen = -1};

struct property {
    const char *name;
    const void *value;
    uint32_t bytes;
};

/* Returns the cell at an offset into the structure block, a multiple of 4 inside the block. */
static uint32_t cell_at(uint32_t offset)
{
    return __builtin_bswap32(tree.structure[offset / TAG_BYTES]);
}

/* Returns true if one of the four bytes is 0. */
static bool has_zero_byte(uint32_t word)
{
    return ((word - 0x01010101u) & ~word & 0x80808080u) != 0;
}

/* Returns the aligned offset behind the name that starts at `offset`, 0 if the name has no
 * terminator. */
static uint32_t skip_name(uint32_t offset)
{
    while (offset < tree.structure_bytes) {
        bool last = has_zero_byte(tree.structure[offset / TAG_BYTES]);

        offset += TAG_BYTES;
        if (last) {
            return offset;
        }
    }
    return 0;
}

/* Returns the aligned offset behind the property whose tag is at `offset`, 0 if the property is not
 * complete. */
static uint32_t skip_property(uint32_t offset)
{
    uint32_t left = tree.structure_bytes - offset;
    uint32_t bytes;

    if (left < PROPERTY_HEADER) {
        return 0;
    }
    bytes = cell_at(offset + TAG_BYTES);
    if (bytes > left - PROPERTY_HEADER) {
        return 0;
    }
    /* The block consists of whole cells, so that the rounded offset is inside it too. */
    return (offset + PROPERTY_HEADER + bytes + TAG_BYTES - 1) & ~(TAG_BYTES - 1);
}

uint32_t devicetree_inside(int node)
{
    if (node < 0 || (uint32_t)node % TAG_BYTES != 0 || (uint32_t)node >= tree.structure_bytes ||
        cell_at((uint32_t)node) != FDT_BEGIN_NODE) {
        return 0;
    }
    return skip_name((uint32_t)node + TAG_BYTES);
}

const char *devicetree_name(int node)
{
    return (const char *)&tree.structure[(uint32_t)node / TAG_BYTES + 1];
}

/* Skips padding, reads the property at *offset, and moves *offset behind it. Returns false if there
 * is no further property. */
static bool next_property(uint32_t *offset, struct property *property)
{
    uint32_t next, name;

    while (*offset < tree.structure_bytes && cell_at(*offset) == FDT_NOP) {
        *offset += TAG_BYTES;
    }
    if (*offset >= tree.structure_bytes || cell_at(*offset) != FDT_PROP) {
        return false;
    }
    next = skip_property(*offset);
    if (next == 0) {
        return false;
    }
    name = cell_at(*offset + 2 * TAG_BYTES);
    property->bytes = cell_at(*offset + TAG_BYTES);
    property->value = &tree.structure[(*offset + PROPERTY_HEADER) / TAG_BYTES];
    property->name = name < tree.strings_bytes ? tree.strings + name : "";
    *offset = next;
    return true;
}

const void *devicetree_property_inside(uint32_t inside, const char *name, unsigned *bytes)
{
    struct property property;

    while (next_property(&inside, &property)) {
        if (*property.name == *name && strcmp(property.name, name) == 0) {
            if (bytes != NULL) {
                *bytes = property.bytes;
            }
            return property.value;
        }
    }
    return NULL;
}

enum walk devicetree_walk(struct node_path *path)
{
    uint32_t offset = path->node < 0 ? 0 : path->inside;
    unsigned open = path->node < 0 ? 0 : path->depth + 1; /* nodes without their end tag yet */

    while (offset < tree.structure_bytes) {
        uint32_t tag = cell_at(offset);

        if (tag == FDT_PROP && open > 0) {
            offset = skip_property(offset);
            if (offset == 0) {
                return WALK_MALFORMED;
            }
        } else if (tag == FDT_END_NODE && open > 0) {
            open--;
            offset += TAG_BYTES;
        } else if (tag == FDT_NOP) {
            offset += TAG_BYTES;
        } else if (tag == FDT_BEGIN_NODE && open < DEVICETREE_DEPTH_MAX &&
                   (open > 0 || path->node < 0)) {
            path->node = (int)offset;
            path->inside = skip_name(offset + TAG_BYTES);
            path->depth = open;
            path->ancestor[open] = path->node;
            return path->inside == 0 ? WALK_MALFORMED : WALK_NODE;
        } else {
            /* Valid only after the end of the root node, as the last tag. */
            return tag == FDT_END && open == 0 && path->node >= 0 ? WALK_END : WALK_MALFORMED;
        }
    }
    return WALK_MALFORMED;
}

const void *devicetree_property(int node, const char *name, unsigned *bytes)
{
    uint32_t inside = devicetree_inside(node);

    return inside == 0 ? NULL : devicetree_property_inside(inside, name, bytes);
}

const uint32_t *devicetree_cells(int node, const char *name, unsigned *count)
{
    unsigned bytes = 0;
    const uint32_t *cells = devicetree_property(node, name, &bytes);

    if (cells == NULL || bytes % sizeof(*cells) != 0) {
        return NULL;
    }
    *count = bytes / (unsigned)sizeof(*cells);
    return cells;
}

uint32_t devicetree_cell(const uint32_t *cell)
{
    return __builtin_bswap32(*cell);
}

uint32_t devicetree_number(int node, const char *name, uint32_t fallback)
{
    unsigned count;
    const uint32_t *cells = devicetree_cells(node, name, &count);

    return cells != NULL && count == 1 ? devicetree_cell(cells) : fallback;
}

const void *devicetree_blob(void)
{
    return tree.blob;
}

const char *devicetree_bootargs(unsigned *bytes)
{
    const char *text = devicetree_property(tree.chosen, "bootargs", bytes);
    const char *end = text == NULL ? NULL : memchr(text, 0, *bytes);

    if (end != NULL) {
        *bytes = (unsigned)(end - text);
    }
    return text;
}

/* Walks the whole tree once, so that no later walk of an accepted tree fails. */
static bool check_structure(void)
{
    struct node_path path = {.node = -1};
    enum walk step;

    for (step = devicetree_walk(&path); step == WALK_NODE; step = devicetree_walk(&path)) {
        if (path.depth == 1 && strcmp(devicetree_name(path.node), "chosen") == 0) {
            tree.chosen = path.node;
        }
    }
    return step == WALK_END;
}

enum result devicetree_init(const void *blob)
{
    memset(&tree, 0, sizeof(tree));
    tree.chosen = -1;
    devicetree_search_reset();
    if ((uintptr_t)blob % sizeof(uint64_t) != 0 || fdt_check_header(blob) != 0 ||
        fdt_version(blob) < VERSION_NEEDED || fdt_totalsize(blob) > BLOB_BYTES_MAX ||
        fdt_off_dt_struct(blob) % TAG_BYTES != 0) {
        return RESULT_INVALID;
    }
    tree.structure = (const uint32_t *)blob + fdt_off_dt_struct(blob) / TAG_BYTES;
    tree.structure_bytes = fdt_size_dt_struct(blob) & ~(TAG_BYTES - 1);
    tree.strings = (const char *)blob + fdt_off_dt_strings(blob);
    tree.strings_bytes = fdt_size_dt_strings(blob);
    /* If the block ends with a terminator, every name in it has one. */
    if ((tree.strings_bytes > 0 && tree.strings[tree.strings_bytes - 1] != 0) ||
        !check_structure()) {
        return RESULT_INVALID;
    }
    tree.blob = blob;
    return RESULT_OK;
}
