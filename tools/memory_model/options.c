/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L /* strdup() */
#include "options.h"
#include "plugin_argument.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 3u

/* Parses decimal or hexadecimal numbers with colons between them. Returns the rest, behind the last
 * number, or NULL. */
static const char *parse_numbers(const char *text, uint64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *end;

        if (i > 0) {
            if (*text != ':') {
                return NULL;
            }
            text++;
        }
        if (*text < '0' || *text > '9') {
            return NULL;
        }
        numbers[i] = strtoull(text, &end, 0);
        text = end;
    }
    return text;
}

static bool parse_exactly(const char *text, uint64_t *numbers, size_t count)
{
    const char *rest = parse_numbers(text, numbers, count);

    return rest != NULL && *rest == '\0';
}

static bool is_small(const uint64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (numbers[i] > UINT32_MAX) {
            return false;
        }
    }
    return true;
}

/* Parses BYTES:WAYS:LINE:POLICY. */
static bool parse_cache(const char *text, void *value)
{
    struct cache_geometry *geometry = value;
    static const char *const policies[] = {
        [CACHE_LRU] = ":lru", [CACHE_PLRU] = ":plru", [CACHE_RANDOM] = ":random"};
    uint64_t numbers[FIELDS_MAX];
    const char *rest = parse_numbers(text, numbers, 3);

    if (rest == NULL || !is_small(numbers, 3)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        if (strcmp(rest, policies[i]) == 0) {
            *geometry = (struct cache_geometry){.bytes = numbers[0],
                                                .ways = (uint32_t)numbers[1],
                                                .line_bytes = (uint32_t)numbers[2],
                                                .replacement = (enum cache_replacement)i};
            return true;
        }
    }
    return false;
}

/* Parses ENTRIES:WAYS. */
static bool parse_tlb(const char *text, void *value)
{
    struct tlb_geometry *geometry = value;
    uint64_t numbers[FIELDS_MAX];

    if (!parse_exactly(text, numbers, 2) || !is_small(numbers, 2)) {
        return false;
    }
    *geometry =
        (struct tlb_geometry){.entries = (uint32_t)numbers[0], .ways = (uint32_t)numbers[1]};
    return true;
}

static bool parse_processors(const char *text, void *value)
{
    uint32_t *processors = value;
    uint64_t number;

    if (!parse_exactly(text, &number, 1) || !is_small(&number, 1)) {
        return false;
    }
    *processors = (uint32_t)number;
    return true;
}

static bool parse_stream(const char *text, void *value)
{
    struct stream *stream = value;
    uint64_t numbers[FIELDS_MAX];

    if (!parse_exactly(text, numbers, 2)) {
        return false;
    }
    *stream = (struct stream){.first = numbers[0], .count = numbers[1]};
    return true;
}

static bool parse_number(const char *text, void *value)
{
    return parse_exactly(text, value, 1);
}

static bool parse_text(const char *text, void *value)
{
    const char **copy = (const char **)value;

    *copy = strdup(text);
    return *copy != NULL && *text != '\0';
}

const char *options_parse(struct options *options, const char *argument)
{
    struct hierarchy_geometry *caches = &options->geometry.caches;
    struct translation_geometry *translation = &options->geometry.translation;
    const struct {
        const char *name;
        bool (*parse)(const char *text, void *value);
        void *value;
    } arguments[] = {
        {"results=", parse_text, (void *)&options->results},
        {"owners=", parse_text, (void *)&options->owners},
        {"memory=", parse_text, (void *)&options->memory},
        {"victim=", parse_text, (void *)&options->victim},
        {"base=", parse_number, &options->base},
        {"skipped=", parse_number, &options->skipped},
        {"counted=", parse_number, &options->counted},
        {"seed=", parse_number, &options->seed},
        {"stream=", parse_stream, &options->stream},
        {"processors=", parse_processors, &caches->processors},
        {"instruction=", parse_cache, &caches->instruction},
        {"data=", parse_cache, &caches->data},
        {"shared=", parse_cache, &caches->shared},
        {"tlb=", parse_tlb, &translation->whole},
        {"stage2_tlb=", parse_tlb, &translation->stage2},
    };

    for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++) {
        const char *text = plugin_argument(argument, arguments[i].name);

        if (text != NULL) {
            return arguments[i].parse(text, arguments[i].value) ? NULL
                                                                : "an argument has a wrong value";
        }
    }
    return "an argument is not known";
}

static bool has_geometry(const struct memory_model_geometry *geometry)
{
    const struct hierarchy_geometry *caches = &geometry->caches;

    return caches->processors != 0 && caches->instruction.bytes != 0 && caches->data.bytes != 0 &&
           caches->shared.bytes != 0 && geometry->translation.whole.entries != 0 &&
           geometry->translation.stage2.entries != 0;
}

const char *options_check(const struct options *options)
{
    if (options->results == NULL || options->owners == NULL || options->memory == NULL ||
        options->base == 0 || options->counted == 0) {
        return "results=, owners=, memory=, base= and counted= are required";
    }
    return has_geometry(&options->geometry)
               ? NULL
               : "processors=, instruction=, data=, shared=, tlb= and stage2_tlb= are required";
}
