/* SPDX-License-Identifier: BSD-2-Clause */
#include "results.h"
#include <inttypes.h>

static void write_number(FILE *file, const char *name, uint64_t value)
{
    (void)fprintf(file, ", \"%s\": %" PRIu64, name, value);
}

static void write_caches(FILE *file, const struct owner_counts *counts)
{
    write_number(file, "fetches", counts->accesses[ACCESS_FETCH]);
    write_number(file, "reads", counts->accesses[ACCESS_READ]);
    write_number(file, "writes", counts->accesses[ACCESS_WRITE]);
    write_number(file, "walk_reads", counts->accesses[ACCESS_WALK]);
    write_number(file, "instruction_misses", counts->instruction_misses);
    write_number(file, "data_misses", counts->data_misses);
    write_number(file, "shared_hits", counts->shared_hits);
    write_number(file, "shared_misses", counts->shared_misses);
    write_number(file, "write_backs", counts->write_backs);
    write_number(file, "stream_accesses", counts->stream.accesses);
    write_number(file, "stream_misses", counts->stream.misses);
    write_number(file, "stream_path", counts->stream.path);
    write_number(file, "stream_digest", counts->stream.digest);
}

static void write_translations(FILE *file, const struct translation_counts *counts)
{
    write_number(file, "translations", counts->accesses);
    write_number(file, "tlb_misses", counts->misses);
    write_number(file, "stage1_reads", counts->stage1_reads);
    write_number(file, "stage2_reads", counts->stage2_reads);
}

static const char *separator(uint32_t index)
{
    return index == 0 ? "" : ", ";
}

static void write_owner(FILE *file, const struct memory_model *model, uint32_t owner)
{
    const struct hierarchy *hierarchy = &model->hierarchy;
    const struct owner_counts *counts = &hierarchy->counts[owner];

    (void)fprintf(file, "{\"name\": \"%s\"", model->owners.names[owner]);
    write_caches(file, counts);
    write_translations(file, &model->translations[owner]);
    (void)fputs(", \"evicted\": [", file);
    for (uint32_t i = 0; i < model->owners.count; i++) {
        (void)fprintf(file, "%s%" PRIu64, separator(i), counts->evicted[i]);
    }
    (void)fputs("], \"fills\": [", file);
    for (uint32_t set = 0; set < hierarchy->shared.sets; set++) {
        (void)fprintf(file, "%s%" PRIu32, separator(set),
                      hierarchy->fills[(size_t)set * OWNERS_MAX + owner]);
    }
    (void)fputs("], \"occupancy\": [", file);
    for (uint32_t set = 0; set < hierarchy->shared.sets; set++) {
        (void)fprintf(file, "%s%" PRIu32, separator(set),
                      hierarchy_occupancy(hierarchy, set, (uint8_t)owner));
    }
    (void)fputs("]}", file);
}

void results_write(FILE *file, const struct memory_model *model, const struct run *run)
{
    (void)fprintf(file, "{\"instructions\": %" PRIu64 ", \"is_whole\": %s", run->instructions,
                  run->is_whole ? "true" : "false");
    write_number(file, "different_translations", model->different);
    write_number(file, "failed_translations", model->failed);
    write_number(file, "sets", model->hierarchy.shared.sets);
    write_number(file, "ways", model->hierarchy.shared.ways);
    (void)fputs(", \"owners\": [", file);
    for (uint32_t owner = 0; owner < model->owners.count; owner++) {
        (void)fprintf(file, "%s\n", owner == 0 ? "" : ",");
        write_owner(file, model, owner);
    }
    (void)fputs("\n]}\n", file);
}
