/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The back-end's accesses to memory, as Clang's -fsanitize-coverage=trace-loads,trace-stores
 * reports them before each. A word of the client's memory can change just then, as if another of
 * the client's processors had written it.
 */
#include "attacker.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct attacker_snare snares[ATTACKER_SNARES];
static unsigned next_snare;
static void (*act)(uint32_t value);
static bool is_active; /* the back-end executes */
static struct attacker_work work, limit;

void attacker_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;

    is_active = false;
    va_start(arguments, format);
    (void)fprintf(stderr, "%s:%d: ", file, line);
    (void)vfprintf(stderr, format, arguments);
    (void)fprintf(stderr, "\n");
    va_end(arguments);
    abort();
}

uint32_t attacker_value(uint8_t b, uint8_t c)
{
    static const uint32_t odd[] = {0, 1, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0xffffffff};

    return c < 128 ? b : c < 192 ? b * 256u + c : odd[b % 8] + (c & 3u);
}

void trace_begin(void (*action)(uint32_t value))
{
    act = action;
    is_active = false;
    trace_clear();
}

static bool has_snares(void)
{
    for (unsigned i = 0; i < ATTACKER_SNARES; i++) {
        if (snares[i].countdown != 0) {
            return true;
        }
    }
    return false;
}

void trace_set(const struct attacker_snare *snare)
{
    snares[next_snare++ % ATTACKER_SNARES] = *snare;
}

void trace_clear(void)
{
    memset(snares, 0, sizeof(snares));
}

/* While its driver is stopped, the client's memory stays as it is. Copies of several bytes are no
 * loads and stores that the compiler reports, so the content is compared. */
static void check_unchanged(bool is_before)
{
    static uint8_t before[ATTACKER_BYTES];
    static bool is_known;
    const uint8_t *first = memory_at(ATTACKER_START, ATTACKER_WINDOW_BYTES);
    const uint8_t *second =
        memory_at(ATTACKER_START + ATTACKER_WINDOW_BYTES, ATTACKER_BYTES - ATTACKER_WINDOW_BYTES);

    if (is_before) {
        is_known = registers_are_stopped() && !has_snares();
        if (is_known) {
            memcpy(before, first, ATTACKER_WINDOW_BYTES);
            memcpy(before + ATTACKER_WINDOW_BYTES, second, ATTACKER_BYTES - ATTACKER_WINDOW_BYTES);
        }
    } else if (is_known) {
        ATTACKER_CHECK(memcmp(before, first, ATTACKER_WINDOW_BYTES) == 0 &&
                           memcmp(before + ATTACKER_WINDOW_BYTES, second,
                                  ATTACKER_BYTES - ATTACKER_WINDOW_BYTES) == 0,
                       "a store after the stop was acknowledged");
    }
}

void trace_enter(const struct attacker_work *most)
{
    check_unchanged(true);
    work = (struct attacker_work){0};
    limit = *most;
    is_active = true;
}

struct attacker_work trace_leave(void)
{
    is_active = false;
    check_unchanged(false);
    return work;
}

/* Changes a word of `bytes` bytes, at most 4, or acts. */
static void trip(struct attacker_snare *snare, void *address, unsigned bytes)
{
    uint32_t value = 0;

    if (snare->effect == ATTACKER_ACT) {
        is_active = false;
        act(snare->value);
        is_active = true;
        return;
    }
    if (address == NULL) {
        return;
    }
    memcpy(&value, address, bytes);
    switch (snare->effect) {
    case ATTACKER_REPLACE:
        value = snare->value;
        break;
    case ATTACKER_XOR:
        value ^= snare->value;
        break;
    default:
        value += snare->value;
    }
    memcpy(address, &value, bytes);
}

static void trip_all(void *address, unsigned bytes)
{
    for (unsigned i = 0; i < ATTACKER_SNARES; i++) {
        if (snares[i].countdown == 0) {
            continue;
        }
        snares[i].countdown--;
        if (snares[i].countdown == 0) {
            snares[i].countdown = snares[i].every;
            trip(&snares[i], address, bytes < sizeof(uint32_t) ? bytes : sizeof(uint32_t));
        }
    }
}

void trace_callback(void)
{
    if (is_active) {
        trip_all(NULL, 0);
    }
}

static void memory_access(void *address, unsigned bytes)
{
    if (!is_active) {
        return;
    }
    work.all++;
    if (!memory_contains(address)) {
        ATTACKER_CHECK(work.all <= limit.all, "no end: %" PRIu64 " accesses", work.all);
        return;
    }
    work.shared++;
    ATTACKER_CHECK(work.shared <= limit.shared, "no end: %" PRIu64 " accesses to shared memory",
                   work.shared);
    ATTACKER_CHECK(!registers_are_stopped(), "an access after the stop was acknowledged");
    trip_all(address, bytes);
}

/* The names are the compiler's. */
#define TRACED(bytes)                                 \
    void __sanitizer_cov_load##bytes(void *address);  \
    void __sanitizer_cov_load##bytes(void *address)   \
    {                                                 \
        memory_access(address, bytes);                \
    }                                                 \
    void __sanitizer_cov_store##bytes(void *address); \
    void __sanitizer_cov_store##bytes(void *address)  \
    {                                                 \
        memory_access(address, bytes);                \
    }

TRACED(1)
TRACED(2)
TRACED(4)
TRACED(8)
TRACED(16)
