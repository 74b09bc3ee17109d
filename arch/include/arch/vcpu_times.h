/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The times of a VCPU that shares its core, as its guest reads them. The hypervisor writes them to
 * memory that the guest can only read, so reading costs no exit. They are little-endian; each word
 * is written at once (single-copy atomic). Calls return the addresses (arch/hypercalls.h).
 */
#ifndef ARCH_VCPU_TIMES_H
#define ARCH_VCPU_TIMES_H

#include <stdint.h>

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
    /* Ticks of the ways back to the guest from the hypervisor, at most, which are no part of the
     * ticks above: the guest executes in a part of each of them, so that they may be ahead of the
     * time. The number grows each time the VCPU executes again. */
    uint64_t ways_back;
    uint64_t reserved[6];
};

struct vcpu_times {
    struct vcpu_stolen_time stolen_time;
    struct vcpu_absence absence;
};

#endif
