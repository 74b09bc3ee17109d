/* SPDX-License-Identifier: BSD-2-Clause */
#include "entry/branch_isolation.h"

#include <arch/hypercalls.h>

/* Arm ARM, ID_AA64PFR0_EL1.CSV2. */
#define CSV2_SHIFT           56
#define CSV2_MASK            0xfu
#define CSV2_TARGETS         1u /* branch targets of one context have no effect in another */
#define CSV2_BRANCH_HISTORY  3u /* nor has the branch history */
#define PSCI_VERSION_1_0     0x10000
#define SMCCC_VERSION_1_1    0x10001
#define WORKAROUND_IS_NEEDED 0 /* results of SMCCC_ARCH_FEATURES; negative: it does not exist */

/* Returns true if the firmware has SMCCC_ARCH_FEATURES. A firmware before SMCCC 1.1 is asked for
 * nothing that it may not know (DEN0028, "Discovery of SMCCC_VERSION": by PSCI_FEATURES, which
 * exists since PSCI 1.0). */
static bool has_features(branch_isolation_call call)
{
    return call(PSCI_VERSION, 0) >= PSCI_VERSION_1_0 &&
           call(PSCI_FEATURES, CALL_SMCCC_VERSION) >= 0 &&
           call(CALL_SMCCC_VERSION, 0) >= SMCCC_VERSION_1_1;
}

struct branch_isolation branch_isolation_find(uint64_t pfr0, branch_isolation_call call)
{
    uint32_t csv2 = (uint32_t)(pfr0 >> CSV2_SHIFT) & CSV2_MASK;
    int32_t result;

    if (csv2 >= CSV2_BRANCH_HISTORY) {
        return (struct branch_isolation){0, true};
    }
    if (!has_features(call)) {
        return (struct branch_isolation){0, csv2 >= CSV2_TARGETS};
    }
    /* WORKAROUND_3 includes WORKAROUND_1. */
    if (call(CALL_SMCCC_ARCH_FEATURES, CALL_SMCCC_ARCH_WORKAROUND_3) == WORKAROUND_IS_NEEDED) {
        return (struct branch_isolation){CALL_SMCCC_ARCH_WORKAROUND_3, true};
    }
    if (csv2 >= CSV2_TARGETS) {
        return (struct branch_isolation){0, true};
    }
    result = call(CALL_SMCCC_ARCH_FEATURES, CALL_SMCCC_ARCH_WORKAROUND_1);
    return (struct branch_isolation){
        result == WORKAROUND_IS_NEEDED ? CALL_SMCCC_ARCH_WORKAROUND_1 : 0, result >= 0};
}
