/* SPDX-License-Identifier: BSD-2-Clause */
#include "distributor/distribution.h"

#include <stddef.h>

struct distribution_source *distribution_find(struct distribution *distribution, uint32_t number)
{
    for (unsigned i = 0; i < PROFILE_SOURCES; i++) {
        struct distribution_source *source = &distribution->sources[i];

        if (source->number == 0) {
            source->number = (uint16_t)number;
        }
        if (source->number == number) {
            return source;
        }
    }
    return NULL;
}

void distribution_close_part(const struct distribution *distribution, struct profile *profile,
                             uint64_t parts)
{
    for (unsigned i = 0; i < PROFILE_SOURCES && distribution->sources[i].number != 0; i++) {
        uint8_t *arrivals = &profile->arrivals[distribution->sources[i].number];

        profile->sources[i].count = (uint16_t)(profile->sources[i].count + *arrivals);
        profile->sources[i].seen =
            (uint16_t)(profile->sources[i].seen + (*arrivals < parts ? *arrivals : parts));
        *arrivals = 0;
    }
}

static void put_home(struct distribution_source *source, uint32_t now)
{
    source->target = source->home;
    source->collides = 0;
    source->stays = now + DISTRIBUTION_REST;
    source->is_starved = false;
    source->untaken = 0;
}

void distribution_set_home(struct distribution_source *source, uint32_t vcpu, uint32_t now)
{
    source->home = (uint8_t)vcpu;
    source->left = 0;
    source->doubled = 0;
    put_home(source, now);
}

/* Returns a time in the future of a source whose durations may be doubled. */
static uint32_t after(const struct distribution_source *source,
                      const struct distribution_window *window, uint32_t duration)
{
    return window->time + (duration << source->doubled);
}

/* Returns true if the VCPU and more urgent ones leave too little time of the core. `more`: what the
 * VCPU would use in addition. */
static bool is_busy(const struct distribution_window *window, uint32_t more)
{
    return window->urgent + window->used + more > 100 - DISTRIBUTION_LEAST_IDLE;
}

/* Classifies a source as periodic or sporadic, and sets its rate, at the end of a window of the
 * VCPU to which it is routed. `counted`: its arrivals in the window. */
static void classify(struct distribution_source *source, const struct profile_source *counted,
                     const struct distribution_window *window)
{
    uint64_t needed =
        source->is_periodic ? DISTRIBUTION_STAYS_PERIODIC : DISTRIBUTION_BECOMES_PERIODIC;

    if (is_busy(window, 0) || source->is_starved) {
        needed = DISTRIBUTION_PERIODIC_IF_BUSY;
    }
    source->is_periodic = (uint64_t)counted->seen * PROFILE_PARTS >= window->parts * needed;
    source->rate = (uint16_t)((uint64_t)counted->count * PROFILE_PARTS / window->parts);
}

/* Counts the windows in which a source is active from begin to end although its VCPU executes: the
 * guest does not take it, or does not end it. */
static void count_untaken(struct distribution_source *source, const struct profile_source *counted,
                          const struct distribution_window *window, bool is_active)
{
    if (!is_active || counted->count != 0 || window->used == 0) {
        source->untaken = 0;
    } else if (source->untaken < DISTRIBUTION_REST) {
        source->untaken++;
    }
}

/* Renews what a source needs, which is periodic at its target. The demand falls by a percent of a
 * core in each window with less. */
static void renew_demand(struct distribution_source *source,
                         const struct distribution_window *window)
{
    uint8_t lower = (uint8_t)(source->demand - (source->demand != 0 ? 1 : 0));

    source->wanted = after(source, window, DISTRIBUTION_WANTED);
    source->demand = window->used > lower ? window->used : lower;
}

/* Renews the collision of a source that has been taken, at the end of a window of its home. If it
 * would be starved there, it is judged so elsewhere: otherwise it could be sporadic elsewhere and
 * periodic at home. */
