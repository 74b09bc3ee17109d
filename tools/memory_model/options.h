/* SPDX-License-Identifier: BSD-2-Clause */
/* Arguments of the plugin. */
#ifndef MEMORY_MODEL_OPTIONS_H
#define MEMORY_MODEL_OPTIONS_H

#include "memory_model.h"
#include <stdint.h>

struct options {
    const char *results; /* path of the file for the counts */
    const char *owners;  /* path of the file of owners.h */
    const char *memory;  /* name of the file that is the machine's memory, as in /proc/self/maps */
    uint64_t base;       /* physical address of that memory */
    uint64_t skipped;    /* instructions before the counts begin */
    uint64_t counted;    /* instructions that are counted */
    const char *victim;  /* owner whose memory has the marks of what is counted; NULL: none */
    uint64_t seed;
    struct stream stream;
    struct memory_model_geometry geometry;
};

/* Parses NAME=VALUE. Returns NULL, or what is wrong. */
const char *options_parse(struct options *options, const char *argument);

/* Returns which required arguments are missing after all have been parsed, or NULL. The geometry is
 * one that tools/bulkhead/memory_model/geometry.py has checked. */
const char *options_check(const struct options *options);

#endif
