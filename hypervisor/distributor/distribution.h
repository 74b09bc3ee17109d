/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The distribution of a partition's SPIs over its shared cores. It is pure logic: no register, no
 * clock. All times are ticks of one clock that all cores read.
 *
 * At the end of a window a source is judged by the share of the window's parts in which it has
 * come:
 *
 * - A source becomes periodic if it has come in at least 8 of ten parts.
 * - A periodic source becomes sporadic if it has come in fewer than 5 of ten.
 * - On a busy core a source is periodic if it has come in 1 of ten. How often it comes there shows
 *   how often the guest gets to it, because its device waits for the guest.
 *
 * The home of a source is the VCPU to which the guest has routed it. If it is periodic, and so is a
 * source of a more urgent VCPU of the same core, its home offers it. A VCPU of the partition on
 * another core takes it, if that has room, and holds it for a second at least: a driver that polls
 * goes on to poll at home until its device has nothing more. At the end of its windows home renews
 * that there is a collision, and the taker that the source is periodic and has room. As soon as one
 * of the two has not been renewed in time, the other of them sends the source home, or the same one
 * does, and it rests there.
 */
#ifndef DISTRIBUTOR_DISTRIBUTION_H
#define DISTRIBUTOR_DISTRIBUTION_H

#include "distributor/profile.h"
#include "hypervisor/ticket_lock.h"
#include <stdbool.h>
#include <stdint.h>

/* Of PROFILE_PARTS. */
#define DISTRIBUTION_BECOMES_PERIODIC 8u
#define DISTRIBUTION_STAYS_PERIODIC   5u
#define DISTRIBUTION_PERIODIC_IF_BUSY 1u

/* Parts: three windows and a half, and ten windows. */
#define DISTRIBUTION_LEASE 35u
#define DISTRIBUTION_REST  100u

/* The tools read it (hypervisor/layouts.c). */
struct distribution_source {
    uint16_t number; /* INTID; 0: there is none */
    uint16_t rate;   /* in PROFILE_PARTS, as the VCPU to which it is routed saw it last */
    uint8_t home;    /* VCPU to which the guest has routed it. Also read without the lock */
    uint8_t target;  /* VCPU to which it is routed. Likewise */
    bool is_periodic;
    uint32_t moves, returns;
    uint64_t collides; /* until then home has offered it, or has renewed the collision */
    uint64_t holds;    /* until then its taker has renewed it, or it rests at home */
};

/* The partition's first SPIs, in the order of their numbers. The lock protects all of it, and the
 * routes of the partition's SPIs. */
struct distribution {
    struct ticket_lock lock;
    struct distribution_source sources[PROFILE_SOURCES];
};

/* A window of a core's VCPUs. */
struct distribution_window {
    uint64_t now;
    uint64_t lease; /* until then a collision that is renewed now is good */
    uint64_t rest;  /* until then a source rests that goes home now, or is held by its taker */
    uint64_t part;  /* ticks */
    uint64_t parts; /* that are over */
    /* A VCPU that has been closed has a periodic source: the sources of others collide with it. */
    bool is_contended;
    bool has_taken; /* such a VCPU had taken a source before */
    /* The VCPU that is closed: */
    uint32_t vcpu;
    uint32_t neighbours; /* bit n: VCPU n of the partition is on the same core; itself included */
    bool may_offer;
    bool is_busy;  /* its core */
    bool is_open;  /* its guest takes interrupts. If not, it gives back all that it has taken */
    bool can_keep; /* the sources that it has taken */
    bool has_room; /* for another source */
    /* Results: */
    bool has_offered; /* a source that is at home */
    uint32_t routed;  /* bit n: source n has another target now */
};

/* Returns the source with this number, which is an SPI of the partition, or NULL if it has no place
 * and all are taken. The partition's start calls it for each SPI, so that later no new one comes.
 */
struct distribution_source *distribution_find(struct distribution *distribution, uint32_t number);

/* The guest has routed a source to a VCPU, or it goes home. It rests until `rest`, and is not
 * offered. */
static inline void distribution_set_home(struct distribution_source *source, uint32_t vcpu,
                                         uint64_t rest)
{
    source->home = (uint8_t)vcpu;
    source->target = (uint8_t)vcpu;
    source->collides = 0;
    source->holds = rest;
}

/* Closes a part of a VCPU's window, which has lasted as long as `parts`. What came in several parts
 * counts as spread over them. */
void distribution_close_part(const struct distribution *distribution, struct profile *profile,
                             uint64_t parts);

/* Closes a window of a VCPU. Those of a core are closed in turn, the most urgent first. */
void distribution_close_window(struct distribution *distribution, struct profile *profile,
                               struct distribution_window *window);

#endif
