/* SPDX-License-Identifier: BSD-2-Clause */
/* See decimal.h. */
#include "decimal.h"

#include <stdbool.h>
#include <string.h>

_Static_assert(sizeof(long) == 8, "positions are in 64 bits");

#define CHUNK_LIMIT 1000000000u

/* The format of a double (IEEE 754, 3.4): the value is mantissa * 2^(exponent - 1075), and the
 * mantissa has a hidden bit 52 unless the exponent is 0, which stands for 1 then. */
#define MANTISSA_BITS 52
#define EXPONENT_MASK 0x7ffu
#define EXPONENT_BIAS 1075

/* A fixed-point number that holds every double: the first word is the least significant. */
#define FRACTION_WORDS 34 /* 1,088 bits */
#define WORDS          66 /* and 1,024 bits in front of the point */

static void set_words(uint32_t words[WORDS], uint64_t bits)
{
    uint64_t mantissa = bits & ((UINT64_C(1) << MANTISSA_BITS) - 1);
    unsigned exponent = (unsigned)(bits >> MANTISSA_BITS) & EXPONENT_MASK;

    if (exponent == 0) {
        exponent = 1;
    } else {
        mantissa |= UINT64_C(1) << MANTISSA_BITS;
    }
    unsigned place = exponent + FRACTION_WORDS * 32 - EXPONENT_BIAS;
    unsigned shift = place % 32;
    uint32_t *word = &words[place / 32];

    memset(words, 0, WORDS * sizeof words[0]);
    *word = (uint32_t)(mantissa << shift);
    for (mantissa >>= 32 - shift; mantissa != 0; mantissa >>= 32) {
        word++;
        *word = (uint32_t)mantissa;
    }
}

/* Divides the integer in words[FRACTION_WORDS..end-1] by 10^9, and returns the remainder. */
static uint32_t divide(uint32_t words[WORDS], int end)
{
    uint32_t remainder = 0;

    for (int i = end - 1; i >= FRACTION_WORDS; i--) {
        uint64_t dividend = (uint64_t)remainder << 32 | words[i];

        words[i] = (uint32_t)(dividend / CHUNK_LIMIT);
        remainder = (uint32_t)(dividend % CHUNK_LIMIT);
    }
    return remainder;
}

/* Multiplies the fraction in words[begin..FRACTION_WORDS-1] by 10^9, and returns the integer part,
 * which it removes. */
static uint32_t multiply(uint32_t words[WORDS], int begin)
{
    uint32_t carry = 0;

    for (int i = begin; i < FRACTION_WORDS; i++) {
        uint64_t product = (uint64_t)words[i] * CHUNK_LIMIT + carry;

        words[i] = (uint32_t)product;
        carry = (uint32_t)(product >> 32);
    }
    return carry;
}

/* The division yields the last chunk first. */
static void add_integer(struct decimal *decimal, uint32_t words[WORDS])
{
    int end = WORDS;

    for (;;) {
        while (end > FRACTION_WORDS && words[end - 1] == 0) {
            end--;
        }
        if (end == FRACTION_WORDS) {
            break;
        }
        decimal->chunks[decimal->count] = divide(words, end);
        decimal->count++;
    }
    for (int low = 1, high = decimal->count - 1; low < high; low++, high--) {
        uint32_t chunk = decimal->chunks[low];

        decimal->chunks[low] = decimal->chunks[high];
        decimal->chunks[high] = chunk;
    }
    decimal->point = decimal->count;
}

/* Chunks of zeros in front of a small fraction are counted in `point`, not stored. */
static void add_fraction(struct decimal *decimal, uint32_t words[WORDS])
{
    int begin = 0;

    for (;;) {
        while (begin < FRACTION_WORDS && words[begin] == 0) {
            begin++;
        }
        if (begin == FRACTION_WORDS) {
            return;
        }
        uint32_t chunk = multiply(words, begin);

        if (chunk == 0 && decimal->count == 1) {
            decimal->point--;
        } else {
            decimal->chunks[decimal->count] = chunk;
            decimal->count++;
        }
    }
}