static void renew_collision(struct distribution_source *source,
                            const struct distribution_window *window)
{
    uint32_t demand =
        source->demand < DISTRIBUTION_MOST_DEMANDED ? source->demand : DISTRIBUTION_MOST_DEMANDED;

    if (window->is_contended || window->idle < demand) {
        source->collides = after(source, window, DISTRIBUTION_PATIENCE);
    }
    if (window->is_contended && is_busy(window, source->demand)) {
        source->is_starved = true;
    }
}

/* Renews the room of a taker, at the end of its window. The time of its own VCPU counts, because
 * the work for the source is no reason to give it away. Offers the source if there is no room. */
static void renew_room(struct distribution_source *source, struct distribution_window *window)
{
    window->has_taken = true;
    if (!window->is_contended && window->idle + window->used >= DISTRIBUTION_LEAST_KEPT) {
        source->stays = after(source, window, DISTRIBUTION_PATIENCE);
    }
    window->has_offered |= window->time > source->stays;
}

/* Offers a source that is at home, if it is periodic there, or was so and is starved now. */
static void offer(struct distribution_source *source, struct distribution_window *window)
{
    bool is_starved = is_busy(window, 0);

    if (window->is_contended && window->may_offer && window->time > source->stays &&
        window->time <= source->wanted && (source->is_periodic || is_starved)) {
        source->collides = window->time + DISTRIBUTION_LEASE;
        source->is_starved = source->is_starved || is_starved;
        window->has_offered = true;
    }
}

/* Returns true if a source that has been taken has to go home. */
static bool has_to_return(const struct distribution_source *source,
                          const struct distribution_window *window,
                          enum distribution_reason *reason)
{
    if (source->target == window->vcpu && !window->is_open) {
        *reason = DISTRIBUTION_CLOSED;
        return true;
    }
    if (source->untaken == DISTRIBUTION_REST) {
        *reason = DISTRIBUTION_UNTAKEN;
        return true;
    }
    *reason = window->time > source->wanted ? DISTRIBUTION_SPORADIC : DISTRIBUTION_HOME;
    return window->time > source->wanted || window->time > source->collides;
}

/* Returns true if the VCPU has had no collision for some time, and its core has room now. */
static bool has_room(const struct profile *profile, const struct distribution_window *window)
{
    return window->is_open && window->has_budget && window->time > profile->contended &&
           window->idle >= DISTRIBUTION_LEAST_IDLE;
}

/* Returns true if a VCPU with room may take the source. */
static bool is_for_taking(const struct distribution_source *source,
                          const struct distribution_window *window)
{
    uint32_t near = UINT32_C(1) << source->home | UINT32_C(1) << source->target;

    return (window->neighbours & near) == 0 && window->time <= source->collides &&
           (source->target == source->home || window->time > source->stays);
}

static void log_decision(struct distribution_log *log, const struct distribution_source *source,
                         const struct distribution_window *window, uint32_t origin,
                         enum distribution_reason reason)
{
    log->decisions[log->count % DISTRIBUTION_DECISIONS] =
        (struct distribution_decision){.time = window->now,
                                       .number = source->number,
                                       .rate = source->rate,
                                       .partition = window->partition,
                                       .reason = (uint8_t)reason,
                                       .vcpu = (uint8_t)window->vcpu,
                                       .origin = (uint8_t)origin,
                                       .target = source->target,
                                       .demand = source->demand,
                                       .doubled = source->doubled,
                                       .idle = window->idle,
                                       .used = window->used,
                                       .urgent = window->urgent,
                                       .is_contended = window->is_contended};
    __atomic_store_n(&log->count, log->count + 1, __ATOMIC_RELEASE);
}

static void increment(uint16_t *count)
{
    *count = (uint16_t)(*count + (*count != UINT16_MAX ? 1 : 0));
}

/* Doubles the durations of a source that is moved soon after it has left its last place. */
static void learn(struct distribution_source *source, const struct distribution_window *window)
{
    if (source->left == 0 || window->time - source->left > DISTRIBUTION_PROVEN) {
        source->doubled = 0;
    } else if (source->doubled < DISTRIBUTION_DOUBLED) {
        source->doubled++;
    }
}

