/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads sets of VCPUs, and answers each with a line: `admitted`, or `refused NUMBER ERROR` with the
 * number of the VCPU that the kernel did not create. A set is numbers, times in nanoseconds:
 *
 *   HZ ENTER LEAVE END EARLY HAS_SUPPLY BUDGET PERIOD DELAY WAITING PIECE COST
 *   COUNT, and for each VCPU: IS_IO BUDGET PERIOD BLOCKING THREADS
 */
#include "kernel/vcpu.h"
#include "kernel_fixture.h"
#include "sched/vcpu_supply.h"
#include <inttypes.h>
#include <stdio.h>

static struct guest_costs costs;
static struct supply supply;
static bool has_supply;
static struct vcpu_param params[VCPU_MAX];
static unsigned count;

static uint64_t number(void)
{
    uint64_t value = 0;

    return scanf("%" SCNu64, &value) == 1 ? value : 0;
}

static void read_set(void)
{
    costs.enter = number();
    costs.leave = number();
    costs.end = number();
    costs.early = number();
    has_supply = number() != 0;
    supply.budget = number();
    supply.period = number();
    supply.delay = number();
    supply.waiting = number();
    supply.piece = number();
    supply.cost = number();
    count = (unsigned)number();
    for (unsigned i = 0; i < count && i < VCPU_MAX; i++) {
        params[i] = (struct vcpu_param){.policy = number() != 0 ? SCHED_PIBS : SCHED_SPORADIC};
        params[i].C = number();
        params[i].T = number();
        params[i].blocking = number();
        params[i].threads = (uint32_t)number();
    }
}

static void create_all(void)
{
    vcpu_costs_set(&costs);
    vcpu_supply_set(has_supply ? &supply : NULL);
    for (unsigned i = 0; i < count; i++) {
        int id = vcpu_create(&params[i]);

        if (id < 0) {
            printf("refused %u %d\n", i, id);
            return;
        }
    }
    printf("admitted\n");
}

int main(void)
{
    for (uint64_t hertz = number(); hertz != 0; hertz = number()) {
        read_set();
        host_clock_set_frequency(hertz);
        kernel_run(create_all);
    }
    return 0;
}
