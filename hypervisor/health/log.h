/* SPDX-License-Identifier: BSD-2-Clause */
/* The log of a partition's errors (arch/health.h). */
#ifndef HEALTH_LOG_H
#define HEALTH_LOG_H

#include <arch/health.h>
#include <stdbool.h>

/* Appends a record, and gives it its number. The oldest one is overwritten if the log is full. The
 * caller keeps other writers out. Readers, of the manager and outside of the machine, see a record
 * in whole once `written` counts it. */
void log_append(struct health_log *log, const struct health_record *record);

/* Copies the first record whose number is `from` or larger, while another core may append records.
 * Returns false if there is none, or if records are appended all the time. */
bool log_read(const struct health_log *log, uint64_t from, struct health_record *record);

#endif
