/* SPDX-License-Identifier: BSD-2-Clause */
/* The code of a program whose instructions a plugin recognises by their addresses. */
#ifndef BENCH_PLUGIN_TEXT_H
#define BENCH_PLUGIN_TEXT_H

#include "qemu_plugin.h"
#include <stdbool.h>
#include <stdio.h>

#define PLUGIN_TEXT_BYTES_MAX   0x80000u
#define PLUGIN_TEXT_INSTRUCTION 4u /* bytes */

struct plugin_text {
    uint32_t code[PLUGIN_TEXT_BYTES_MAX / PLUGIN_TEXT_INSTRUCTION];
    uint64_t bytes; /* 0: not read */
    uint64_t at;    /* its address */
};

/* Reads the code, as it is in memory, from a file. */
static inline void plugin_text_read(struct plugin_text *text, const char *path)
{
    FILE *file = fopen(path, "rbe");

    if (file != NULL) {
        text->bytes = fread(text->code, 1, sizeof(text->code), file);
        (void)fclose(file);
    }
}

/* Returns true if the instruction is in the text. Another program may have other code at the same
 * virtual address. `address`, `code`: of the instruction. */
static inline bool plugin_text_has(const struct plugin_text *text, uint64_t address, uint32_t code)
{
    uint64_t offset = address - text->at;

    return offset < text->bytes && text->code[offset / PLUGIN_TEXT_INSTRUCTION] == code;
}

#endif
