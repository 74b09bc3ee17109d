/* SPDX-License-Identifier: BSD-2-Clause */
/* Decoding of ESR_EL2 (Arm ARM, ESR_EL2 and its ISS encodings). */
#ifndef ENTRY_SYNDROME_H
#define ENTRY_SYNDROME_H

#include "hypervisor/access.h"
#include <stdbool.h>
#include <stdint.h>

#define SYNDROME_CLASS(syndrome) ((unsigned)((syndrome) >> 26 & 0x3f))
/* Exception classes that make the guest take an UNDEFINED exception: bit n for class n. They are
 * those of the instructions besides MSR and MRS that EL2's controls trap: unknown reason, AArch32
 * system registers and MRRC (3 to 6, 8, 12), FP and SIMD, pointer authentication, LD64B, 128-bit
 * system registers, SVE, SME. */
#define CLASSES_UNDEFINED                                                                      \
    (UINT64_C(1) << 0x00 | UINT64_C(0xf) << 0x03 | UINT64_C(1) << 0x07 | UINT64_C(1) << 0x08 | \
     UINT64_C(1) << 0x09 | UINT64_C(1) << 0x0a | UINT64_C(1) << 0x0c | UINT64_C(1) << 0x14 |   \
     UINT64_C(1) << 0x19 | UINT64_C(1) << 0x1d)
#define CLASS_WAIT      0x01u /* WFI, and WFIT, which has a timeout */
#define CLASS_VECTORS   0x07u /* FP and SIMD */
#define CLASS_HVC       0x16u
#define CLASS_SMC       0x17u
#define CLASS_REGISTER  0x18u /* MSR, MRS and system instructions */
#define CLASS_FETCH     0x20u
#define CLASS_DATA      0x24u
#define CLASS_DATA_SAME 0x25u /* data abort taken without a change of the exception level */

/* TI in the ISS of CLASS_WAIT: true for WFIT. */
#define SYNDROME_WAIT_HAS_LIMIT(syndrome) (((syndrome) & 2u) != 0)

/* The encoding of a system register or system instruction, as in the ISS of a trapped MSR, MRS or
 * system instruction, without direction and general register. */
#define REGISTER_NAME(op0, op1, crn, crm, op2) \
    ((op0) << 20 | (op2) << 17 | (op1) << 14 | (crn) << 10 | (crm) << 1)
#define REGISTER_NAME_MASK   0x3ffc1eu
#define REGISTER_SGI1R       REGISTER_NAME(3u, 0u, 12u, 11u, 5u) /* ICC_SGI1R_EL1 */
#define REGISTER_DIR         REGISTER_NAME(3u, 0u, 12u, 11u, 1u) /* ICC_DIR_EL1 */
#define REGISTER_RPR         REGISTER_NAME(3u, 0u, 12u, 11u, 3u) /* ICC_RPR_EL1 */
#define REGISTER_CTLR        REGISTER_NAME(3u, 0u, 12u, 12u, 4u) /* ICC_CTLR_EL1 */
#define REGISTER_PMR         REGISTER_NAME(3u, 0u, 4u, 6u, 0u)   /* ICC_PMR_EL1 */
#define REGISTER_IC_IALLUIS  REGISTER_NAME(1u, 0u, 7u, 1u, 0u)
#define REGISTER_CRN(name)   ((name) >> 10 & 0xfu)
#define REGISTER_READ(iss)   (((iss) & 1u) != 0)
#define REGISTER_TARGET(iss) ((iss) >> 5 & 0x1fu)

/* The encoding of a TLBI instruction for EL1&0 has these bits, with CRn 8 or (FEAT_XS) 9.
 * HCR_LOCAL_MAINTENANCE traps those of the Inner and the Outer Shareable domain. */
#define REGISTER_TLBI          REGISTER_NAME(1u, 0u, 8u, 0u, 0u)
#define REGISTER_IS_TLBI(name) (((name) & REGISTER_NAME(3u, 7u, 14u, 0u, 0u)) == REGISTER_TLBI)

/* The encodings of registers of the feature ID space have these bits, and CRm 1 to 7.
 * ID_SPACE_INDEX() is the number of features.h. */
#define ID_SPACE             REGISTER_NAME(3u, 0u, 0u, 0u, 0u)
#define ID_SPACE_MASK        REGISTER_NAME(3u, 7u, 15u, 8u, 0u)
#define ID_SPACE_INDEX(name) (((name) >> 1 & 7u) << 3 | ((name) >> 17 & 7u))

/*
 * Decodes a data abort. Returns true if it is a stage 2 translation fault of a load or store that
 * the syndrome describes completely (ISV is 1). Returns false for accesses of register pairs, for
 * atomics, and for the guest's own table walks. Sets *access, except offset and value, and *target,
 * the number of the general register.
 */
bool syndrome_access(uint64_t syndrome, struct access *access, unsigned *target);

/* Returns true if a data or instruction abort occurred on the guest's own table walk (S1PTW). */
bool syndrome_of_table_walk(uint64_t syndrome);

/* Returns true if stage 2 maps the address of a data or instruction abort, and does not allow this
 * kind of access to it: no permission, a wrong alignment for Device memory, or an exclusive or
 * atomic access that the memory does not support (Arm ARM, DFSC in ISS for a Data Abort). */
bool syndrome_is_of_mapped_address(uint64_t syndrome);

/* Returns ESR_EL1 for a synchronous external abort that EL1 takes in place of a data or instruction
 * abort to EL2. `syndrome`: ESR_EL2. `state`: SPSR_EL2. */
uint64_t syndrome_external_abort(uint64_t syndrome, uint64_t state);

/* Returns true if HPFAR_EL2 has the address of this abort: a translation, access flag or address
 * size fault of stage 2, or any fault on the guest's own table walk (Arm ARM, HPFAR_EL2). For a
 * permission fault and for any other class the register is UNKNOWN. */
bool syndrome_has_address(uint64_t syndrome);

/* Returns the value that a load writes to its general register: `value`, sign-extended or not, to
 * 32 or 64 bits. */
uint64_t syndrome_loaded(uint64_t syndrome, uint64_t value);

#endif
