/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/devicetree.h"
#include "kernel/memory.h"
#include "kernel/panic.h"
#include "roles.h"

#define LINE_BYTES    64u
#define LINE_WORDS    (LINE_BYTES / sizeof(uint32_t))
#define PAGE_LINES    (PAGE_BYTES / LINE_BYTES)
#define DEFAULT_BYTES UINT64_C(0x400000)
#define LEAST_BYTES   UINT64_C(0x1000)
#define MOST_BYTES    UINT64_C(0x400000) /* next_random() is below the number of its lines */

/* A pseudo-random sequence (Numerical Recipes, "Quick and dirty generators"). */
#define RANDOM_FACTOR    UINT64_C(1664525)
#define RANDOM_INCREMENT UINT64_C(1013904223)
#define RANDOM_SHIFT     16u

struct area {
    volatile uint32_t *words;
    uint64_t lines;
};

static struct area take_memory(void)
{
    uint64_t bytes = boot_argument_number("bytes", DEFAULT_BYTES, LEAST_BYTES, MOST_BYTES);
    struct area area = {.lines = bytes / LINE_BYTES};

    area.words = page_allocate(bytes / PAGE_BYTES, PAGE_BYTES);
    if (area.words == NULL) {
        panic("cache: no memory");
    }
    return area;
}

/* The first word of a line. */
static volatile uint32_t *word_of(const struct area *area, uint64_t line)
{
    return &area->words[line * LINE_WORDS];
}

static uint32_t next_random(void)
{
    static uint32_t state = 1;

    state = (uint32_t)(state * RANDOM_FACTOR + RANDOM_INCREMENT);
    return state >> RANDOM_SHIFT;
}

static void read_by_steps(const struct area *area, uint64_t lines)
{
    for (uint64_t line = 0; line < area->lines; line += lines) {
        (void)*word_of(area, line);
    }
}

void read_in_turn(void)
{
    const struct area area = take_memory();

    for (;;) {
        read_by_steps(&area, 1);
    }
}

void write_in_turn(void)
{
    const struct area area = take_memory();

    for (;;) {
        for (uint64_t line = 0; line < area.lines; line++) {
            *word_of(&area, line) = (uint32_t)line;
        }
    }
}

void read_one_of_each_page(void)
{
    const struct area area = take_memory();

    for (;;) {
        read_by_steps(&area, PAGE_LINES);
    }
}

void access_at_random(void)
{
    const struct area area = take_memory();

    for (;;) {
        volatile uint32_t *word = word_of(&area, next_random() % area.lines);

        *word = *word + 1;
    }
}

/* Makes one ring of all lines: the first word of each line is the number of the next. Sattolo's
 * algorithm makes no shorter ring. */
static void make_ring(const struct area *area)
{
    for (uint64_t line = 0; line < area->lines; line++) {
        *word_of(area, line) = (uint32_t)line;
    }
    for (uint64_t line = area->lines - 1; line > 0; line--) {
        uint64_t other = next_random() % line;
        uint32_t next = *word_of(area, line);

        *word_of(area, line) = *word_of(area, other);
        *word_of(area, other) = next;
    }
}

void follow_pointers(void)
{
    const struct area area = take_memory();
    uint64_t line = 0;

    make_ring(&area);
    for (;;) {
        line = *word_of(&area, line);
    }
}

void execute_much_code(void)
{
    for (;;) {
        much_code();
    }
}

void read_and_restart(void)
{
    const struct area area = take_memory();

    read_by_steps(&area, 1);
    machine_restart();
}
