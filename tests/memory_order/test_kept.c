/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks the order of stores of records in kept memory (kernel/kept/record.c).
 *   - The writer's life ends before any of its stores. The next life starts after the stop, which
 *     orders all stores before it, and finds the content that was written last. It continues.
 *   - Another partition reads while the writer executes. It gets a content as it was written, never
 *     an older one than before, or is told that the record is being written.
 */
#include "kernel/kept.h"
#include "orders.h"
#include "weak_memory.h"
#include <setjmp.h>
#include <string.h>

#define ORDERS 6u

#define CONTENT_WORDS 2u
#define PLACE_WORDS   16u
#define COPY_WORDS    7u /* header and content */

enum { STOPPED };

static _Alignas(KEPT_ALIGNMENT) uint64_t place[PLACE_WORDS];
static const struct kept_format format = {"explored", 1, 1, CONTENT_WORDS * sizeof(uint64_t)};
static struct kept_record record;
static uint64_t last;  /* number of the last content that was written */
static uint64_t power; /* shared: 0 ends the life of the writer */
static bool has_power; /* the writer's life depends on `power` */
static jmp_buf end;

void before_store(void)
{
    if (has_power && model_load(&power, sizeof(power)) == 0) {
        has_power = false;
        longjmp(end, 1);
    }
}

/* Every word of content n is n. */
static void write_content(uint64_t number)
{
    const uint64_t content[CONTENT_WORDS] = {number, number};

    MODEL_CHECK(kept_write(&record, content, sizeof(content)));
    last = number;
}

static uint64_t number_of(const uint64_t content[CONTENT_WORDS], size_t bytes)
{
    MODEL_CHECK(bytes == CONTENT_WORDS * sizeof(uint64_t));
    MODEL_CHECK(content[0] == content[1]);
    return content[0];
}

static void open_record(enum kept_start expected, uint64_t number)
{
    uint64_t content[CONTENT_WORDS];
    size_t bytes;

    MODEL_CHECK(kept_open_at(&record, place, &format, content, &bytes) == expected);
    if (expected == KEPT_RESTORED) {
        MODEL_CHECK(number_of(content, bytes) == number);
    }
}

static void share(void)
{
    for (unsigned i = 0; i < COPY_WORDS; i++) {
        model_share(&place[i], sizeof(uint64_t));
        model_share(&place[PLACE_WORDS / 2 + i], sizeof(uint64_t));
    }
    power = 1;
    model_share(&power, sizeof(power));
}

static void prepare(void)
{
    has_power = false;
    memset(place, 0, sizeof(place));
    last = 0;
    open_record(KEPT_EMPTY, 0);
}

static void prepare_empty(void)
{
    prepare();
    share();
}

static void prepare_written(void)
{
    prepare();
    write_content(1);
    share();
}

static void write_until_the_end(void)
{
    if (setjmp(end) == 0) {
        has_power = true;
        write_content(last + 1);
        write_content(last + 1);
    }
    has_power = false;
    model_signal(STOPPED);
}

static void end_and_go_on(void)
{
    model_store(&power, sizeof(power), 0);
    model_wait(STOPPED);
    open_record(last == 0 ? KEPT_EMPTY : KEPT_RESTORED, last);
    write_content(last + 1);
    open_record(KEPT_RESTORED, last);
}

static void write_one(void)
{
    write_content(2);
}

static void write_two(void)
{
    write_content(2);
    write_content(3);
}

/* Returns the number of the content, 0 if the record is being written. */
static uint64_t read_number(void)
{
    uint64_t content[CONTENT_WORDS];
    size_t bytes;
    enum kept_start start = kept_read(place, &format, content, &bytes);

    MODEL_CHECK(start == KEPT_RESTORED || start == KEPT_CHANGING);
    return start == KEPT_RESTORED ? number_of(content, bytes) : 0;
}

static void read_one(void)
{
    (void)read_number();
}

static void read_two(void)
{
    uint64_t before = read_number(), after = read_number();

    MODEL_CHECK(after == 0 || after >= before);
}

static const struct order_program programs[] = {
    {{"end of a first life", prepare_empty, {write_until_the_end, end_and_go_on}}, 3000000},
    {{"end of a life", prepare_written, {write_until_the_end, end_and_go_on}}, 3000000},
    {{"reader of two writes", prepare_written, {write_two, read_one}}, 3000000},
    {{"reader that reads twice", prepare_written, {write_one, read_two}}, 3000000},
};

int main(void)
{
    return orders_test(programs, sizeof(programs) / sizeof(programs[0]), ORDERS);
}
