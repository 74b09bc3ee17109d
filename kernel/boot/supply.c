/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/supply.h"

#include "kernel/devicetree.h"
#include "kernel/print.h"
#include <stddef.h>

enum { BUDGET, PERIOD, DELAY, WAITING, PIECE, COST, SUPPLY_MEMBERS };
enum { ENTER, LEAVE, END, EARLY, COSTS_MEMBERS };

static uint64_t member(const uint32_t *cells, size_t number)
{
    return (uint64_t)devicetree_cell(&cells[2 * number]) << 32 |
           devicetree_cell(&cells[2 * number + 1]);
}

/* Returns the node of the first CPU if it has the property; -1 if it has not. */
static int cpu_with(const char *property)
{
    int node = devicetree_next_with(-1, "device_type", "cpu");
    unsigned bytes;

    return node >= 0 && devicetree_property(node, property, &bytes) != NULL ? node : -1;
}

/* Returns the property's cells; NULL if they are not those of so many members. */
static const uint32_t *members_of(int node, const char *property, unsigned count)
{
    unsigned found;
    const uint32_t *cells = devicetree_cells(node, property, &found);

    return cells != NULL && found == 2 * count ? cells : NULL;
}

bool supply_read(struct supply *nanoseconds)
{
    int node = cpu_with("bulkhead,supply");
    const uint32_t *cells;

    *nanoseconds = (struct supply){.budget = 0};
    if (node < 0) {
        return false;
    }
    cells = members_of(node, "bulkhead,supply", SUPPLY_MEMBERS);
    if (cells == NULL) {
        print("boot: no VCPUs: the property bulkhead,supply is malformed\n");
        return true;
    }
    *nanoseconds = (struct supply){
        .budget = member(cells, BUDGET),
        .period = member(cells, PERIOD),
        .delay = member(cells, DELAY),
        .waiting = member(cells, WAITING),
        .piece = member(cells, PIECE),
        .cost = member(cells, COST),
    };
    return true;
}

bool guest_costs_read(struct guest_costs *nanoseconds)
{
    int node = cpu_with("bulkhead,vcpu-costs");
    const uint32_t *cells;

    if (node < 0) {
        return false;
    }
    cells = members_of(node, "bulkhead,vcpu-costs", COSTS_MEMBERS);
    if (cells != NULL) {
        *nanoseconds = (struct guest_costs){
            .enter = member(cells, ENTER),
            .leave = member(cells, LEAVE),
            .end = member(cells, END),
            .early = member(cells, EARLY),
        };
    }
    if (cells == NULL || !guest_costs_are_valid(nanoseconds)) {
        print("boot: no VCPUs: the property bulkhead,vcpu-costs is malformed\n");
        *nanoseconds = (struct guest_costs){.end = SCHEDULE_PERIOD_MAX};
    }
    return true;
}
