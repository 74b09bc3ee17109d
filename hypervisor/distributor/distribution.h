/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The distribution of a partition's SPIs over its shared cores (docs/decisions/0057). It is pure
 * logic: no register, no clock. Times are windows of 100 ms of one clock that all cores read. They
 * overflow after 13 years.
 *
 * At the end of a window a source is classified by the number of the window's parts in which it was
 * delivered:
 *
 * - A source becomes periodic if it was delivered in at least 8 of ten parts.
 * - A periodic source becomes sporadic if it was delivered in fewer than 5 of ten.
 * - On a core that is busy with its VCPU and more urgent ones, a source is periodic if it was
 *   delivered in 1 of ten. There its rate shows how often the guest executes, because its device
 *   waits for the guest. A source that was judged so at home is judged so at its taker.
 *
 * A source at home suffers if its core is taken away from it, and each move costs it some seconds:
 * its driver polls on the old core, and its device's peer sends little. So the policy does not
 * decide by what a source does now. A source is wanted for ten seconds after it was periodic, and
 * its demand is the largest share of a core that its VCPU has used while it was periodic.
 *
 * The home of a source is the VCPU to which the guest has routed it. A wanted source collides if a
 * more urgent VCPU of the same core has a periodic source, too. Then its home offers it. A VCPU of
 * the partition on another core takes it, if that core has room, and had no collision for two
 * seconds. From then on:
 *
 * - The home renews the collision while it collides or its core has no room for the demand. After
 *   two seconds without a renewal the source goes home.
 * - The taker renews that it is wanted. After ten seconds without a renewal it goes home.
 * - The taker renews that it has room. After two seconds without a renewal another core with room
 *   may take it.
 * - If the taker's guest has interrupts disabled at its GIC, the source goes home at the end of the
 *   window. It goes home if the guest executes and has not taken it for a second.
 *
 * At most 8 sources go home in a window, the others in the next one. If the taker's guest stops or
 * turns the VCPU off, all go home at once.
 *
 * A source that is moved again within a minute after the policy has sent it home, or to another
 * taker, has been misjudged. Then its durations double, at most five times. The times end by
 * themselves, so they need no clean-up when a core sleeps.
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

/* Shares of a core in percent. A core takes a source if it was idle for LEAST_IDLE; a VCPU is busy
 * if it and more urgent ones leave no more than that. A core keeps its sources if it was idle
 * or executed their VCPU for LEAST_KEPT. A home that is idle for MOST_DEMANDED has room for any
 * demand. */
#define DISTRIBUTION_LEAST_IDLE    40u
#define DISTRIBUTION_LEAST_KEPT    25u
#define DISTRIBUTION_MOST_DEMANDED 75u

/* Durations in windows: an offer is valid; a source rests at home after it has come home, or waits
 * for its taker's guest; a collision is remembered, and the room of a taker; a source is wanted.
 * The last two double. */
#define DISTRIBUTION_LEASE    4u
#define DISTRIBUTION_REST     10u
#define DISTRIBUTION_PATIENCE 20u
#define DISTRIBUTION_WANTED   100u

/* Most sources that go home in one window, so that no entry takes long (docs/decisions/0063). The
 * others do in the next one. */
#define DISTRIBUTION_RETURNS 8u

/* A decision that lasts for so many windows was right. The others double the durations, so many
 * times at most. */
#define DISTRIBUTION_PROVEN  600u
#define DISTRIBUTION_DOUBLED 5u

