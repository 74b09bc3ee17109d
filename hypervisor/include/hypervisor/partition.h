/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of a partition at run time: one page, mapped in the monitors of the partition's VCPUs.
 * Those of other VCPUs on the same shared cores map it, too, and those of a manager read-only.
 *
 * The members are grouped by who writes them. Of the state that a part of the hypervisor keeps of
 * each partition, the type is in the part's own header: console/state.h, pci/state.h and so on.
 */
#ifndef HYPERVISOR_PARTITION_H
#define HYPERVISOR_PARTITION_H

#include "console/state.h"
#include "distributor/distribution.h"
#include "gic/state.h"
#include "hypervisor/description.h"
#include "manager/state.h"
#include "partition/state.h"
#include "pci/state.h"
#include "smmu/state.h"
#include "vcpu/state.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Written by the boot core before any monitor runs, and constant from then on. */
struct partition_constants {
    const struct description *system;
    const struct description_partition *described;
    uint32_t index;    /* in the description */
    bool is_listed;    /* its interrupts are listed: the system file says so, or the board */
    bool shares_cores; /* it has a VCPU on a shared core */
    /* The firmware has Group 0 (GICD_CTLR.DS is 0): the hypervisor's own interrupts are in Group 1,
     * too. Then all partitions have listed interrupts. */
    bool shares_group1;
    /* The real-time clock: seconds since 1970 when the board's counter, CNTPCT_EL0, was 0. */
    uint64_t rtc_start;
    uint64_t times; /* page in which its guest reads its VCPUs' times; 0 without shared cores */
    struct smmu_access smmu;
    struct manager_orders *orders; /* NULL: the system has no manager */
    /* SPIs that the partition has: bit i % 32 of word i / 32 is INTID i. They are those of the
     * description. If functions move, they are in memory that the monitors of the partition
     * change, without those of functions that another partition has (partition/ownership.h). */
    const uint32_t *interrupts;
};

/* Written by the boot VCPU's monitor alone. */
struct partition_boot_vcpu {
    struct transition transition;
    struct management management;
    uint32_t starts; /* how often the partition has started; the other VCPUs read it after their
                      * start, which the boot VCPU's guest asks for */
    /* The partition has started with its present image: the next start leaves kept memory as it is.
     * False: the next start zeroes it. */
    bool has_kept;
};

/* Accessed by the monitors of several VCPUs, by atomic operations. */
struct partition_atomics {
    /* enum partition_request. Any VCPU makes a request, by compare and exchange with REQUEST_NONE.
     * Only the boot VCPU makes other changes: it completes requests, and replaces them by those
     * typed on the terminal or ordered by the manager. */
    uint32_t request;
    /* GICD_CTLR as the guest wrote it last. The exception: a load or store of the aligned word is
     * enough (Arm ARM, "Single-copy atomicity"), because no access depends on another. */
    uint32_t distributor_control;
    /* 1: the private interrupts of one of its VCPUs may still be signalled although the core was
     * reset. gic_reset_partition() fails for it. */
    uint32_t is_unsettled;
    struct list_changes changes;
    struct vcpu_power power[DESCRIPTION_VCPUS_MAX];
    /* By VCPU on a shared core: its mail (scheduler/mail.h), and its request for an access to
     * another VCPU's Redistributor, or the answer (gic/remote_access.h). */
    uint32_t mail[DESCRIPTION_VCPUS_MAX];
    uint64_t requests[DESCRIPTION_VCPUS_MAX];
};

struct partition {
    struct partition_constants constant;
    struct partition_boot_vcpu boot_vcpu;
    struct partition_atomics atomic;
    /* Each has the lock that protects it. */
    struct virtual_uart uart;
    struct partition_functions functions;
    struct distribution distribution;
};

_Static_assert(sizeof(struct partition) <= DESCRIPTION_PAGE_BYTES, "must fit one page");

/* Returns the core on which a VCPU of the partition executes. */
static inline const struct description_core *partition_core(const struct partition *partition,
                                                            uint32_t vcpu)
{
    return &partition->constant.system->cores[partition->constant.described->vcpus[vcpu].core];
}

static inline bool partition_owns_interrupt(const struct partition *partition, uint32_t intid)
{
    return intid >= 32 && intid < 1020 &&
           (partition->constant.interrupts[intid / 32] >> (intid % 32) & 1u) != 0;
}

#endif
