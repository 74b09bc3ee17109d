/* SPDX-License-Identifier: BSD-2-Clause */
/* The counts of a model as JSON, which tools/bulkhead/memory_model/results.py reads. */
#ifndef MEMORY_MODEL_RESULTS_H
#define MEMORY_MODEL_RESULTS_H

#include "memory_model.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct run {
    uint64_t instructions; /* that have been counted */
    bool is_whole;         /* the run has reached its last instruction */
};

/* Writes the results. Errors of the file are left for ferror(). */
void results_write(FILE *file, const struct memory_model *model, const struct run *run);

#endif
