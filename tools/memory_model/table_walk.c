/* SPDX-License-Identifier: BSD-2-Clause */
#include "table_walk.h"

#define LAST_LEVEL       3u
#define DESCRIPTOR_SHIFT 3u /* log2 of the bytes of a descriptor */
#define DESCRIPTOR_VALID UINT64_C(1)
#define DESCRIPTOR_TABLE UINT64_C(2) /* on the last level: a page */
#define DESCRIPTOR_NG    (UINT64_C(1) << 11)
#define ADDRESS_MASK     UINT64_C(0x0000ffffffffffff)

static uint64_t low_bits(uint32_t count)
{
    return (UINT64_C(1) << count) - 1;
}

/* Returns log2 of the bytes that a descriptor of this level translates. */
static uint32_t shift_of(const struct translation_table *table, uint32_t level)
{
    return table->granule_shift + (LAST_LEVEL - level) * (table->granule_shift - DESCRIPTOR_SHIFT);
}

/* Returns the address of the descriptor. Tables of the first level can be concatenated, or smaller
 * than a granule, so there the index is all that remains of the input. */
static uint64_t descriptor_address(const struct translation_table *table, uint64_t base,
                                   uint64_t input, uint32_t level)
{
    uint64_t index = input >> shift_of(table, level);

    if (level != table->first_level) {
        index &= low_bits(table->granule_shift - DESCRIPTOR_SHIFT);
    }
    return base + (index << DESCRIPTOR_SHIFT);
}

bool table_walk(const struct translation_table *table, uint64_t input,
                const struct descriptor_reader *reader, struct table_output *output)
{
    uint64_t base = table->base;

    if (input >> table->input_bits != 0) {
        return false;
    }
    for (uint32_t level = table->first_level; level <= LAST_LEVEL; level++) {
        uint64_t address = descriptor_address(table, base, input, level);
        uint32_t shift = shift_of(table, level);
        uint64_t descriptor;

        if (!reader->read(reader->context, address, &descriptor) ||
            (descriptor & DESCRIPTOR_VALID) == 0) {
            return false;
        }
        if (level == LAST_LEVEL || (descriptor & DESCRIPTOR_TABLE) == 0) {
            output->address =
                (descriptor & ADDRESS_MASK & ~low_bits(shift)) | (input & low_bits(shift));
            output->shift = (uint8_t)shift;
            output->is_global = (descriptor & DESCRIPTOR_NG) == 0;
            /* A block on level 0 and a page without bit 1 are reserved. */
            return level == LAST_LEVEL ? (descriptor & DESCRIPTOR_TABLE) != 0 : level != 0;
        }
        base = descriptor & ADDRESS_MASK & ~low_bits(table->granule_shift);
    }
    return false;
}
