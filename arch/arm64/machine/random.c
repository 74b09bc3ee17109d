/* SPDX-License-Identifier: BSD-2-Clause */
/* FEAT_RNG (Arm DDI 0487, "RNDR, Random Number"). */
#include <arch/random.h>

#define ISAR0_RNDR_SHIFT 60u /* ID_AA64ISAR0_EL1.RNDR */
#define ISAR0_RNDR_MASK  0xfu

#define ATTEMPTS 16u

bool arch_random(uint64_t *value)
{
    uint64_t features;

    __asm__("mrs %0, id_aa64isar0_el1" : "=r"(features));
    if ((features >> ISAR0_RNDR_SHIFT & ISAR0_RNDR_MASK) == 0) {
        return false;
    }
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        uint64_t number;
        uint32_t failed;

        /* PSTATE.Z is set if the read fails. */
        __asm__ volatile("mrs %0, s3_3_c2_c4_0\n\tcset %w1, eq"
                         : "=r"(number), "=r"(failed)
                         :
                         : "cc");
        if (failed == 0) {
            *value = number;
            return true;
        }
    }
    return false;
}
