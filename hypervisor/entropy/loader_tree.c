/* SPDX-License-Identifier: BSD-2-Clause */
#include "entropy/loader_tree.h"

#include <arch/device_access.h>
#include <stdbool.h>
#include <stddef.h>

/* The header (Devicetree Specification 0.4, 5.2): offsets of fields. */
#define MAGIC          0xd00dfeedu
#define HEADER_SIZE    4u
#define HEADER_STRUCTS 8u
#define HEADER_STRINGS 12u

/* Tokens (5.4.1). */
#define BEGIN_NODE 1u
#define END_NODE   2u
#define PROPERTY   3u
#define NOP        4u

#define CHOSEN_DEPTH 2u /* of the nodes in the root, which has depth 1 */

struct tree {
    uintptr_t start;
    uint64_t bytes;
    uint64_t strings; /* offset of the strings */
};

/* The place in the structure block. */
struct cursor {
    uint64_t at; /* offset in the tree */
    unsigned depth;
    bool in_chosen;
};

static bool has_room(const struct tree *tree, uint64_t at, uint64_t bytes)
{
    return at <= tree->bytes && bytes <= tree->bytes - at;
}

static uint32_t big_endian(uintptr_t address)
{
    return __builtin_bswap32(device_read32(address));
}

uint64_t loader_tree_bytes(uintptr_t tree, uint64_t room)
{
    uint32_t bytes;

    if (big_endian(tree) != MAGIC) {
        return 0;
    }
    bytes = big_endian(tree + HEADER_SIZE);
    return bytes >= LOADER_TREE_HEADER && bytes <= room ? bytes : 0;
}

/* Returns true if the tree has the text at an offset, with the 0 that ends it. */
static bool has_text(const struct tree *tree, uint64_t at, const char *text)
{
    size_t i = 0;

    do {
        if (!has_room(tree, at + i, 1) || device_read8(tree->start + at + i) != (uint8_t)text[i]) {
            return false;
        }
    } while (text[i++] != '\0');
    return true;
}

/* Returns the offset behind a name, with padding. */
static uint64_t behind_name(const struct tree *tree, uint64_t at)
{
    while (has_room(tree, at, 1) && device_read8(tree->start + at) != 0) {
        at++;
    }
    return (at | 3) + 1;
}

/* Enters a node. The cursor is behind the token. */
static void begin_node(const struct tree *tree, struct cursor *cursor)
{
    cursor->depth++;
    if (cursor->depth == CHOSEN_DEPTH) {
        cursor->in_chosen = has_text(tree, cursor->at, "chosen");
    }
    cursor->at = behind_name(tree, cursor->at);
}

/* Passes a property. Returns true, and the place of its value, if it is a seed. The cursor is
 * behind the token. */
static bool read_property(const struct tree *tree, struct cursor *cursor, struct loader_seed *seed)
{
    uint64_t name;

    if (!has_room(tree, cursor->at, 8)) {
        cursor->at = tree->bytes;
        return false;
    }
    seed->bytes = big_endian(tree->start + cursor->at);
    name = tree->strings + big_endian(tree->start + cursor->at + 4);
    seed->address = tree->start + cursor->at + 8;
    cursor->at += 8 + (((uint64_t)seed->bytes + 3) & ~UINT64_C(3));
    return cursor->in_chosen && cursor->depth == CHOSEN_DEPTH && has_room(tree, cursor->at, 0) &&
           (has_text(tree, name, "rng-seed") || has_text(tree, name, "kaslr-seed"));
}

unsigned loader_tree_seeds(uintptr_t start, uint64_t bytes,
                           struct loader_seed seeds[LOADER_SEEDS_MAX])
{
    struct tree tree = {start, bytes, big_endian(start + HEADER_STRINGS)};
    struct cursor cursor = {big_endian(start + HEADER_STRUCTS), 0, false};
    unsigned count = 0;

    while (cursor.at % 4 == 0 && has_room(&tree, cursor.at, 4) && count < LOADER_SEEDS_MAX) {
        uint32_t token = big_endian(start + cursor.at);

        cursor.at += 4;
        if (token == BEGIN_NODE) {
            begin_node(&tree, &cursor);
        } else if (token == END_NODE) {
            cursor.in_chosen = cursor.in_chosen && cursor.depth != CHOSEN_DEPTH;
            cursor.depth--;
        } else if (token == PROPERTY) {
            count += read_property(&tree, &cursor, &seeds[count]);
        } else if (token != NOP) {
            break;
        }
    }
    return count;
}
