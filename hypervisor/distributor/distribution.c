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

/* Classifies a source as periodic or sporadic, and sets its rate, at the end of a window of the
 * VCPU to which it is routed. `counted`: its arrivals in the window. */
static void classify(struct distribution_source *source, const struct profile_source *counted,
                     const struct distribution_window *window)
{
    uint64_t needed =
        source->is_periodic ? DISTRIBUTION_STAYS_PERIODIC : DISTRIBUTION_BECOMES_PERIODIC;

    needed = window->is_busy ? DISTRIBUTION_PERIODIC_IF_BUSY : needed;
    source->is_periodic = (uint64_t)counted->seen * PROFILE_PARTS >= window->parts * needed;
    source->rate = (uint16_t)((uint64_t)counted->count * PROFILE_PARTS / window->parts);
}

/* Renews the move of a source, at its home or at its taker. Returns true if the source has to go
 * home, because one of the two did not renew the move in time, or because the taker's guest takes
 * no interrupts. */
static bool renew_move(struct distribution_source *source, struct distribution_window *window)
{
    bool is_home = source->home == window->vcpu;

    if (is_home && window->is_contended) {
        source->collides = window->lease;
    }
    if (!is_home) {
        window->has_taken = true;
        if (source->is_periodic && window->can_keep) {
            source->holds = window->rest;
        }
    }
    return (!is_home && !window->is_open) || window->now > source->holds ||
           window->now > source->collides;
}

/* Updates a source at the end of a window: renews its move, sends it home, or offers it. Returns
 * true if it has another target now. */
static bool update_source(struct distribution_source *source, struct distribution_window *window)
{
    bool is_home = source->home == window->vcpu;

    if (source->target != source->home) {
        if ((is_home || source->target == window->vcpu) && renew_move(source, window)) {
            source->returns++;
            distribution_set_home(source, source->home, window->rest);
            return true;
        }
        return false;
    }
    if (is_home && window->is_contended && window->may_offer && source->is_periodic &&
        window->now > source->holds) {
        source->collides = window->lease;
        window->has_offered = true;
    }
    return false;
}

static bool can_take(const struct distribution_source *source,
                     const struct distribution_window *window)
{
    return window->has_room && source->target == source->home &&
           (window->neighbours >> source->home & 1) == 0 && window->now <= source->collides;
}

void distribution_close_window(struct distribution *distribution, struct profile *profile,
                               struct distribution_window *window)
{
    struct distribution_source *source = distribution->sources, *taken = NULL;
    bool has_periodic = false;

    window->routed = 0;
    for (unsigned i = 0; i < PROFILE_SOURCES && source->number != 0; i++, source++) {
        if (source->target == window->vcpu) {
            classify(source, &profile->sources[i], window);
            has_periodic = has_periodic || source->is_periodic;
        }
        profile->sources[i] = (struct profile_source){0};
        if (update_source(source, window)) {
            window->routed |= UINT32_C(1) << i;
        } else if (can_take(source, window) && (taken == NULL || source->rate > taken->rate)) {
            taken = source;
        }
    }
    if (taken != NULL) {
        taken->target = (uint8_t)window->vcpu;
        taken->holds = window->rest;
        taken->moves++;
        window->routed |= UINT32_C(1) << (taken - distribution->sources);
    }
    window->is_contended = window->is_contended || has_periodic;
}
