/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations that the files of this folder share. */
#ifndef KEPT_PLACES_H
#define KEPT_PLACES_H

#include "kernel/result.h"
#include <stdint.h>

/* Kept memory: whole pages, mapped one to one. */
struct kept_region {
    uint64_t address;
    uint64_t bytes;
};

/* Finds and maps the memory of the devicetree's node that is compatible with the text. Results as
 * those of kept_take(), without RESULT_OVERFLOW. */
enum result kept_find_region(const char *compatible, struct kept_region *region);

/* Makes the first place the next one that is taken. */
void kept_forget_places(void);

#endif
