/* SPDX-License-Identifier: BSD-2-Clause */
/* See memory_checks.h. */
#include "memory_checks.h"

#include <stdbool.h>

#define ROOM      ((size_t)4608)
#define MARGIN    ((size_t)128) /* in front and behind; must not change */
#define UNTOUCHED 0xa5
#define LONGEST   (ROOM - 2 * MARGIN - 16)

static _Alignas(64) uint8_t arena[ROOM];
static uint8_t expected[ROOM];
static uint8_t source[ROOM];
static uint64_t random_state;

static uint8_t random_byte(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint8_t)(random_state >> 56);
}

static void fill_random(uint8_t *memory)
{
    for (size_t i = 0; i < ROOM; i++) {
        memory[i] = random_byte();
    }
}

static void fill(uint8_t *memory, uint8_t value)
{
    for (size_t i = 0; i < ROOM; i++) {
        memory[i] = value;
    }
}

/* Compares the bytes that a call may have written, and a margin on both sides, with the expected
 * ones. */
static bool is_expected(size_t first, size_t bytes)
{
    for (size_t i = first - MARGIN; i < first + bytes + MARGIN; i++) {
        if (arena[i] != expected[i]) {
            return false;
        }
    }
    return true;
}

static bool check_copy(const struct memory_functions *functions, size_t to, size_t from,
                       size_t bytes)
{
    for (size_t i = to - MARGIN; i < to + bytes + MARGIN; i++) {
        arena[i] = UNTOUCHED;
        expected[i] = UNTOUCHED;
    }
    for (size_t i = 0; i < bytes; i++) {
        expected[to + i] = source[from + i];
    }
    return functions->copy(&arena[to], &source[from], bytes) == &arena[to] &&
           is_expected(to, bytes);
}

/* Tests all short lengths at all alignments up to 16, and long ones at some alignments. */
static const char *check_copies(const struct memory_functions *functions)
{
    fill_random(source);
    for (size_t bytes = 0; bytes < 300; bytes++) {
        for (size_t i = 0; i < 64; i++) {
            if (!check_copy(functions, MARGIN + i % 16, MARGIN + (i * 7 + i / 16) % 16, bytes)) {
                return "memcpy";
            }
        }
    }
    for (size_t bytes = 300; bytes < 4200; bytes += 1 + random_byte() % 8) {
        if (!check_copy(functions, MARGIN + random_byte() % 16, MARGIN + random_byte() % 16,
                        bytes)) {
            return "memcpy of many bytes";
        }
    }
    return NULL;
}

static bool check_move(const struct memory_functions *functions, size_t to, size_t from,
                       size_t bytes)
{
    size_t first = to < from ? to : from;
    size_t last = (to < from ? from : to) + bytes;

    for (size_t i = first - MARGIN; i < last + MARGIN; i++) {
        arena[i] = random_byte();
        expected[i] = arena[i];
    }
    for (size_t i = 0; i < bytes; i++) {
        expected[to + i] = arena[from + i];
    }
    return functions->move(&arena[to], &arena[from], bytes) == &arena[to] &&
           is_expected(first, last - first);
}

/* Tests every short distance in both directions. */
static const char *check_moves(const struct memory_functions *functions)
{
    static const size_t lengths[] = {0,  1,   3,   8,   15,  16,  31,  33,  63,  64,  65,
                                     96, 127, 128, 129, 191, 192, 193, 255, 256, 300, 1000};

    for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        for (size_t distance = 0; distance < 260; distance++) {
            size_t start = MARGIN + i % 16;

            if (!check_move(functions, start + distance, start, lengths[i])) {
                return "memmove upwards";
            }
            if (!check_move(functions, start, start + distance, lengths[i])) {
                return "memmove downwards";
            }
        }
    }
    return NULL;
}

static bool check_set(const struct memory_functions *functions, size_t to, int value, size_t bytes)
{
    for (size_t i = to - MARGIN; i < to + bytes + MARGIN; i++) {
        arena[i] = UNTOUCHED;
        expected[i] = UNTOUCHED;
    }
    for (size_t i = 0; i < bytes; i++) {
        expected[to + i] = (uint8_t)value;
    }
    return functions->set(&arena[to], value, bytes) == &arena[to] && is_expected(to, bytes);
}

