/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Isolation of branch predictions: a guest must not influence which code the hypervisor, or another
 * guest of the core, executes speculatively (Arm, "Cache Speculation Side-channels", variant 2, and
 * "Spectre-BHB"). Either the processor isolates them, which ID_AA64PFR0_EL1.CSV2 says, or the
 * firmware has a call that discards them (DEN0028, SMCCC_ARCH_WORKAROUND_1 and _3). Then vectors.S
 * makes this call at each exit that needs the services, before it maps them.
 */
#ifndef ENTRY_BRANCH_ISOLATION_H
#define ENTRY_BRANCH_ISOLATION_H

#include <stdbool.h>
#include <stdint.h>

struct branch_isolation {
    uint32_t workaround; /* the function of the firmware that discards predictions; 0: none */
    bool is_isolated;    /* by the processor, or by the workaround */
};

/* Calls a function of the firmware with an argument. Returns W0. */
typedef int32_t (*branch_isolation_call)(uint32_t function, uint32_t argument);

/* Finds out how the calling core isolates branch predictions. `pfr0`: its ID_AA64PFR0_EL1. */
struct branch_isolation branch_isolation_find(uint64_t pfr0, branch_isolation_call call);

#endif
