/* SPDX-License-Identifier: BSD-2-Clause */
#include "owners.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES_MAX 256u

static int compare(const void *left, const void *right)
{
    uint64_t a = ((const struct owner_range *)left)->start;
    uint64_t b = ((const struct owner_range *)right)->start;

    return (a > b) - (a < b);
}

uint32_t owners_named(const struct owners *owners, const char *name)
{
    for (uint32_t i = 0; i < owners->count; i++) {
        if (strcmp(owners->names[i], name) == 0) {
            return i;
        }
    }
    return OWNERS_MAX;
}

/* Returns the index of a name, which is added if it is new; OWNERS_MAX if there is no room. */
static uint32_t index_of(struct owners *owners, const char *name)
{
    uint32_t index = owners_named(owners, name);

    if (index == OWNERS_MAX && owners->count < OWNERS_MAX) {
        index = owners->count;
        memcpy(owners->names[index], name, strlen(name) + 1);
        owners->count++;
    }
    return index;
}

/* Parses a hexadecimal number and the space behind it. Returns the rest, or NULL. */
static char *parse_number(char *text, uint64_t *number)
{
    char *end;

    if (strspn(text, "0123456789abcdefABCDEFx") == 0) {
        return NULL;
    }
    *number = strtoull(text, &end, 16);
    return *end == ' ' ? end + 1 : NULL;
}

/* Returns true if a name can stand in a JSON string as it is. */
static bool is_plain(const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < length; i++) {
        if (name[i] <= ' ' || name[i] > '~' || name[i] == '"' || name[i] == '\\') {
            return false;
        }
    }
    return length > 0 && length < OWNER_NAME_BYTES;
}

static const char *parse_line(struct owners *owners, char *line)
{
    struct owner_range range;
    char *name = parse_number(line, &range.start);
    uint32_t owner;

    name = name == NULL ? NULL : parse_number(name, &range.bytes);
    if (name == NULL) {
        return "a line is not START BYTES NAME";
    }
    name[strcspn(name, "\n")] = '\0';
    if (!is_plain(name)) {
        return "a name is empty or too long, or has a character that is not allowed";
    }
    if (range.bytes == 0 || range.start + range.bytes - 1 < range.start) {
        return "a range is empty, or exceeds the address space";
    }
    owner = index_of(owners, name);
    if (owner == OWNERS_MAX || owners->range_count == OWNER_RANGES_MAX) {
        return "there are too many ranges or names";
    }
    range.owner = (uint8_t)owner;
    owners->ranges[owners->range_count] = range;
    owners->range_count++;
    return NULL;
}

static bool has_overlap(const struct owners *owners)
{
    for (uint32_t i = 1; i < owners->range_count; i++) {
        const struct owner_range *before = &owners->ranges[i - 1];

        if (owners->ranges[i].start - before->start < before->bytes) {
            return true;
        }
    }
    return false;
}

/* The ranges are in ascending order. */
static void find_starts(struct owners *owners)
{
    for (uint32_t i = owners->range_count; i > 0; i--) {
        owners->starts[owners->ranges[i - 1].owner] = owners->ranges[i - 1].start;
    }
}

const char *owners_read(struct owners *owners, FILE *file)
{
    char line[LINE_BYTES_MAX];

    memset(owners, 0, sizeof(*owners));
    (void)index_of(owners, "other");
    while (fgets(line, sizeof(line), file) != NULL) {
        const char *error = parse_line(owners, line);

        if (error != NULL) {
            return error;
        }
    }
    qsort(owners->ranges, owners->range_count, sizeof(owners->ranges[0]), compare);
    find_starts(owners);
    return has_overlap(owners) ? "two ranges overlap" : NULL;
}

static bool is_in(const struct owner_range *range, uint64_t address)
{
    return address - range->start < range->bytes;
}

uint8_t owners_find(struct owners *owners, uint64_t address)
{
    uint32_t low = 0, high = owners->range_count;

    if (is_in(&owners->ranges[owners->last], address)) {
        return owners->ranges[owners->last].owner;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (is_in(&owners->ranges[middle], address)) {
            owners->last = middle;
            return owners->ranges[middle].owner;
        }
        if (address < owners->ranges[middle].start) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return OWNER_OTHER;
}
