/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The times of a VCPU that shares its core, as its guest reads them: in memory that the hypervisor
 * writes and that the guest can only read. So reading them costs no exit. Little-endian; each word
 * is written at once (single-copy atomic).
 */
#ifndef ARCH_VCPU_TIMES_H
#define ARCH_VCPU_TIMES_H

#include <stdint.h>

/* Function identifiers. DEN0057 (Paravirtualized Time for Arm-based Systems): */
#define CALL_PV_TIME_FEATURES 0xc5000020u /* is the function in X1 there? */
#define CALL_PV_TIME_ST       0xc5000021u /* returns the guest address of `stolen_time` */
/* Calls of this hypervisor (DEN0028, "Vendor specific hypervisor services"): */
#define CALL_HYPERVISOR_TIMES    0xc6000000u /* returns the guest address of `absence` */
#define CALL_HYPERVISOR_UID      0x8600ff01u
#define CALL_HYPERVISOR_REVISION 0x8600ff03u

/* DEN0057, "Stolen time". */
struct vcpu_stolen_time {
    uint32_t revision;    /* 0 */
    uint32_t attributes;  /* 0 */
    uint64_t nanoseconds; /* time in which the VCPU had work and did not execute */
    uint64_t reserved[6];
};

struct vcpu_absence {
    /* Ticks of CNTPCT_EL0 during which the VCPU did not execute. CNTPCT_EL0 minus these ticks is
     * its virtual time. */
    uint64_t ticks;
    uint64_t reserved[7];
};

struct vcpu_times {
    struct vcpu_stolen_time stolen_time;
    struct vcpu_absence absence;
};

#endif
