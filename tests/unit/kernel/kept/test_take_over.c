/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests kernel/kept/take_over.c: a partition and its standby have the devices in turn. Each life
 * may end before any of its stores, and in the middle of the copy. The owner that goes on always
 * has the memory of the one that served last.
 */
#include "ended_life.h"
#include "kept/places.h"
#include "kernel/kept.h"
#include "kernel/print.h"
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define BYTES  1024u
#define SERVED 512u /* offset of the words that an owner writes when it serves */
#define ENDS   80u  /* more than the stores of a take-over */

static _Alignas(KEPT_ALIGNMENT) uint8_t memory[2][BYTES];
static uint32_t self;           /* the side that executes */
static uint64_t moves, adopted; /* as the hypervisor counts them */
static uint64_t served;         /* what the last owner has written */
static bool is_anew;

/* A copy that may end before it begins, in its middle, and before its last byte. */
void *ending_copy(void *to, const void *from, size_t bytes)
{
    size_t parts[] = {bytes / 2, bytes - bytes / 2 - (bytes > 1), bytes > 1};
    size_t done = 0;

    for (unsigned i = 0; i < 3; i++) {
        before_store();
        memmove((uint8_t *)to + done, (const uint8_t *)from + done, parts[i]);
        done += parts[i];
    }
    return to;
}

void kept_forget_places(void)
{
}

enum result kept_find_region(const char *compatible, struct kept_region *region)
{
    bool is_own = strcmp(compatible, "bulkhead,kept") == 0;

    *region = (struct kept_region){.address = (uintptr_t)memory[is_own ? self : 1 - self],
                                   .bytes = BYTES};
    return RESULT_OK;
}

enum kept_start kept_open(struct kept_record *record, const struct kept_format *format,
                          void *content, size_t *bytes)
{
    return kept_open_at(record, memory[self], format, content, bytes);
}

void print(const char *format, ...)
{
    is_anew = is_anew || strstr(format, "anew") != NULL;
}

/* A life of a side that has the devices, which ends before the store of number `stores`. Returns
 * true if the side has taken over before that. */
static bool live(uint32_t side, uint64_t stores)
{
    volatile bool is_complete = false;

    self = side;
    is_anew = false;
    if (setjmp(life_end) == 0) {
        stores_left = stores;
        kept_take_over(moves, adopted);
        is_complete = true;
    }
    stores_left = ENDLESS;
    return is_complete;
}

/* A side takes over, finds what was served last, and serves. */
static void serve(uint32_t side)
{
    uint64_t *words = (uint64_t *)(memory[side] + SERVED);

    assert_true(live(side, ENDLESS));
    assert_false(is_anew);
    adopted = moves;
    for (unsigned i = 0; i < (BYTES - SERVED) / sizeof(*words); i++) {
        assert_int_equal(words[i], served);
        words[i] = served + 1;
    }
    served++;
}

static void begin(void)
{
    memset(memory, 0, sizeof(memory));
    moves = adopted = served = 0;
    assert_true(live(0, ENDLESS));
    assert_true(is_anew);
    serve(0);
}

static void sides_take_turns(void **state)
{
    (void)state;
    begin();
    for (moves = 1; moves < 6; moves++) {
        serve(moves % 2);
        serve(moves % 2); /* after a restart */
    }
}

/* The standby ends before it serves, restarts, and serves. */
static void standby_ends_and_restarts(void **state)
{
    (void)state;
    for (uint64_t end = 0; end < ENDS; end++) {
        begin();
        moves = 1;
        (void)live(1, end);
        serve(1);
        moves = 2;
        serve(0);
    }
}

/* The standby ends before it serves. The devices come back, and move again later. */
static void devices_come_back(void **state)
{
    (void)state;
    for (uint64_t end = 0; end < ENDS; end++) {
        begin();
        moves = 1;
        (void)live(1, end);
        moves = 2;
        serve(0);
        moves = 3;
        serve(1);
        moves = 4;
        serve(0);
    }
}

/* Both end before they serve. */
static void both_end(void **state)
{
    (void)state;
    for (uint64_t first = 0; first < ENDS; first++) {
        for (uint64_t second = 0; second < ENDS; second++) {
            begin();
            moves = 1;
            (void)live(1, first);
            moves = 2;
            (void)live(0, second);
            moves = 3;
            serve(1);
        }
    }
}

/* The partition that served is gone, so no partition goes on with an older state. */
static void memory_of_the_last_owner_is_gone(void **state)
{
    (void)state;
    begin();
    moves = 1;
    serve(1);
    memset(memory[1], 0, BYTES);
    moves = 2;
    assert_true(live(0, ENDLESS));
    assert_true(is_anew);
    assert_int_equal(memory[0][SERVED], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sides_take_turns),
        cmocka_unit_test(standby_ends_and_restarts),
        cmocka_unit_test(devices_come_back),
        cmocka_unit_test(both_end),
        cmocka_unit_test(memory_of_the_last_owner_is_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
