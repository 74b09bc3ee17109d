/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters and statistics of VCPUs, for programs (kernel/vcpu.h). */
#include "kernel/interrupt.h"
#include "kernel/vcpu.h"
#include "sched/core.h"
#include "sched/thread_private.h"
#include "time/clock.h"
#include <string.h>

static void describe_parameters(const struct vcpu *vcpu, struct vcpu_param *param)
{
    const struct vcpu_server *server = &vcpu->server;
    uint64_t budget = server->is_io ? server->io.share_budget : server->main.budget;
    uint64_t period = server->is_io ? server->io.share_period : server->main.period;

    *param = (struct vcpu_param){
        .id = vcpu->id,
        .policy = server->is_io ? SCHED_PIBS : SCHED_SPORADIC,
        .mask = 1,
        .C = clock_nanoseconds(budget),
        .T = clock_nanoseconds(period),
    };
    memcpy(param->name, vcpu->record->name, sizeof(param->name));
}

static size_t count_threads(const struct vcpu *vcpu)
{
    size_t count = 0;

    LIST_FOR_EACH(node, &vcpu->threads)
    {
        count++;
    }
    return count;
}

static void describe(const struct vcpu *vcpu, struct vcpu_statistics *statistics, uint64_t now)
{
    const struct vcpu_record *counters = vcpu->record;

    describe_parameters(vcpu, &statistics->param);
    statistics->age_nanoseconds = clock_nanoseconds(now - counters->since);
    statistics->received_nanoseconds =
        clock_nanoseconds(counters->received + vcpu->span - vcpu->left);
    statistics->background_nanoseconds = clock_nanoseconds(counters->background);
    statistics->exhaustions = counters->exhaustions;
    statistics->deadline_misses = counters->deadline_misses;
    statistics->response_nanoseconds_max = clock_nanoseconds(counters->response_max);
    statistics->blocking_nanoseconds_max = clock_nanoseconds(counters->blocking_max);
    statistics->threads = count_threads(vcpu);
}

/* Describes the first VCPU of an id >= `id`. Returns its id, 0 if there is none. */
static int describe_next(int id, struct vcpu_statistics *statistics)
{
    interrupt_state state = interrupts_save();
    struct core *core = core_this();
    int found = 0;

    for (int each = id; each <= (int)VCPU_MAX && found == 0; each++) {
        const struct vcpu *vcpu = vcpu_set_find(&core->policy.vcpus, each);

        if (vcpu != NULL) {
            describe(vcpu, statistics, core_charge(core));
            found = each;
        }
    }
    interrupts_restore(state);
    return found;
}

size_t vcpu_statistics(struct vcpu_statistics *statistics, size_t capacity)
{
    struct vcpu_statistics none;
    size_t count = 0;

    for (int id = describe_next(1, capacity > 0 ? statistics : &none); id != 0;
         id = describe_next(id + 1, count < capacity ? &statistics[count] : &none)) {
        count++;
    }
    return count;
}

uint64_t vcpu_unpaid_nanoseconds(void)
{
    interrupt_state state = interrupts_save();
    uint64_t ticks;

    (void)core_charge(core_this());
    ticks = core_this()->vcpu_report.unpaid;
    interrupts_restore(state);
    return clock_nanoseconds(ticks);
}

/* Finds the first VCPU of an id > `id`, or the first one of all. NULL: there is none. */
static const struct vcpu *find_after(int id)
{
    const struct vcpu_set *set = &core_this()->policy.vcpus;

    for (int step = 0; step < (int)VCPU_MAX; step++) {
        const struct vcpu *vcpu = vcpu_set_find(set, (id + step) % (int)VCPU_MAX + 1);

        if (vcpu != NULL) {
            return vcpu;
        }
    }
    return NULL;
}

int vcpu_getparam(struct vcpu_param *param)
{
    interrupt_state state = interrupts_save();
    struct thread *thread = core_this()->current;
    const struct vcpu *vcpu = find_after(thread->standing.listed_vcpu);

    if (vcpu != NULL) {
        describe_parameters(vcpu, param);
        thread->standing.listed_vcpu = vcpu->id;
    }
    interrupts_restore(state);
    return vcpu == NULL ? -(int)RESULT_NOT_FOUND : 0;
}
