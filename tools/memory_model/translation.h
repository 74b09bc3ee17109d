/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address translation of a processor: a TLB with whole translations, a TLB of stage 2 that saves
 * walks for the addresses of stage 1's tables, and walks of both stages (Arm ARM DDI 0487, D8). The
 * regimes are EL1&0, with stage 2 if HCR_EL2.VM is 1, and EL2 without VHE. There is no cache for
 * intermediate levels of a walk.
 */
#ifndef MEMORY_MODEL_TRANSLATION_H
#define MEMORY_MODEL_TRANSLATION_H

#include "tlb.h"
#include <stdbool.h>
#include <stdint.h>

/* The registers that a translation depends on. */
struct translation_registers {
    uint64_t sctlr_el1;
    uint64_t ttbr0_el1;
    uint64_t ttbr1_el1;
    uint64_t tcr_el1;
    uint64_t hcr_el2;
    uint64_t vttbr_el2;
    uint64_t vtcr_el2;
    uint64_t sctlr_el2;
    uint64_t ttbr0_el2;
    uint64_t tcr_el2;
    uint32_t exception_level; /* 0 to 3 */
};

/* Memory with translation tables, by physical address. Returns false where there is no memory. */
struct table_memory {
    bool (*read)(void *context, uint64_t address, uint64_t *descriptor);
    void *context;
};

struct translation_geometry {
    struct tlb_geometry whole;
    struct tlb_geometry stage2;
};

struct translation {
    struct tlb whole;
    struct tlb stage2;
};

struct translated {
    uint64_t physical;
    bool is_used; /* false: both stages are off, and no TLB is asked */
    bool is_miss; /* of the TLB with whole translations */
    uint32_t stage1_reads;
    uint32_t stage2_reads;
};

/* Makes empty TLBs of a valid geometry. Returns false if there is not enough memory.
 * translation_destroy() must follow in both cases. */
bool translation_create(struct translation *translation,
                        const struct translation_geometry *geometry);

/* Frees the memory. */
void translation_destroy(struct translation *translation);

/* Translates a virtual address. Returns false if the tables have no translation, or have it in a
 * format that is not modelled; then no entry is added. */
bool translation_find(struct translation *translation,
                      const struct translation_registers *registers,
                      const struct table_memory *memory, uint64_t address,
                      struct translated *translated);

/* Invalidates the entries with the VMID of these registers, which are those of the processor that
 * executes a TLBI. Entries without stage 2, and EL2's, have VMID 0. */
void translation_clear_vmid(struct translation *translation,
                            const struct translation_registers *registers);

/* Invalidates all entries. */
void translation_clear(struct translation *translation);

#endif