void decimal_set(struct decimal *decimal, uint64_t bits)
{
    uint32_t words[WORDS];

    set_words(words, bits);
    decimal->chunks[0] = 0;
    decimal->count = 1;
    add_integer(decimal, words);
    add_fraction(decimal, words);
}

/* A digit's place: its chunk, which need not be stored, and its value there. */
struct place {
    long chunk;
    uint32_t unit; /* 1, 10, ... 10^8 */
};

static struct place place_of(const struct decimal *decimal, long position)
{
    static const uint32_t units[DECIMAL_CHUNK_DIGITS] = {1,      10,      100,      1000,     10000,
                                                         100000, 1000000, 10000000, 100000000};
    long floor = position >= 0 ? position / DECIMAL_CHUNK_DIGITS
                               : -((DECIMAL_CHUNK_DIGITS - 1 - position) / DECIMAL_CHUNK_DIGITS);

    return (struct place){.chunk = decimal->point - 1 - floor,
                          .unit = units[position - floor * DECIMAL_CHUNK_DIGITS]};
}

unsigned decimal_digit(const struct decimal *decimal, long position)
{
    struct place place = place_of(decimal, position);

    if (place.chunk < 0 || place.chunk >= decimal->count) {
        return 0;
    }
    return decimal->chunks[place.chunk] / place.unit % 10;
}

/* Returns the position of the last digit of a chunk. */
static long chunk_position(const struct decimal *decimal, int chunk)
{
    return (long)DECIMAL_CHUNK_DIGITS * (decimal->point - 1 - chunk);
}

long decimal_first(const struct decimal *decimal)
{
    for (int i = 0; i < decimal->count; i++) {
        if (decimal->chunks[i] != 0) {
            long position = chunk_position(decimal, i);

            for (uint32_t rest = decimal->chunks[i] / 10; rest != 0; rest /= 10) {
                position++;
            }
            return position;
        }
    }
    return 0;
}

long decimal_last(const struct decimal *decimal)
{
    for (int i = decimal->count - 1; i >= 0; i--) {
        if (decimal->chunks[i] != 0) {
            long position = chunk_position(decimal, i);

            for (uint32_t rest = decimal->chunks[i]; rest % 10 == 0; rest /= 10) {
                position++;
            }
            return position;
        }
    }
    return 0;
}

static bool is_zero_behind(const struct decimal *decimal, long position)
{
    struct place place = place_of(decimal, position);
    long next = place.chunk < 0 ? 0 : place.chunk + 1;

    if (place.chunk >= 0 && place.chunk < decimal->count &&
        decimal->chunks[place.chunk] % place.unit != 0) {
        return false;
    }
    for (long i = next; i < decimal->count; i++) {
        if (decimal->chunks[i] != 0) {
            return false;
        }
    }
    return true;
}

static bool is_rounded_up(const struct decimal *decimal, long position)
{
    unsigned next = decimal_digit(decimal, position - 1);

    if (next != 5) {
        return next > 5;
    }
    return !is_zero_behind(decimal, position - 1) || decimal_digit(decimal, position) % 2 != 0;
}

void decimal_round(struct decimal *decimal, long position)
{
    struct place place = place_of(decimal, position);

    if (place.chunk >= decimal->count) {
        return;
    }
    if (place.chunk < 0) { /* less than half of a unit, because the first chunk is 0 */
        decimal->count = 1;
        decimal->point = 1;
        return;
    }
    bool up = is_rounded_up(decimal, position);
    uint32_t *chunk = &decimal->chunks[place.chunk];

    decimal->count = (int)place.chunk + 1;
    *chunk -= *chunk % place.unit;
    if (up) {
        *chunk += place.unit;
    }
    for (; *chunk == CHUNK_LIMIT; chunk--) {
        chunk[0] = 0;
        chunk[-1]++;
    }
}
