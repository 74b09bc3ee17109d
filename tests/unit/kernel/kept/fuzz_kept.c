/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Feeds arbitrary bytes to the program that opens a record in kept memory, as they are or as damage
 * to a record that was written before. Every access stays within the record and the content, and a
 * record is as good as a new one after it was opened and written.
 */
#include "kernel/kept.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define CONTENT_MAX 96u

/* A record in memory of its exact size, and a content of its exact size. */
struct exercise {
    struct kept_format format;
    size_t bytes;
    uint8_t *place;
    uint8_t *content;
};

static void expect(bool is_right)
{
    if (!is_right) {
        abort();
    }
}

static bool is_filled(const uint8_t *memory, size_t bytes, uint8_t value)
{
    for (size_t i = 0; i < bytes; i++) {
        if (memory[i] != value) {
            return false;
        }
    }
    return true;
}

/* Writes two contents, so that both copies are in use. */
static void write_twice(const struct exercise *exercise)
{
    struct kept_record record;
    size_t length;

    expect(kept_open_at(&record, exercise->place, &exercise->format, exercise->content, &length) ==
           KEPT_EMPTY);
    for (unsigned i = 0; i < 2; i++) {
        memset(exercise->content, 'a', exercise->format.bytes_max);
        expect(kept_write(&record, exercise->content, exercise->format.bytes_max));
    }
}

static void damage(const struct exercise *exercise, const uint8_t *data, size_t bytes)
{
    for (size_t i = 0; i < bytes && i < exercise->bytes; i++) {
        exercise->place[i] ^= data[i];
    }
}

static void check_opened(const struct exercise *exercise)
{
    struct kept_record record;
    size_t bytes_max = exercise->format.bytes_max;
    size_t length = SIZE_MAX, other = SIZE_MAX;
    enum kept_start read = kept_read(exercise->place, &exercise->format, exercise->content, &other);
    enum kept_start start =
        kept_open_at(&record, exercise->place, &exercise->format, exercise->content, &length);

    expect(start == read && start <= KEPT_DAMAGED && length == other && length <= bytes_max);
    expect(kept_is_restored(start) || length == 0);
    expect(is_filled(exercise->content + length, bytes_max - length, 0));
    expect(kept_start_text(start)[0] != 0);

    memset(exercise->content, 'b', bytes_max);
    expect(kept_write(&record, exercise->content, bytes_max));
    memset(exercise->content, 0, bytes_max);
    expect(kept_open_at(&record, exercise->place, &exercise->format, exercise->content, &length) ==
           KEPT_RESTORED);
    expect(length == bytes_max && is_filled(exercise->content, bytes_max, 'b'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct exercise exercise = {.format = {"fuzzed", 1, 2, 0}};
    bool is_damage;

    if (bytes < 2) {
        return 0;
    }
    exercise.format.bytes_max = data[0] % (CONTENT_MAX + 1);
    exercise.bytes = kept_record_bytes(exercise.format.bytes_max);
    exercise.place = aligned_alloc(KEPT_ALIGNMENT, exercise.bytes);
    exercise.content = malloc(exercise.format.bytes_max + 1);
    is_damage = data[1] % 2 != 0;
    expect(exercise.place != NULL && exercise.content != NULL);
    memset(exercise.place, 0, exercise.bytes);
    if (is_damage) {
        write_twice(&exercise);
    }
    damage(&exercise, data + 2, bytes - 2);
    check_opened(&exercise);
    free(exercise.content);
    free(exercise.place);
    return 0;
}
