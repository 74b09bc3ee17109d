/* SPDX-License-Identifier: BSD-2-Clause */
/* Instructions that change translations, or access memory without the emulator telling it: system
 * instructions of AArch64 (Arm ARM DDI 0487, C4.1.87 and C5). */
#ifndef MEMORY_MODEL_INSTRUCTIONS_H
#define MEMORY_MODEL_INSTRUCTIONS_H

#include <stdint.h>

#define ZEROED_BYTES 64u /* by DC ZVA: DCZID_EL0.BS of the Cortex-A53 and A72 is 4 */

enum system_instruction {
    INSTRUCTION_OTHER,
    INSTRUCTION_TRANSLATION_REGISTER, /* MSR to a register that a translation depends on */
    INSTRUCTION_TLBI,                 /* of all of this processor's entries */
    INSTRUCTION_TLBI_ALL,             /* of all processors (inner or outer shareable) */
    INSTRUCTION_TLBI_VMID,            /* of this processor's entries with the current VMID */
    INSTRUCTION_TLBI_VMID_ALL,        /* of all processors */
    INSTRUCTION_ZERO,                 /* DC ZVA */
    INSTRUCTION_BEGIN,                /* the victim begins what is counted: HINT #126 */
    INSTRUCTION_END,                  /* and ends it: HINT #127; processors execute both as NOP */
};

/* Returns what an instruction is. TLBI of an address or an ASID is as that of all of the VMID; TLBI
 * of EL2's own translations, and of all VMIDs, is for all entries. */
enum system_instruction instruction_kind(uint32_t code);

/* Returns the number of the general register that a system instruction reads, 31 for XZR. */
uint32_t instruction_register(uint32_t code);

#endif
