/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A model of a machine's memory system: the caches (hierarchy.h), the address translation of each
 * processor (translation.h), and the counts of each owner of memory (owners.h). It has no time.
 */
#ifndef MEMORY_MODEL_MEMORY_MODEL_H
#define MEMORY_MODEL_MEMORY_MODEL_H

#include "hierarchy.h"
#include "owners.h"
#include "translation.h"

/* Counts of translations to an owner's addresses. */
struct translation_counts {
    uint64_t accesses; /* those that asked a TLB */
    uint64_t misses;
    uint64_t stage1_reads; /* of descriptors, in walks */
    uint64_t stage2_reads;
};

struct memory_model_geometry {
    struct hierarchy_geometry caches;
    struct translation_geometry translation;
};

struct memory_model {
    struct owners owners;
    struct hierarchy hierarchy;
    struct translation processors[PROCESSORS_MAX];
    struct translation_counts translations[OWNERS_MAX];
    struct table_memory memory;
    uint64_t different; /* translations to another address than the emulator's */
    uint64_t failed;    /* translations that the tables do not have */
};

/* An access of a processor, whose number is below the geometry's. */
struct memory_access {
    uint32_t processor;
    enum access kind; /* not ACCESS_WALK */
    uint64_t virtual_address;
    uint64_t bytes; /* not 0 */
};

/* Makes a model with empty caches and TLBs, of a valid geometry. model->owners must have been read;
 * `memory` is where translation tables are. Returns false if there is not enough host memory.
 * memory_model_destroy() must follow in both cases. */
bool memory_model_create(struct memory_model *model, const struct memory_model_geometry *geometry,
                         const struct table_memory *memory, uint64_t seed);

/* Frees the memory. */
void memory_model_destroy(struct memory_model *model);

/* Translates the address of an access, and makes the reads of the walk. Returns false if the tables
 * have no translation, which is counted in `failed`. */
bool memory_model_translate(struct memory_model *model,
                            const struct translation_registers *registers,
                            const struct memory_access *access, uint64_t *physical);

/* Makes an access to a physical address, without a translation. */
void memory_model_access(struct memory_model *model, const struct memory_access *access,
                         uint64_t physical);

/* Compares a translation with the emulator's. They differ if the model's TLB has an entry that the
 * emulator's has not, or the other way round. */
void memory_model_compare(struct memory_model *model, uint64_t physical, uint64_t emulators);

/* Invalidates a processor's TLB entries with the VMID of these registers, which may be another
 * processor's. */
void memory_model_clear_vmid(struct memory_model *model, uint32_t processor,
                             const struct translation_registers *registers);

/* Invalidates the TLBs of a processor. */
void memory_model_clear_translations(struct memory_model *model, uint32_t processor);

/* Sets all counts to 0, but for those of the streams. Caches and TLBs keep their content. */
void memory_model_reset_counts(struct memory_model *model);

#endif
