/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The logic of translation tables. A change walks its range up to three times: check (only to map:
 * is a part mapped for another use?), prepare (add missing tables, split blocks that the range
 * cuts; neither changes the mapping), apply (write the entries; cannot fail).
 *
 * This file also runs with the MMU off, when all memory is Device: it is compiled with
 * -mstrict-align, and calls neither memset() nor memcpy().
 */
#include <arch/translation_table.h>

#include "table_maintenance.h"

#define LEVEL_ROOT 0u
#define LEVEL_PAGE 3u

/* Arm ARM, "Translation table descriptor formats". */
#define DESCRIPTOR_VALID   UINT64_C(1)
#define DESCRIPTOR_TABLE   UINT64_C(3) /* type of a table, at levels 0 to 2 */
#define DESCRIPTOR_BLOCK   UINT64_C(1) /* type of a block, at levels 1 and 2 */
#define DESCRIPTOR_PAGE    UINT64_C(3) /* type of a page, at level 3 */
#define DESCRIPTOR_TYPE    UINT64_C(3)
#define DESCRIPTOR_ADDRESS UINT64_C(0x0000fffffffff000)

#define ATTRIBUTE_NORMAL          (UINT64_C(0) << 2) /* AttrIndx: MAIR_EL1 as in mmu_boot.c */
#define ATTRIBUTE_DEVICE          (UINT64_C(1) << 2)
#define ATTRIBUTE_READ_ONLY       (UINT64_C(1) << 7) /* AP[2] */
#define ATTRIBUTE_INNER_SHAREABLE (UINT64_C(3) << 8)
#define ATTRIBUTE_ACCESSED        (UINT64_C(1) << 10)
#define ATTRIBUTE_EL1_NO_EXECUTE  (UINT64_C(1) << 53)
#define ATTRIBUTE_EL0_NO_EXECUTE  (UINT64_C(1) << 54)

#define ATTRIBUTE_MEMORY \
    (ATTRIBUTE_NORMAL | ATTRIBUTE_INNER_SHAREABLE | ATTRIBUTE_ACCESSED | ATTRIBUTE_EL0_NO_EXECUTE)
#define ATTRIBUTE_ALL \
    (ATTRIBUTE_MEMORY | ATTRIBUTE_DEVICE | ATTRIBUTE_READ_ONLY | ATTRIBUTE_EL1_NO_EXECUTE)

static const uint64_t attributes_of[] = {
    [TRANSLATION_UNMAPPED] = 0,
    [TRANSLATION_CODE] = ATTRIBUTE_MEMORY | ATTRIBUTE_READ_ONLY,
    [TRANSLATION_CONSTANTS] = ATTRIBUTE_MEMORY | ATTRIBUTE_READ_ONLY | ATTRIBUTE_EL1_NO_EXECUTE,
    [TRANSLATION_DATA] = ATTRIBUTE_MEMORY | ATTRIBUTE_EL1_NO_EXECUTE,
    /* Device memory is not executable: the processor may fetch instructions speculatively, and such
     * a read may have an effect on a device. */
    [TRANSLATION_DEVICE] = ATTRIBUTE_DEVICE | ATTRIBUTE_INNER_SHAREABLE | ATTRIBUTE_ACCESSED |
                           ATTRIBUTE_EL0_NO_EXECUTE | ATTRIBUTE_EL1_NO_EXECUTE,
};

/* The range of a walk. The last byte is stored instead of the end, so that the end of the address
 * space needs no 65th bit. */
struct range {
    uint64_t first;
    uint64_t last;
};

/* The part of a range that one entry covers. */
struct piece {
    uint64_t *entry;
    uint64_t address; /* address of the first byte that the entry covers */
    unsigned level;
    bool whole; /* the range contains all bytes that the entry covers */
};

static uint64_t entry_bytes(unsigned level)
{
    return TRANSLATION_PAGE_BYTES << (9u * (LEVEL_PAGE - level));
}

static uint64_t *entry_at(uint64_t *table, unsigned level, uint64_t address)
{
    return &table[(address / entry_bytes(level)) % TRANSLATION_TABLE_ENTRIES];
}

static bool is_table(uint64_t descriptor, unsigned level)
{
    return level != LEVEL_PAGE && (descriptor & DESCRIPTOR_TYPE) == DESCRIPTOR_TABLE;
}

static uint64_t *table_of(uint64_t descriptor)
{
    return (uint64_t *)(uintptr_t)(descriptor & DESCRIPTOR_ADDRESS);
}

