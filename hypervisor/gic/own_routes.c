/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The routes of the hypervisor's own SPIs, and the cores that have halted. No SPI is routed to a
 * core that has halted unless gic_take_over() has found no other core for it.
 *
 * A core first records that it halts, and then looks for SPIs that are routed to it, while it holds
 * the lock. Another core routes an SPI to it before, and then its look finds the SPI, or after, and
 * then the record is seen.
 */
#include "gic/setup.h"
#include "hypervisor/ticket_lock.h"
#include <arch/device_access.h>
#include <devices/gic_registers.h>

/* Held from the check whether a core has halted to the write of the route. */
static struct ticket_lock route_lock __attribute__((section(".bss.monitor_shared")));

/* Bit i: core i has halted. Atomic. */
static uint32_t halted_cores __attribute__((section(".bss.monitor_shared")));

bool gic_record_halt(uint32_t core)
{
    uint32_t bit = UINT32_C(1) << core;

    return (__atomic_fetch_or(&halted_cores, bit, __ATOMIC_RELAXED) & bit) == 0;
}

bool gic_has_halted(uint32_t core)
{
    return (__atomic_load_n(&halted_cores, __ATOMIC_RELAXED) >> core & 1u) != 0;
}

/* Returns the address of the SPI's GICD_IROUTER. */
static uintptr_t router_of(const struct description *system, uint32_t interrupt)
{
    return (uintptr_t)system->board.distributor + GICD_IROUTER + UINT64_C(8) * interrupt;
}

void gic_route(const struct description *system, uint32_t interrupt, uint32_t core)
{
    ticket_lock_take(&route_lock, TICKET_LOCK_PATIENCE);
    if (!gic_has_halted(core)) {
        device_write64(router_of(system, interrupt), system->cores[core].affinity);
    }
    ticket_lock_give(&route_lock);
    gic_make_pending(system, interrupt);
}

bool gic_take_over(const struct description *system, uint32_t interrupt, uint32_t from, uint32_t to)
{
    bool can_take;

    ticket_lock_take(&route_lock, TICKET_LOCK_PATIENCE);
    can_take = !gic_has_halted(to);
    if (can_take && device_read64(router_of(system, interrupt)) == system->cores[from].affinity) {
        device_write64(router_of(system, interrupt), system->cores[to].affinity);
    }
    ticket_lock_give(&route_lock);
    return can_take;
}

void gic_end_for_halted(const struct description *system, uint32_t interrupt)
{
    gic_make_pending(system, interrupt);
    device_write32((uintptr_t)system->board.distributor + GIC_ICACTIVER +
                       UINT64_C(4) * (interrupt / 32),
                   UINT32_C(1) << interrupt % 32);
}
