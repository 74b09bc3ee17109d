/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Searches for nodes: by compatible string, by path, by phandle, and for the parent.
 */
#include "devicetree/devicetree_private.h"
#include "kernel/devicetree.h"
#include "kernel/interrupt.h"
#include <libfdt.h>
#include <string.h>

/* The last results, because most searches continue where the previous one ended. Accessed with
 * interrupts masked. */
static struct {
    struct node_path path;
    uint32_t phandle; /* 0: none */
    int phandle_node;
} recent;

void devicetree_search_reset(void)
{
    memset(&recent, 0, sizeof(recent));
    recent.path.node = -1;
}

static void recall(struct node_path *path)
{
    interrupt_state state = interrupts_save();

    *path = recent.path;
    interrupts_restore(state);
}

static void remember(const struct node_path *path)
{
    interrupt_state state = interrupts_save();

    recent.path = *path;
    interrupts_restore(state);
}

bool devicetree_path(int node, struct node_path *path)
{
    recall(path);
    if (node < path->node) {
        path->node = -1;
    }
    while (path->node < node) {
        if (devicetree_walk(path) != WALK_NODE) {
            return false;
        }
    }
    if (path->node != node || node < 0) {
        return false;
    }
    remember(path);
    return true;
}

int devicetree_parent(int node)
{
    struct node_path path;

    return devicetree_path(node, &path) && path.depth > 0 ? path.ancestor[path.depth - 1] : -1;
}

/* Returns true if one of the strings in the list, each terminated, equals `text`. */
static bool list_has(const char *list, unsigned bytes, const char *text)
{
    size_t text_bytes = strlen(text) + 1;

    while (bytes > 0) {
        const char *end = memchr(list, 0, bytes);
        size_t entry_bytes;

        if (end == NULL) {
            return false;
        }
        entry_bytes = (size_t)(end - list) + 1;
        if (entry_bytes == text_bytes && memcmp(list, text, text_bytes) == 0) {
            return true;
        }
        list += entry_bytes;
        bytes -= (unsigned)entry_bytes;
    }
    return false;
}

static bool property_has(uint32_t inside, const char *name, const char *text)
{
    unsigned bytes;
    const char *list = devicetree_property_inside(inside, name, &bytes);

    return list != NULL && list_has(list, bytes, text);
}

bool devicetree_compatible(int node, const char *compatible)
{
    uint32_t inside = devicetree_inside(node);

    return inside != 0 && property_has(inside, "compatible", compatible);
}

/* Returns true if the node's status is okay. A node without `status` is okay (Devicetree
 * Specification 2.3.4). A disabled bus disables the nodes below it. */
static bool is_okay(const struct node_path *path)
{
    for (unsigned level = 0; level <= path->depth; level++) {
        unsigned bytes;
        const char *status = devicetree_property(path->ancestor[level], "status", &bytes);

        if (status != NULL && !list_has(status, bytes, "okay") && !list_has(status, bytes, "ok")) {
            return false;
        }
    }
    return true;
}

int devicetree_next_with(int previous, const char *property, const char *text)
{
    struct node_path path = {.node = -1};

    if (devicetree_blob() == NULL || (previous >= 0 && !devicetree_path(previous, &path))) {
        return -1;
    }
    while (devicetree_walk(&path) == WALK_NODE) {
        if (property_has(path.inside, property, text) && is_okay(&path)) {
            remember(&path);
            return path.node;
        }
    }
    return -1;
}

int devicetree_next_compatible(int previous, const char *compatible)
{
    return devicetree_next_with(previous, "compatible", compatible);
}

int devicetree_next_child(int parent, int previous)
{
    struct node_path path;
    unsigned depth;

    if (!devicetree_path(previous < 0 ? parent : previous, &path)) {
        return -1;
    }
    depth = path.depth + (previous < 0);
    if (previous >= 0 && (depth == 0 || path.ancestor[depth - 1] != parent)) {
        return -1;
    }
    while (devicetree_walk(&path) == WALK_NODE && path.depth >= depth) {
        if (path.depth == depth) {
            remember(&path);
            return path.node;
        }
    }
    return -1;
}

/* Compares a node's name with a name in a path, which need not contain the unit address
 * (2.2.1, 2.2.3).
 */
static bool name_matches(const char *name, const char *wanted, size_t length)
{
    return strlen(name) >= length && memcmp(name, wanted, length) == 0 &&
           (name[length] == 0 || (name[length] == '@' && memchr(wanted, '@', length) == NULL));
}

int devicetree_find(const char *path, size_t length)
{
    int node = devicetree_blob() == NULL ? -1 : 0;

    while (node >= 0) {
        const char *end;
        size_t name_length;
        int child = -1;

        for (; length > 0 && *path == '/'; length--) {
            path++;
        }
        if (length == 0) {
            return node;
        }
        end = memchr(path, '/', length);
        name_length = end == NULL ? length : (size_t)(end - path);
        do {
            child = devicetree_next_child(node, child);
        } while (child >= 0 && !name_matches(devicetree_name(child), path, name_length));
        node = child;
        path += name_length;
        length -= name_length;
    }
    return -1;
}

static bool has_phandle(uint32_t inside, uint32_t phandle)
{
    unsigned bytes;
    const uint32_t *cell = devicetree_property_inside(inside, "phandle", &bytes);

    return cell != NULL && bytes == sizeof(*cell) && devicetree_cell(cell) == phandle;
}

int devicetree_by_phandle(uint32_t phandle)
{
    struct node_path path = {.node = -1};
    interrupt_state state;
    int node;

    if (phandle == 0 || phandle > FDT_MAX_PHANDLE) {
        return -1;
    }
    state = interrupts_save();
    node = phandle == recent.phandle ? recent.phandle_node : -1;
    interrupts_restore(state);
    if (node >= 0) {
        return node;
    }
    while (devicetree_blob() != NULL && devicetree_walk(&path) == WALK_NODE) {
        if (has_phandle(path.inside, phandle)) {
            state = interrupts_save();
            recent.phandle = phandle;
            recent.phandle_node = path.node;
            interrupts_restore(state);
            return path.node;
        }
    }
    return -1;
}
