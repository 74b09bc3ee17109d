/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The number of the console's interrupt. Its SPI is one that no device uses. A guest with listed
 * interrupts may see it with another number, `console_shown`: that of the board's PL011, which some
 * systems have compiled in. The hypervisor has the SPI's own number everywhere. The numbers are
 * exchanged where the guest sees them: in list registers, at a write to ICC_DIR_EL1, and in the
 * Distributor. The guest does not see the SPI's own number.
 *
 * The interrupt never takes the fast path into a list register (listed_resident.c): its bit in
 * list_changes.listable is always 0, and that of `console_shown` is used in its place, which no
 * other interrupt of the partition has.
 */
#ifndef GIC_RENUMBERED_H
#define GIC_RENUMBERED_H

#include "gic/list_register.h"
#include "hypervisor/access.h"
#include "hypervisor/vcpu.h"

/* Returns the number that the guest sees for one of the hypervisor's, and the other way round. */
static inline uint32_t renumbered(const struct partition *partition, uint32_t number)
{
    const struct description_partition *described = partition->constant.described;

    if (described->console_shown == 0) {
        return number;
    }
    if (number == described->console_interrupt) {
        return described->console_shown;
    }
    return number == described->console_shown ? described->console_interrupt : number;
}

/* Returns the value of a list register with the number exchanged. */
static inline uint64_t renumbered_list(const struct partition *partition, uint64_t value)
{
    return (value & ~LIST_NUMBER) | renumbered(partition, list_register_number(value));
}

/* Handles a guest's access to the Distributor if its partition has a `console_shown`. Returns as
 * distributor_access(). */
enum access_result renumbered_access(struct vcpu *vcpu, struct access *access);

#endif
