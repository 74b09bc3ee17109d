/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/supply.h"

#include "kernel/devicetree.h"
#include "kernel/print.h"
#include <stddef.h>

enum { BUDGET, PERIOD, DELAY, WAITING, PIECE, COST, MEMBERS };

static uint64_t member(const uint32_t *cells, size_t number)
{
    return (uint64_t)devicetree_cell(&cells[2 * number]) << 32 |
           devicetree_cell(&cells[2 * number + 1]);
}

bool supply_read(struct supply *nanoseconds)
{
    int node = devicetree_next_with(-1, "device_type", "cpu");
    unsigned bytes, count;
    const uint32_t *cells;

    *nanoseconds = (struct supply){.budget = 0};
    if (node < 0 || devicetree_property(node, "bulkhead,supply", &bytes) == NULL) {
        return false;
    }
    cells = devicetree_cells(node, "bulkhead,supply", &count);
    if (cells == NULL || count != 2 * MEMBERS) {
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