static void take(struct distribution_source *source, const struct distribution_window *window,
                 struct distribution_log *log)
{
    uint32_t origin = source->target;
    bool was_home = origin == source->home;

    learn(source, window);
    if (!was_home) {
        source->left = window->time;
    }
    source->target = (uint8_t)window->vcpu;
    source->wanted = after(source, window, DISTRIBUTION_WANTED);
    source->collides = after(source, window, DISTRIBUTION_PATIENCE);
    source->stays = source->collides;
    increment(&source->moves);
    log_decision(log, source, window, origin,
                 was_home ? DISTRIBUTION_COLLIDED : DISTRIBUTION_CROWDED);
}

static void go_home(struct distribution_source *source, const struct distribution_window *window,
                    enum distribution_reason reason, struct distribution_log *log)
{
    uint32_t origin = source->target;

    source->left = reason == DISTRIBUTION_CLOSED ? 0 : window->time;
    put_home(source, window->time);
    if (reason == DISTRIBUTION_UNTAKEN) {
        source->stays = after(source, window, DISTRIBUTION_REST);
    }
    increment(&source->returns);
    log_decision(log, source, window, origin, reason);
}

void distribution_return(struct distribution *distribution, struct distribution_window *window,
                         struct distribution_log *log, unsigned most)
{
    struct distribution_source *source = distribution->sources;

    window->routed = 0;
    for (unsigned i = 0; i < PROFILE_SOURCES && source->number != 0 && most != 0; i++, source++) {
        if (source->target == window->vcpu && source->home != window->vcpu) {
            go_home(source, window, DISTRIBUTION_CLOSED, log);
            window->routed |= UINT32_C(1) << i;
            most--;
        }
    }
}

/* Updates a source at the end of a window: renews its times, or offers it, or sends it home.
 * Returns true if it has another target now. */
static bool update_source(struct distribution_source *source, struct distribution_window *window,
                          struct distribution_log *log)
{
    bool is_home = source->home == window->vcpu, is_target = source->target == window->vcpu;
    enum distribution_reason reason;

    if (is_target && source->is_periodic) {
        renew_demand(source, window);
    }
    if (is_home && is_target) {
        offer(source, window);
    } else if (is_home) {
        renew_collision(source, window);
    } else if (is_target) {
        renew_room(source, window);
    }
    if (is_home == is_target || window->returned == DISTRIBUTION_RETURNS ||
        !has_to_return(source, window, &reason)) {
        return false;
    }
    window->returned++;
    go_home(source, window, reason, log);
    return true;
}

void distribution_close_window(struct distribution *distribution, struct profile *profile,
                               struct distribution_window *window, struct distribution_log *log)
{
    struct distribution_source *source = distribution->sources, *taken = NULL;
    bool has_periodic = false;

    window->routed = 0;
    window->returned = 0;
    if (window->is_contended) {
        profile->contended = window->time + DISTRIBUTION_PATIENCE;
    }
    for (unsigned i = 0; i < PROFILE_SOURCES && source->number != 0; i++, source++) {
        if (source->target == window->vcpu) {
            classify(source, &profile->sources[i], window);
            count_untaken(source, &profile->sources[i], window, (window->active >> i & 1) != 0);
            has_periodic = has_periodic || source->is_periodic;
        }
        profile->sources[i] = (struct profile_source){0};
        if (update_source(source, window, log)) {
            window->routed |= UINT32_C(1) << i;
        } else if (is_for_taking(source, window) && (taken == NULL || source->rate > taken->rate)) {
            taken = source;
        }
    }
    if (taken != NULL && has_room(profile, window)) {
        take(taken, window, log);
        window->routed |= UINT32_C(1) << (taken - distribution->sources);
    }
    window->is_contended = window->is_contended || has_periodic;
    window->urgent =
        (uint8_t)(window->urgent + window->used < 100 ? window->urgent + window->used : 100);
}
