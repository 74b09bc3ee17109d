/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rate-monotonic priorities. An I/O VCPU for which no thread waits has level 1, below every Main
 * VCPU: a flood of frames that nobody waits for delays no control loop. Main VCPU number r, from
 * the longest period, has level 2r + 2. An I/O VCPU that serves its period has level 2r + 3, above
 * it and below the next. 32 Main VCPUs leave no I/O VCPU, and have levels 2r + 1.
 */
#include "sched/urgency.h"
#include "sched/vcpu_private.h"

#define LEVEL_IDLE_IO 1u

_Static_assert(2 * (VCPU_MAX - 1) + 1 < URGENCY_LEVELS, "a level for each VCPU");

struct vcpu *vcpu_set_find(const struct vcpu_set *set, int id)
{
    return id >= 1 && id <= (int)VCPU_MAX ? set->vcpu[id - 1] : NULL;
}

int vcpu_set_free_id(const struct vcpu_set *set)
{
    for (int id = 1; id <= (int)VCPU_MAX; id++) {
        if (set->vcpu[id - 1] == NULL) {
            return id;
        }
    }
    return 0;
}

void vcpu_set_add(struct vcpu_set *set, struct vcpu *vcpu)
{
    set->vcpu[vcpu->id - 1] = vcpu;
}

void vcpu_set_remove(struct vcpu_set *set, const struct vcpu *vcpu)
{
    set->vcpu[vcpu->id - 1] = NULL;
}

/* Inserts a Main VCPU behind those of longer periods, and of equal periods before it, so that among
 * equals the smaller id ends up last, which is the higher priority. */
static void insert_main(struct vcpu_set *set, struct vcpu *vcpu)
{
    unsigned place = set->main_count;

    while (place > 0 && set->main[place - 1]->server.main.period <= vcpu->server.main.period) {
        set->main[place] = set->main[place - 1];
        place--;
    }
    set->main[place] = vcpu;
    set->main_count++;
}

/* Returns the Main VCPU of the shortest period whose threads wait for the I/O VCPU, or NULL. */
static const struct vcpu *client_of(const struct vcpu_set *set, const struct vcpu *vcpu)
{
    for (unsigned i = set->main_count; i > 0; i--) {
        const struct vcpu *main = set->main[i - 1];

        if (vcpu->waiting[main->id - 1] > 0) {
            return main;
        }
    }
    return NULL;
}

/* Returns the level just above the Main VCPUs of this period and longer ones. */
static unsigned level_of_period(const struct vcpu_set *set, uint64_t period)
{
    unsigned below = 0;

    while (below < set->main_count && set->main[below]->server.main.period >= period) {
        below++;
    }
    return 2 * below + 1;
}

unsigned vcpu_set_io_level(const struct vcpu_set *set, const struct vcpu *vcpu)
{
    return client_of(set, vcpu) == NULL ? LEVEL_IDLE_IO
                                        : level_of_period(set, vcpu->server.io.period);
}

unsigned vcpu_set_wake_level(const struct vcpu_set *set, const struct vcpu *vcpu)
{
    const struct vcpu *client = client_of(set, vcpu);

    return client == NULL ? LEVEL_IDLE_IO : level_of_period(set, client->server.main.period);
}

void vcpu_set_rank(struct vcpu_set *set)
{
    unsigned lowest;

    set->main_count = 0;
    for (unsigned i = 0; i < VCPU_MAX; i++) {
        if (set->vcpu[i] != NULL && !set->vcpu[i]->server.is_io) {
            insert_main(set, set->vcpu[i]);
        }
    }
    lowest = set->main_count == VCPU_MAX ? 1 : 2;
    for (unsigned i = 0; i < set->main_count; i++) {
        set->main[i]->level = 2 * i + lowest;
    }
    for (unsigned i = 0; i < VCPU_MAX; i++) {
        if (set->vcpu[i] != NULL && set->vcpu[i]->server.is_io) {
            set->vcpu[i]->level = vcpu_set_io_level(set, set->vcpu[i]);
        }
    }
}

uint64_t vcpu_set_served_period(const struct vcpu_set *set, const struct vcpu *vcpu)
{
    const struct vcpu *client = client_of(set, vcpu);
    uint64_t period = vcpu->server.io.period;

    if (client != NULL) {
        return client->server.main.period;
    }
    if (set->main_count > 0 && period > set->main[0]->server.main.period) {
        period = set->main[0]->server.main.period;
    }
    return period;
}
