/* SPDX-License-Identifier: BSD-2-Clause */
#include "core.h"

#include "schedule_test.h"
#include "tokens.h"

static struct core_vcpu *add(struct core *core, enum admission_kind kind)
{
    struct core_vcpu *vcpu = &core->vcpu[core->count];

    assert_true(core->count < CORE_VCPUS_MAX);
    core->count++;
    *vcpu = (struct core_vcpu){.kind = kind};
    return vcpu;
}

struct core_vcpu *core_add_main(struct core *core, uint64_t budget, uint64_t period,
                                unsigned capacity)
{
    struct core_vcpu *vcpu = add(core, ADMISSION_MAIN);

    assert_int_equal(sporadic_server_init(&vcpu->sporadic, budget, period, capacity, core->now),
                     SCHEDULE_OK);
    return vcpu;
}

struct core_vcpu *core_add_deferrable(struct core *core, uint64_t budget, uint64_t period)
{
    struct core_vcpu *vcpu = add(core, ADMISSION_MAIN);

    vcpu->is_deferrable = true;
    assert_int_equal(deferrable_server_init(&vcpu->deferrable, budget, period, core->now),
                     SCHEDULE_OK);
    return vcpu;
}

struct core_vcpu *core_add_io(struct core *core, uint64_t budget, uint64_t period)
{
    struct core_vcpu *vcpu = add(core, ADMISSION_IO);

    assert_int_equal(pibs_server_init(&vcpu->pibs, budget, period, core->now), SCHEDULE_OK);
    return vcpu;
}

void core_wake(struct core *core, struct core_vcpu *vcpu, uint64_t served_period)
{
    if (vcpu->kind == ADMISSION_IO) {
        pibs_server_unblock(&vcpu->pibs, served_period, core->now);
    } else if (!vcpu->is_deferrable) {
        sporadic_server_unblock(&vcpu->sporadic, core->now);
        check_server(&vcpu->sporadic);
    }
    if (!vcpu->runnable) {
        vcpu->executed = 0;
        vcpu->woken = core->now;
    }
    vcpu->runnable = true;
}

void core_block(struct core *core, struct core_vcpu *vcpu)
{
    if (vcpu->kind == ADMISSION_IO) {
        pibs_server_block(&vcpu->pibs);
    } else if (!vcpu->is_deferrable) {
        sporadic_server_block(&vcpu->sporadic, core->now);
        check_server(&vcpu->sporadic);
    }
    vcpu->runnable = false;
}

static uint64_t period_of(const struct core_vcpu *vcpu)
{
    if (vcpu->is_deferrable) {
        return vcpu->deferrable.period;
    }
    return vcpu->kind == ADMISSION_IO ? vcpu->pibs.period : vcpu->sporadic.period;
}

static bool outranks(const struct core_vcpu *one, const struct core_vcpu *other)
{
    if (period_of(one) != period_of(other)) {
        return period_of(one) < period_of(other);
    }
    if (one->kind != other->kind) {
        return one->kind == ADMISSION_IO;
    }
    if (one->is_deferrable != other->is_deferrable) {
        return other->is_deferrable;
    }
    return one < other;
}

uint64_t core_available(const struct core_vcpu *vcpu, uint64_t now)
{
    if (vcpu->is_deferrable) {
        return deferrable_server_available(&vcpu->deferrable, now);
    }
    return vcpu->kind == ADMISSION_IO ? pibs_server_available(&vcpu->pibs, now)
                                      : sporadic_server_available(&vcpu->sporadic, now);
}

/* The rest of a deferrable server's budget is available from the time on at which the VCPU wakes;
 * tick number k after it, from 0, k ticks later. */
static uint64_t available_since_release(const struct core_vcpu *vcpu, uint64_t now)
{
    struct deferrable_server present = vcpu->deferrable;
    uint64_t since_woken = vcpu->woken + vcpu->executed, since_release;

    deferrable_server_charge(&present, 0, now);
    since_release = deferrable_server_eligible(&present);
    return since_woken > since_release ? since_woken : since_release;
}

uint64_t core_available_since(const struct core_vcpu *vcpu, uint64_t now)
{
    return vcpu->is_deferrable ? available_since_release(vcpu, now)
                               : sporadic_server_eligible(&vcpu->sporadic);
}

static bool can_run(const struct core_vcpu *vcpu, uint64_t now)
{
    return vcpu->runnable && core_available(vcpu, now) > 0;
}

struct core_vcpu *core_pick(struct core *core)
{
    struct core_vcpu *chosen = NULL;

    for (unsigned i = 0; i < core->count; i++) {
        struct core_vcpu *vcpu = &core->vcpu[i];

        if (can_run(vcpu, core->now) && (chosen == NULL || outranks(vcpu, chosen))) {
            chosen = vcpu;
        }
    }
    return chosen;
}

void core_execute(struct core *core, struct core_vcpu *vcpu)
{
    core->now++;
    if (vcpu == NULL) {
        return;
    }
    vcpu->executed++;
    if (vcpu->kind == ADMISSION_IO) {
        pibs_server_charge(&vcpu->pibs, 1);
    } else if (vcpu->is_deferrable) {
        deferrable_server_charge(&vcpu->deferrable, 1, core->now);
    } else {
        sporadic_server_charge(&vcpu->sporadic, 1);
        check_server(&vcpu->sporadic);
    }
}
