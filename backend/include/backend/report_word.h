/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Words of a report that a tool reads while the program writes them (kernel/report.h). The caller
 * serialises all writers of a report. Any context.
 */
#ifndef BACKEND_REPORT_WORD_H
#define BACKEND_REPORT_WORD_H

#include <stddef.h>
#include <stdint.h>

/* Writes a number in one store, so that a tool sees it whole. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the builtin writes to it */
static inline void report_store(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* Writes the number of used records. A tool that reads it reads complete records. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the builtin writes to it */
static inline void report_store_count(uint64_t *word, uint64_t count)
{
    __atomic_store_n(word, count, __ATOMIC_RELEASE);
}

/* Copies a name to `to`, which has `bytes` zeros before the first call. The end of a name that is
 * too long is left out, and the last byte stays 0. */
static inline void report_copy_name(char *to, size_t bytes, const char *name)
{
    for (size_t i = 0; i + 1 < bytes && name[i] != '\0'; i++) {
        to[i] = name[i];
    }
}

#endif
