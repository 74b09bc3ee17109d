/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How often each SPI comes for a VCPU on a shared core. Time is divided into parts of 10 ms. A
 * window is as many parts as have passed when the hypervisor executes after the tenth: there is no
 * tick. At its end distributor/distribution.h judges each source.
 */
#ifndef DISTRIBUTOR_PROFILE_H
#define DISTRIBUTOR_PROFILE_H

#include <stdint.h>

#define PROFILE_INTERRUPTS     1020u /* SGIs, PPIs and SPIs */
#define PROFILE_SOURCES        16u
#define PROFILE_PARTS          10u /* of a window */
#define PROFILE_PARTS_A_SECOND 100u

struct profile_source {
    uint16_t count; /* in this window */
    uint16_t seen;  /* parts of this window in which it has come */
};

struct profile {
    struct profile_source sources[PROFILE_SOURCES]; /* in the order of the partition's */
    uint8_t arrivals[PROFILE_INTERRUPTS];           /* in this part, by INTID; at most 255 */
};

/* Counts an interrupt. Resident, on each delivery. One that comes while the VCPU does not execute
 * is delivered, and counted, when it does. */
static inline void profile_count(struct profile *profile, uint32_t number)
{
    uint8_t *arrivals = &profile->arrivals[number];

    *arrivals = (uint8_t)(*arrivals + (*arrivals != UINT8_MAX ? 1 : 0));
}

#endif
