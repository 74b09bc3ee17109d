/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rate-monotonic priorities. Main VCPU number r of n, from the longest period, has level 2r + 1. An
 * I/O VCPU that serves its period has level 2r + 2, above it and below the next. So n <= 32 needs
 * levels 1 .. 63, because 32 Main VCPUs leave no I/O VCPU.
 */
#include "sched/urgency.h"
#include "sched/vcpu_private.h"

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

void vcpu_set_place_io(const struct vcpu_set *set, struct vcpu *vcpu)
{
    unsigned below = 0;

    while (below < set->main_count &&
           set->main[below]->server.main.period >= vcpu->server.io.period) {
        below++;
    }
    vcpu->level = below == 0 ? 1 : 2 * below;
}

void vcpu_set_rank(struct vcpu_set *set)
{
    set->main_count = 0;
    for (unsigned i = 0; i < VCPU_MAX; i++) {
        if (set->vcpu[i] != NULL && !set->vcpu[i]->server.is_io) {
            insert_main(set, set->vcpu[i]);
        }
    }
    for (unsigned i = 0; i < set->main_count; i++) {
        set->main[i]->level = 2 * i + 1;
    }
    for (unsigned i = 0; i < VCPU_MAX; i++) {
        if (set->vcpu[i] != NULL && set->vcpu[i]->server.is_io) {
            vcpu_set_place_io(set, set->vcpu[i]);
        }
    }
}

uint64_t vcpu_set_served_period(const struct vcpu_set *set, const struct vcpu *vcpu)
{
    uint64_t period = vcpu->server.io.period;

    for (unsigned i = set->main_count; i > 0; i--) {
        const struct vcpu *main = set->main[i - 1];

        if (vcpu->waiting[main->id - 1] > 0) {
            return main->server.main.period;
        }
    }
    if (set->main_count > 0 && period > set->main[0]->server.main.period) {
        period = set->main[0]->server.main.period;
    }
    return period;
}
