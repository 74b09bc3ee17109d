/* SPDX-License-Identifier: BSD-2-Clause */
/* The lock of a partition's configuration space (pci/state.h). */
#ifndef PCI_LOCK_H
#define PCI_LOCK_H

#include "hypervisor/partition.h"
#include "hypervisor/ticket_lock.h"
#include "vcpu/same_core.h"

/*
 * Takes the lock. A function may hold up its holder for as long as the root complex waits for a
 * completion (docs/waits.md). A partition of shared cores does not wait for that at EL2, where it
 * would hold up its neighbours: returns false if the lock is not free. Then the guest repeats the
 * access (ACCESS_AGAIN), its VCPU pays for each attempt, and its core takes interrupts between
 * them.
 */
static inline bool pci_lock(struct partition *partition)
{
    if (partition_shares_cores(partition)) {
        return ticket_lock_try(&partition->functions.lock);
    }
    ticket_lock_take(&partition->functions.lock, TICKET_LOCK_PATIENCE);
    return true;
}

static inline void pci_unlock(struct partition *partition)
{
    ticket_lock_give(&partition->functions.lock);
}

#endif
