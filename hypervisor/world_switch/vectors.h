/* SPDX-License-Identifier: BSD-2-Clause */
/* The FP and SIMD registers of a VCPU. */
#ifndef WORLD_SWITCH_VECTORS_H
#define WORLD_SWITCH_VECTORS_H

#include <stdint.h>

struct vector_registers {
    uint64_t v[64];           /* v0 to v31, 16 bytes each */
    uint64_t control, status; /* FPCR, FPSR */
};

/* vectors.S: save and load the registers of the calling core. CPTR_EL2.TFP must be 0. */
void vectors_save(struct vector_registers *registers);
void vectors_load(const struct vector_registers *registers);

#endif
