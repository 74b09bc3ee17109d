/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts of the SPIs that are delivered to a VCPU on a shared core. Time is divided into parts of
 * 10 ms. There is no tick: a window ends when the hypervisor executes for the first time after its
 * tenth part, so it may have more parts. At the end of a window, distributor/distribution.h
 * classifies each source.
 */
#ifndef DISTRIBUTOR_PROFILE_H
#define DISTRIBUTOR_PROFILE_H

#include <stdint.h>

#define PROFILE_INTERRUPTS     1020u /* INTIDs of SGIs, PPIs and SPIs: 0 to 1019 */
#define PROFILE_SOURCES        16u
#define PROFILE_PARTS          10u /* least number of parts in a window */
#define PROFILE_PARTS_A_SECOND 100u

struct profile_source {
    uint16_t count; /* number of deliveries in this window */
    uint16_t seen;  /* number of parts of this window with a delivery */
};

struct profile {
    struct profile_source sources[PROFILE_SOURCES]; /* in the order of the partition's sources */
    /* Time, in windows, until which the VCPU has no room, because more urgent ones have had
     * periodic sources. */
    uint32_t contended;
    uint8_t arrivals[PROFILE_INTERRUPTS]; /* deliveries in this part, by INTID; at most 255 */
};

/* Counts a delivery. An interrupt that arrives while the VCPU does not execute is delivered, and
 * counted, when it executes. Resident. */
static inline void profile_count(struct profile *profile, uint32_t number)
{
    uint8_t *arrivals = &profile->arrivals[number];

    *arrivals = (uint8_t)(*arrivals + (*arrivals != UINT8_MAX ? 1 : 0));
}

#endif
