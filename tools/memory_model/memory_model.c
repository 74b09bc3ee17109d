/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory_model.h"
#include <string.h>

/* Reads a descriptor of a walk, through the shared cache. */
struct walker {
    struct memory_model *model;
    uint32_t processor;
};

bool memory_model_create(struct memory_model *model, const struct memory_model_geometry *geometry,
                         const struct table_memory *memory, uint64_t seed)
{
    bool is_made = hierarchy_create(&model->hierarchy, &geometry->caches, &model->owners, seed);

    for (uint32_t i = 0; i < geometry->caches.processors; i++) {
        is_made = translation_create(&model->processors[i], &geometry->translation) && is_made;
    }
    model->memory = *memory;
    memset(model->translations, 0, sizeof(model->translations));
    model->different = 0;
    model->failed = 0;
    return is_made;
}

void memory_model_destroy(struct memory_model *model)
{
    for (uint32_t i = 0; i < model->hierarchy.processor_count; i++) {
        translation_destroy(&model->processors[i]);
    }
    hierarchy_destroy(&model->hierarchy);
}

static bool read_descriptor(void *context, uint64_t address, uint64_t *descriptor)
{
    const struct walker *walker = context;
    const struct table_memory *memory = &walker->model->memory;

    if (!memory->read(memory->context, address, descriptor)) {
        return false;
    }
    hierarchy_access(&walker->model->hierarchy, walker->processor, address, sizeof(*descriptor),
                     ACCESS_WALK);
    return true;
}

static void count_translation(struct memory_model *model, const struct translated *translated)
{
    struct translation_counts *counts =
        &model->translations[owners_find(&model->owners, translated->physical)];

    counts->accesses += translated->is_used ? 1 : 0;
    counts->misses += translated->is_miss ? 1 : 0;
    counts->stage1_reads += translated->stage1_reads;
    counts->stage2_reads += translated->stage2_reads;
}

bool memory_model_translate(struct memory_model *model,
                            const struct translation_registers *registers,
                            const struct memory_access *access, uint64_t *physical)
{
    struct walker walker = {.model = model, .processor = access->processor};
    const struct table_memory memory = {.read = read_descriptor, .context = &walker};
    struct translated translated;

    if (!translation_find(&model->processors[access->processor], registers, &memory,
                          access->virtual_address, &translated)) {
        model->failed++;
        return false;
    }
    count_translation(model, &translated);
    *physical = translated.physical;
    return true;
}

void memory_model_access(struct memory_model *model, const struct memory_access *access,
                         uint64_t physical)
{
    hierarchy_access(&model->hierarchy, access->processor, physical, access->bytes, access->kind);
}

void memory_model_compare(struct memory_model *model, uint64_t physical, uint64_t emulators)
{
    model->different += physical == emulators ? 0 : 1;
}

void memory_model_clear_vmid(struct memory_model *model, uint32_t processor,
                             const struct translation_registers *registers)
{
    translation_clear_vmid(&model->processors[processor], registers);
}

void memory_model_clear_translations(struct memory_model *model, uint32_t processor)
{
    translation_clear(&model->processors[processor]);
}

void memory_model_reset_counts(struct memory_model *model)
{
    hierarchy_reset_counts(&model->hierarchy);
    memset(model->translations, 0, sizeof(model->translations));
    model->different = 0;
    model->failed = 0;
}
