/* SPDX-License-Identifier: BSD-2-Clause */
#include "health/log.h"

void log_append(struct health_log *log, const struct health_record *record)
{
    uint64_t number = log->written + 1;
    struct health_record *place = &log->records[log->written % HEALTH_LOG_RECORDS];

    /* A reader that sees a part of the new record must see a count with which it drops this place:
     * the count of the record before, which is in memory before this store. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    *place = *record;
    place->number = number;
    __atomic_store_n(&log->written, number, __ATOMIC_RELEASE);
}

/* A read that met a writer is repeated, because the writer may have overwritten its record. */
#define TRIES 3u

/* Returns the number of the oldest record that no writer overwrites if `written` were counted. */
static uint64_t oldest(uint64_t written)
{
    return written < HEALTH_LOG_RECORDS ? 1 : written - HEALTH_LOG_RECORDS + 2;
}

bool log_read(const struct health_log *log, uint64_t from, struct health_record *record)
{
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t written = __atomic_load_n(&log->written, __ATOMIC_ACQUIRE);
        uint64_t number = from > oldest(written) ? from : oldest(written);

        if (number > written) {
            return false;
        }
        *record = log->records[(number - 1) % HEALTH_LOG_RECORDS];
        __atomic_thread_fence(__ATOMIC_ACQUIRE); /* the copy, before the count is read again */
        if (number >= oldest(__atomic_load_n(&log->written, __ATOMIC_RELAXED))) {
            return true;
        }
    }
    return false;
}
