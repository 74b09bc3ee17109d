/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The distribution of a partition's SPIs over its shared cores (docs/decisions/0035). It is pure
 * logic: no register, no clock. All times are ticks of one clock that all cores read.
 *
 * At the end of a window a source is classified by the number of the window's parts in which it was
 * delivered:
 *
 * - A source becomes periodic if it was delivered in at least 8 of ten parts.
 * - A periodic source becomes sporadic if it was delivered in fewer than 5 of ten.
 * - On a busy core a source is periodic if it was delivered in 1 of ten. There its rate shows how
 *   often the guest executes, because its device waits for the guest.
 *
 * The home of a source is the VCPU to which the guest has routed it. A periodic source collides if
 * a more urgent VCPU of the same core has a periodic source, too. Then its home offers it. A VCPU
 * of the partition on another core takes it, if that core has room, and holds it for at least a
 * second, because a driver that polls at home gets no interrupts until its device has nothing more.
 * At the end of their windows the home renews the collision, and the taker renews that the source
 * is periodic and has room. As soon as one of the two has not renewed in time, whichever of them
 * notices it first sends the source home, where it rests.
 */
#ifndef DISTRIBUTOR_DISTRIBUTION_H
#define DISTRIBUTOR_DISTRIBUTION_H

#include "distributor/profile.h"
#include "hypervisor/description.h"
#include "hypervisor/ticket_lock.h"
#include <stdbool.h>
#include <stdint.h>

/* Numbers of parts in a window of PROFILE_PARTS. */
#define DISTRIBUTION_BECOMES_PERIODIC 8u
#define DISTRIBUTION_STAYS_PERIODIC   5u
#define DISTRIBUTION_PERIODIC_IF_BUSY 1u

/* Durations in parts: a renewed collision is valid for three windows and a half; a source rests, or
 * is held, for ten windows. */
#define DISTRIBUTION_LEASE 35u
#define DISTRIBUTION_REST  100u

/* An SPI that the distributor watches. The tools read it (hypervisor/layouts.c). */
struct distribution_source {
    uint16_t number; /* INTID; 0: the entry is unused */
    /* Number of deliveries in PROFILE_PARTS, in the last window of the VCPU to which it is
     * routed. */
    uint16_t rate;
    uint8_t home;   /* the VCPU to which the guest has routed it */
    uint8_t target; /* the VCPU to which the hardware routes it */
    bool is_periodic;
    uint32_t moves, returns;
    /* Time until which the home's offer, or its last renewal of the collision, is valid. */
    uint64_t collides;
    uint64_t holds; /* time until which its taker holds it, or until which it rests at home */
};

/* The sources and routes of a partition on shared cores. The monitors of its VCPUs hold `lock`
 * while they access them, with two exceptions: the numbers of sources are constant once the
 * partition has started, and routes, homes and targets may be read by atomic operations without the
 * lock. */
struct distribution {
    struct ticket_lock lock;
    struct distribution_source sources[PROFILE_SOURCES]; /* the first SPIs, ordered by number */
    /* The VCPUs to which SPIs are routed, two in a byte (distributor/route.h). */
    uint8_t routes[DESCRIPTION_SPI_WORDS * 32 / 2];
};

/* Input and results of distribution_close_window(). One window is closed for all VCPUs of a core in
 * turn. */
struct distribution_window {
    uint64_t now;
    uint64_t lease; /* time until which a collision is valid that is offered or renewed now */
    /* Time until which a source rests that goes home now, or is held that its taker takes or renews
     * now. */
    uint64_t rest;
    uint64_t part;  /* duration of a part, in ticks */
    uint64_t parts; /* number of parts that the window has lasted */
    /* A more urgent VCPU, whose window was closed before, has a periodic source: the sources of
     * later VCPUs collide with it. */
    bool is_contended;
    bool has_taken; /* a VCPU whose window was closed holds a source of another home */
    /* The VCPU whose window is closed: */
    uint32_t vcpu;
    /* Bit n: VCPU n of its partition is on the same core; the VCPU itself included. */
    uint32_t neighbours;
    bool may_offer; /* its partition's SPIs may be distributed */
    bool is_busy;   /* its core was idle for less than 2 / 5 of the window */
    /* Its guest takes interrupts; if not, it gives back all sources that it has taken. */
    bool is_open;
    bool can_keep; /* its core has room for the sources that it has taken */
    bool has_room; /* its core has room for another source */
    /* Results: */
    bool has_offered; /* a source at home was offered */
    uint32_t routed;  /* bit n: source n has another target now, and must be routed to it */
};

/* Returns the source with this number, or adds it. `number`: INTID of an SPI of the partition.
 * Returns NULL if all entries are used by other SPIs. The partition's start calls it for each SPI,
 * so that later calls add none. */
struct distribution_source *distribution_find(struct distribution *distribution, uint32_t number);

/* Sets the home of a source, when the guest has routed it to a VCPU or when it goes home. The
 * source is at home then, is not offered, and rests until `rest`. */
static inline void distribution_set_home(struct distribution_source *source, uint32_t vcpu,
                                         uint64_t rest)
{
    source->home = (uint8_t)vcpu;
    source->target = (uint8_t)vcpu;
    source->collides = 0;
    source->holds = rest;
}

/* Closes a part of a VCPU's window. `parts`: the number of parts that have passed since the last
 * call. Deliveries in several parts count as spread over them. */
void distribution_close_part(const struct distribution *distribution, struct profile *profile,
                             uint64_t parts);

/* Closes the window of a VCPU: updates the partition's sources, and takes the offered source with
 * the highest rate if the core has room. Called for the VCPUs of a core in turn, the most urgent
 * first. The caller holds distribution->lock. */
void distribution_close_window(struct distribution *distribution, struct profile *profile,
                               struct distribution_window *window);

#endif
