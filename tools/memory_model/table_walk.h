/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A walk through the tables of one stage of translation: 64-bit descriptors (Arm ARM DDI 0487, D8.3
 * "Translation table descriptor formats"), granules of 4, 16 and 64 KiB, 48-bit addresses. The
 * tables come from a guest, so a walk ends after at most four reads, whatever they contain.
 * Permissions and the access flag are not checked: the emulator has done that.
 */
#ifndef MEMORY_MODEL_TABLE_WALK_H
#define MEMORY_MODEL_TABLE_WALK_H

#include <stdbool.h>
#include <stdint.h>

/* The tables of a stage, as its registers describe them. */
struct translation_table {
    uint64_t base;
    uint32_t granule_shift; /* 12, 14 or 16 */
    uint32_t input_bits;    /* 16 to 48 */
    uint32_t first_level;   /* 0 to 3; its tables may be concatenated */
};

/* Reads a descriptor at an address, which is the output of the next stage's input if there is one.
 * Returns false if that is not possible. */
struct descriptor_reader {
    bool (*read)(void *context, uint64_t address, uint64_t *descriptor);
    void *context;
};

struct table_output {
    uint64_t address; /* of the input address */
    uint8_t shift;    /* log2 of the bytes of the page or block */
    bool is_global;   /* bit nG is 0; valid for stage 1 */
};

/* Translates an address of at most input_bits. Returns false if there is no translation. */
bool table_walk(const struct translation_table *table, uint64_t input,
                const struct descriptor_reader *reader, struct table_output *output);

#endif
