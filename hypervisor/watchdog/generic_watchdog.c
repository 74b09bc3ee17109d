/* SPDX-License-Identifier: BSD-2-Clause */
#include "watchdog/generic_watchdog.h"

#include <devices/watchdog_registers.h>

#define SIGNALS   (WCS_SIGNAL0 | WCS_SIGNAL1)
#define WOR_MASK  ((UINT64_C(1) << WOR_BITS) - 1)
#define HIGH_WORD 4u /* offset of the upper half of a register of 64 bits */

/* Returns true if a watch period is passing, at the end of which a signal is asserted. */
static bool is_counting(const struct generic_watchdog *watchdog)
{
    return (watchdog->status & (WCS_ENABLE | WCS_SIGNAL1)) == WCS_ENABLE;
}

/* A refresh by the guest ("explicit watchdog refresh"): the signals are deasserted, and a watch
 * period begins. */
static void refresh(struct generic_watchdog *watchdog, uint64_t now)
{
    watchdog->status &= ~SIGNALS;
    watchdog->compare = now + watchdog->offset;
}

uint32_t generic_watchdog_advance(struct generic_watchdog *watchdog, uint64_t now)
{
    uint32_t before = watchdog->status;

    while (is_counting(watchdog) && now > watchdog->compare) {
        if ((watchdog->status & WCS_SIGNAL0) != 0) {
            watchdog->status |= WCS_SIGNAL1;
        } else {
            /* A timeout loads the compare value only while WS0 is deasserted. */
            watchdog->status |= WCS_SIGNAL0;
            watchdog->compare += 1 + watchdog->offset;
        }
    }
    return watchdog->status & ~before;
}

uint64_t generic_watchdog_due(const struct generic_watchdog *watchdog)
{
    if (!is_counting(watchdog) || watchdog->compare == UINT64_MAX) {
        return UINT64_MAX;
    }
    return watchdog->compare + 1;
}

/* Returns true if the access is to a register of 64 bits, or to one of its halves, at `offset`. */
static bool is_to_wide(const struct access *access, uint64_t offset)
{
    return access->bytes == sizeof(uint64_t)
               ? access->offset == offset
               : access->bytes == sizeof(uint32_t) &&
                     (access->offset == offset || access->offset == offset + HIGH_WORD);
}

/* Writes to a register of 64 bits, or to one of its halves. */
static void write_wide(uint64_t *value, const struct access *access)
{
    if (access->bytes == sizeof(uint64_t)) {
        *value = access->value;
    } else if ((access->offset & HIGH_WORD) != 0) {
        *value = (*value & UINT32_MAX) | access->value << 32;
    } else {
        *value = (*value & ~(uint64_t)UINT32_MAX) | access->value;
    }
}

static enum access_result write_control(struct generic_watchdog *watchdog, uint64_t now,
                                        const struct access *access)
{
    if (is_to_wide(access, WOR)) {
        write_wide(&watchdog->offset, access);
        watchdog->offset &= WOR_MASK;
        refresh(watchdog, now);
    } else if (is_to_wide(access, WCV)) {
        write_wide(&watchdog->compare, access); /* no refresh: the signals stay as they are */
    } else if (access->offset == WCS && access->bytes == sizeof(uint32_t)) {
        watchdog->status = (watchdog->status & SIGNALS) | ((uint32_t)access->value & WCS_ENABLE);
        refresh(watchdog, now);
    } else {
        return ACCESS_REFUSED;
    }
    return ACCESS_DONE;
}

static enum access_result read_wide(uint64_t value, struct access *access)
{
    access->value = (access->offset & HIGH_WORD) != 0 ? value >> 32 : value;
    access->value &= access->bytes == sizeof(uint64_t) ? UINT64_MAX : UINT32_MAX;
    return ACCESS_DONE;
}

static enum access_result read_word(uint32_t value, struct access *access)
{
    access->value = value;
    return ACCESS_DONE;
}

enum access_result generic_watchdog_access_control(struct generic_watchdog *watchdog, uint64_t now,
                                                   struct access *access)
{
    bool is_word = access->bytes == sizeof(uint32_t);

    if (access->write) {
        return write_control(watchdog, now, access);
    }
    access->value = 0;
    if (is_to_wide(access, WOR)) {
        return read_wide(watchdog->offset, access);
    }
    if (is_to_wide(access, WCV)) {
        return read_wide(watchdog->compare, access);
    }
    if (access->offset == WCS && is_word) {
        return read_word(watchdog->status, access);
    }
    return access->offset == W_IIDR && is_word ? read_word(W_IIDR_VERSION_1, access)
                                               : ACCESS_REFUSED;
}

enum access_result generic_watchdog_access_refresh(struct generic_watchdog *watchdog, uint64_t now,
                                                   struct access *access)
{
    bool is_word = access->bytes == sizeof(uint32_t);

    if (access->write) {
        if (access->offset != WRR || !is_word) {
            return ACCESS_REFUSED;
        }
        refresh(watchdog, now); /* whatever the value */
        return ACCESS_DONE;
    }
    access->value = 0;
    if (access->offset == WRR && is_word) {
        return ACCESS_DONE;
    }
    return access->offset == W_IIDR && is_word ? read_word(W_IIDR_VERSION_1, access)
                                               : ACCESS_REFUSED;
}