/* An SPI that the distributor watches. The tools read it (hypervisor/layouts.c). */
struct distribution_source {
    uint16_t number; /* INTID; 0: the entry is unused */
    /* Number of deliveries in PROFILE_PARTS, in the last window of the VCPU to which it is
     * routed. */
    uint16_t rate;
    uint8_t home;   /* the VCPU to which the guest has routed it */
    uint8_t target; /* the VCPU to which the hardware routes it */
    bool is_periodic;
    uint8_t demand;          /* percent of a core that it has needed at its best */
    uint16_t moves, returns; /* UINT16_MAX: as many or more */
    uint8_t doubled;         /* how often its durations are doubled */
    uint8_t untaken;         /* windows in which its taker's guest has executed without taking it */
    bool is_starved;         /* it was offered by a busy core, or would be if it were at home */
    /* Time until which the home's offer is valid, or its last renewal of the collision. */
    uint32_t collides;
    uint32_t wanted; /* time until which it is wanted */
    /* At home: time until which it rests there. Elsewhere: time until which its taker has room. */
    uint32_t stays;
    uint32_t left; /* time when it went home last, or to another taker; 0: never */
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

/* Why a source was routed to another VCPU. */
enum distribution_reason {
    DISTRIBUTION_COLLIDED, /* it collided at home, and another core had room */
    DISTRIBUTION_CROWDED,  /* its taker had no room any more, and another core had */
    DISTRIBUTION_HOME,     /* its home had room for it again */
    DISTRIBUTION_SPORADIC, /* it was not wanted any more */
    DISTRIBUTION_UNTAKEN,  /* its taker's guest did not take it */
    DISTRIBUTION_CLOSED    /* its taker's guest had interrupts disabled, or was off */
};

/* A decision, and the inputs by which it was made. The tools read it. */
struct distribution_decision {
    uint64_t time;              /* value of CNTPCT_EL0 */
    uint16_t number;            /* INTID */
    uint16_t rate;              /* of the source, see above */
    uint16_t partition;         /* index in the description */
    uint8_t reason;             /* enum distribution_reason */
    uint8_t vcpu;               /* the VCPU whose window was closed */
    uint8_t origin, target;     /* VCPUs */
    uint8_t demand, doubled;    /* of the source */
    uint8_t idle, used, urgent; /* of the window, see below */
    bool is_contended;          /* of the window */
};

#define DISTRIBUTION_DECISIONS 16u /* a power of two */

/* The last decisions of a core. */
struct distribution_log {
    uint64_t count; /* number of decisions; decision n is at n % DISTRIBUTION_DECISIONS */
    struct distribution_decision decisions[DISTRIBUTION_DECISIONS];
};

/* Input and results of distribution_close_window(). One window is closed for all VCPUs of a core in
 * turn. */
struct distribution_window {
    uint64_t now;   /* value of CNTPCT_EL0 */
    uint64_t part;  /* duration of a part, in ticks */
    uint64_t parts; /* number of parts that the window has lasted */
    uint32_t time;  /* `now` in windows */
    /* A more urgent VCPU, whose window was closed before, has a periodic source: the sources of
     * later VCPUs collide with it. */
    bool is_contended;
    bool has_taken; /* a VCPU whose window was closed holds a source of another home */
    uint8_t urgent; /* percent of the window that the VCPUs have used whose window was closed */
    /* The VCPU whose window is closed: */
    uint8_t used; /* percent of the window that it has used */
    uint8_t idle; /* percent of the window that the core was idle */
    uint16_t partition;
    uint32_t vcpu;
    /* Bit n: VCPU n of its partition is on the same core; the VCPU itself included. */
    uint32_t neighbours;
    bool may_offer; /* its partition's SPIs may be distributed */
    /* Its guest takes interrupts; if not, it gives back all sources that it has taken. */
    bool is_open;
    bool has_budget; /* it has budget left for another source */
    uint32_t active; /* bit n: source n, which it has taken, is active in the GIC */
    /* Results: */
    uint8_t returned; /* number of sources that went home */
    bool has_offered; /* a source was offered to other cores */
    uint32_t routed;  /* bit n: source n has another target now, and must be routed to it */
};

/* Returns the source with this number, or adds it. `number`: INTID of an SPI of the partition.
 * Returns NULL if all entries are used by other SPIs. The partition's start calls it for each SPI,
 * so that later calls add none. */
struct distribution_source *distribution_find(struct distribution *distribution, uint32_t number);

/* Sets the home of a source to which the guest has routed it. The source is at home then, is not
 * offered, and rests. */
void distribution_set_home(struct distribution_source *source, uint32_t vcpu, uint32_t now);

/* Closes a part of a VCPU's window. `parts`: the number of parts that have passed since the last
 * call. Deliveries in several parts count as spread over them. */
void distribution_close_part(const struct distribution *distribution, struct profile *profile,
                             uint64_t parts);

/* Closes the window of a VCPU: updates the partition's sources, and takes the offered source with
 * the highest rate if the core has room. Called for the VCPUs of a core in turn, the most urgent
 * first. Appends its decisions to the log. The caller holds distribution->lock. */
void distribution_close_window(struct distribution *distribution, struct profile *profile,
                               struct distribution_window *window, struct distribution_log *log);

/* Sends home sources that a VCPU has taken whose guest does not execute any more, `most` at most.
 * Sets window->routed. Appends to the log. The caller holds distribution->lock. */
void distribution_return(struct distribution *distribution, struct distribution_window *window,
                         struct distribution_log *log, unsigned most);

#endif