static uint64_t leaf(uint64_t address, uint64_t attributes, unsigned level)
{
    return address | attributes | (level == LEVEL_PAGE ? DESCRIPTOR_PAGE : DESCRIPTOR_BLOCK);
}

/* Returns true if the piece can be one block or page. Level 0 has no blocks with this granule. */
static bool can_be_leaf(const struct piece *piece)
{
    return piece->whole && piece->level != LEVEL_ROOT;
}

static struct piece piece_of(uint64_t *table, unsigned level, uint64_t cursor, struct range range)
{
    uint64_t bytes = entry_bytes(level);
    uint64_t first = cursor & ~(bytes - 1);
    struct piece piece = {
        .entry = entry_at(table, level, cursor),
        .address = first,
        .level = level,
        .whole = first >= range.first && first + (bytes - 1) <= range.last,
    };

    return piece;
}

/* Returns the part of `range` that the piece's entry covers. */
static struct range inside(const struct piece *piece, struct range range)
{
    uint64_t last = piece->address + (entry_bytes(piece->level) - 1);
    struct range part = {
        .first = piece->address > range.first ? piece->address : range.first,
        .last = last < range.last ? last : range.last,
    };

    return part;
}

/* The head of a `for` loop over all pieces of the range. The cursor cannot wrap, because addresses
 * end at 2^48. */
/* NOLINTBEGIN(bugprone-macro-parentheses): `piece` is declared, a name cannot be in parentheses */
#define FOR_EACH_PIECE(piece, table, level, range)                          \
    for (struct piece piece = piece_of(table, level, (range).first, range); \
         (piece).address <= (range).last;                                   \
         piece = piece_of(table, level, (piece).address + entry_bytes(level), range))
/* NOLINTEND(bugprone-macro-parentheses) */

static uint64_t *table_take(struct translation *translation)
{
    if (translation->reserve_count == 0) {
        return NULL;
    }
    translation->table_count++;
    return translation->reserve[--translation->reserve_count];
}

static void table_fill(uint64_t *table, uint64_t first, uint64_t step)
{
    for (unsigned i = 0; i < TRANSLATION_TABLE_ENTRIES; i++) {
        ((volatile uint64_t *)table)[i] = first == 0 ? 0 : first + i * step;
    }
}

/* Replaces the entry by a table with the same mapping. */
static enum result piece_split(struct translation *translation, const struct piece *piece)
{
    uint64_t old = *piece->entry;
    uint64_t *table = table_take(translation);

    if (table == NULL) {
        return RESULT_NO_MEMORY;
    }
    if ((old & DESCRIPTOR_VALID) == 0) {
        table_fill(table, 0, 0);
        table_entry_make(piece->entry, (uint64_t)(uintptr_t)table | DESCRIPTOR_TABLE);
        return RESULT_OK;
    }
    table_fill(table, leaf(piece->address, old & ATTRIBUTE_ALL, piece->level + 1),
               entry_bytes(piece->level + 1));
    table_entry_break_and_make(piece->entry, (uint64_t)(uintptr_t)table | DESCRIPTOR_TABLE,
                               piece->address, entry_bytes(piece->level));
    return RESULT_OK;
}

/* Returns true if each part of the range is unmapped or mapped with `attributes`. */
static bool check(uint64_t *table, unsigned level, struct range range, uint64_t attributes)
{
    FOR_EACH_PIECE(piece, table, level, range)
    {
        uint64_t descriptor = *piece.entry;

        if (is_table(descriptor, level)) {
            if (!check(table_of(descriptor), level + 1, inside(&piece, range), attributes)) {
                return false;
            }
        } else if ((descriptor & DESCRIPTOR_VALID) != 0 &&
                   (descriptor & ATTRIBUTE_ALL) != attributes) {
            return false;
        }
    }
    return true;
}

/* Returns true if the entry has the wanted attributes already. `attributes`: 0 means unmapped. */
static bool is_done(uint64_t descriptor, uint64_t attributes)
{
    if ((descriptor & DESCRIPTOR_VALID) == 0) {
        return attributes == 0;
    }
    return (descriptor & ATTRIBUTE_ALL) == attributes;
}

static enum result prepare(struct translation *translation, uint64_t *table, unsigned level,
                           struct range range, uint64_t attributes)
{
    FOR_EACH_PIECE(piece, table, level, range)
    {
        if (!is_table(*piece.entry, level)) {
            if (can_be_leaf(&piece) || is_done(*piece.entry, attributes)) {
                continue;
            }
            if (piece_split(translation, &piece) != RESULT_OK) {
                return RESULT_NO_MEMORY;
            }
        }
        if (prepare(translation, table_of(*piece.entry), level + 1, inside(&piece, range),
                    attributes) != RESULT_OK) {
            return RESULT_NO_MEMORY;
        }
    }
    return RESULT_OK;
}