static const char *check_sets(const struct memory_functions *functions)
{
    for (size_t bytes = 0; bytes < 4200; bytes += bytes < 300 ? 1 : 1 + random_byte() % 16) {
        for (size_t i = 0; i < 64; i += bytes < 300 ? 5 : 3) {
            if (!check_set(functions, MARGIN + i, 0, bytes)) {
                return "memset to zero";
            }
        }
        if (!check_set(functions, MARGIN + random_byte() % 64, 0x1ff & (0x100 | random_byte()),
                       bytes)) {
            return "memset";
        }
    }
    return NULL;
}

static int sign(int value)
{
    return (value > 0) - (value < 0);
}

/* Compares two equal areas; then changes each place, from the end to the start. A later difference
 * of the other sign must not count. */
static const char *check_compares(const struct memory_functions *functions)
{
    for (size_t bytes = 0; bytes < 80; bytes++) {
        for (size_t shift = 0; shift < 9; shift++) {
            uint8_t *a = &arena[MARGIN + shift];
            uint8_t *b = &source[MARGIN + bytes % 5];

            for (size_t i = 0; i < bytes; i++) {
                a[i] = b[i] = random_byte();
            }
            a[bytes] = 1;
            b[bytes] = 2; /* beyond the end */
            if (functions->compare(a, b, bytes) != 0) {
                return "memcmp of equal bytes";
            }
            for (size_t i = bytes; i > 0; i--) {
                uint8_t original = a[i - 1];

                a[i - 1] = (uint8_t)(original ^ (0x80 | random_byte())); /* signs differ */
                if (sign(functions->compare(a, b, bytes)) != (a[i - 1] < b[i - 1] ? -1 : 1)) {
                    return "memcmp";
                }
            }
        }
    }
    return NULL;
}

/* Sums one byte at a time (RFC 1071, 4.1). The result is swapped to the order of the bytes in
 * memory. */
static uint16_t naive_checksum(const uint8_t *data, size_t bytes)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < bytes; i++) {
        sum += i % 2 == 0 ? (uint32_t)data[i] << 8 : data[i];
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t)(sum >> 8 | sum << 8);
}

/* Returns the next length: every length of a frame, then every 61st. */
static size_t next_length(size_t bytes)
{
    return bytes + (bytes < 2048 ? 1 : 61);
}

static const char *check_checksums(const struct memory_functions *functions)
{
    for (unsigned pattern = 0; pattern < 4; pattern++) {
        fill_random(source);
        if (pattern < 3) {
            fill(source, (uint8_t)(pattern == 0 ? 0xff : pattern == 1 ? 0 : 0x80));
        }
        for (size_t bytes = 0; bytes <= LONGEST; bytes = next_length(bytes)) {
            for (size_t shift = 0; shift < 9; shift += pattern == 3 ? 1 : 4) {
                if (functions->checksum(&source[MARGIN + shift], bytes) !=
                    naive_checksum(&source[MARGIN + shift], bytes)) {
                    return "internet_checksum";
                }
            }
        }
    }
    return NULL;
}

static const struct memory_functions *copy_functions;
static uint16_t copy_sum;

/* The copying part of checksum_copy(), with the signature that check_copy() expects. */
static void *copy_of_checksum(void *destination, const void *from, size_t bytes)
{
    copy_sum = copy_functions->checksum_copy(destination, from, bytes);
    return destination;
}

static const char *check_checksum_copies(const struct memory_functions *functions)
{
    static const struct memory_functions only_copy = {.copy = copy_of_checksum};

    copy_functions = functions;
    fill_random(source);
    for (size_t bytes = 0; bytes <= LONGEST; bytes = next_length(bytes)) {
        for (size_t i = 0; i < 16; i++) {
            size_t from = MARGIN + (i * 7) % 16;

            if (!check_copy(&only_copy, MARGIN + i, from, bytes) ||
                copy_sum != naive_checksum(&source[from], bytes)) {
                return "internet_checksum_copy";
            }
        }
    }
    return NULL;
}

const char *memory_checks(const struct memory_functions *functions)
{
    const char *wrong;

    random_state = 1;
    wrong = check_copies(functions);
    wrong = wrong != NULL ? wrong : check_moves(functions);
    wrong = wrong != NULL ? wrong : check_sets(functions);
    wrong = wrong != NULL ? wrong : check_compares(functions);
    wrong = wrong != NULL ? wrong : check_checksums(functions);
    return wrong != NULL ? wrong : check_checksum_copies(functions);
}