static void apply(uint64_t *table, unsigned level, struct range range, uint64_t attributes)
{
    FOR_EACH_PIECE(piece, table, level, range)
    {
        if (is_table(*piece.entry, level)) {
            apply(table_of(*piece.entry), level + 1, inside(&piece, range), attributes);
        } else if (is_done(*piece.entry, attributes)) {
            continue;
        } else if (attributes != 0) {
            table_entry_make(piece.entry, leaf(piece.address, attributes, level));
        } else {
            table_entry_break(piece.entry, piece.address, entry_bytes(level));
        }
    }
}

static bool range_is_valid(uint64_t address, uint64_t bytes)
{
    return address % TRANSLATION_PAGE_BYTES == 0 && bytes % TRANSLATION_PAGE_BYTES == 0 &&
           bytes != 0 && address < TRANSLATION_ADDRESS_LIMIT &&
           bytes <= TRANSLATION_ADDRESS_LIMIT - address;
}

static enum result change(struct translation *translation, uint64_t address, uint64_t bytes,
                          uint64_t attributes)
{
    struct range range = {.first = address, .last = address + (bytes - 1)};
    enum result result = prepare(translation, translation->root, LEVEL_ROOT, range, attributes);

    if (result == RESULT_OK) {
        apply(translation->root, LEVEL_ROOT, range, attributes);
    }
    return result;
}

void translation_init(struct translation *translation, uint64_t *root)
{
    table_fill(root, 0, 0);
    translation->root = root;
    translation->reserve_count = 0;
    translation->table_count = 1;
}

bool translation_reserve_add(struct translation *translation, uint64_t *page)
{
    if (translation->reserve_count == TRANSLATION_RESERVE) {
        return false;
    }
    translation->reserve[translation->reserve_count++] = page;
    return true;
}

enum result translation_map(struct translation *translation, uint64_t address, uint64_t bytes,
                            enum translation_use use)
{
    uint64_t attributes = attributes_of[use];
    struct range range = {.first = address, .last = address + (bytes - 1)};

    if (!range_is_valid(address, bytes) || use == TRANSLATION_UNMAPPED) {
        return RESULT_INVALID;
    }
    if (!check(translation->root, LEVEL_ROOT, range, attributes)) {
        return RESULT_BUSY;
    }
    return change(translation, address, bytes, attributes);
}

enum result translation_unmap(struct translation *translation, uint64_t address, uint64_t bytes)
{
    if (!range_is_valid(address, bytes)) {
        return RESULT_INVALID;
    }
    return change(translation, address, bytes, attributes_of[TRANSLATION_UNMAPPED]);
}

static const uint64_t *find(const struct translation *translation, uint64_t address,
                            unsigned *level)
{
    const uint64_t *entry = entry_at(translation->root, LEVEL_ROOT, address);

    *level = LEVEL_ROOT;
    while (is_table(*entry, *level)) {
        (*level)++;
        entry = entry_at(table_of(*entry), *level, address);
    }
    return entry;
}

enum translation_use translation_find(const struct translation *translation, uint64_t address,
                                      uint64_t *block_bytes)
{
    unsigned level;
    uint64_t descriptor;

    if (address >= TRANSLATION_ADDRESS_LIMIT) {
        return TRANSLATION_UNMAPPED;
    }
    descriptor = *find(translation, address, &level);
    if (block_bytes != NULL) {
        *block_bytes = entry_bytes(level);
    }
    for (unsigned use = TRANSLATION_CODE; use <= TRANSLATION_DEVICE; use++) {
        if ((descriptor & DESCRIPTOR_VALID) != 0 &&
            (descriptor & ATTRIBUTE_ALL) == attributes_of[use]) {
            return (enum translation_use)use;
        }
    }
    return TRANSLATION_UNMAPPED;
}

enum result translation_split(struct translation *translation, uint64_t address)
{
    for (;;) {
        unsigned level;
        uint64_t *entry = (uint64_t *)(uintptr_t)find(translation, address, &level);
        struct piece piece = {.entry = entry,
                              .address = address & ~(entry_bytes(level) - 1),
                              .level = level,
                              .whole = false};

        if (level == LEVEL_PAGE || (*entry & DESCRIPTOR_VALID) == 0) {
            return RESULT_OK;
        }
        if (piece_split(translation, &piece) != RESULT_OK) {
            return RESULT_NO_MEMORY;
        }
    }
}
