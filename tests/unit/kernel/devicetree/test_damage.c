/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Damages trees: every program argument is a blob, which is damaged at random again and again. The
 * kernel answers all queries about each result, and the sanitizers report errors. The random
 * sequence is always the same.
 */
#include "tree.h"
#include <stdlib.h>
#include <string.h>

#define ROUNDS 10000u

static uint64_t random_state = 0x9E3779B97F4A7C15;

/* xorshift64* */
static uint64_t random_number(uint64_t limit)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (random_state * 0x2545F4914F6CDD1D >> 16) % limit;
}

static void damage(uint8_t *blob, size_t bytes)
{
    static const uint32_t cells[] = {0, 1,          2,          3,          4,
                                     9, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFF0};
    size_t at = random_number(bytes);

    switch (random_number(5)) {
    case 0:
        blob[at] ^= (uint8_t)(1u << random_number(8));
        break;
    case 1:
        blob[at] = (uint8_t)random_number(256);
        break;
    case 2: { /* a cell with a meaningful value, or nearly */
        uint32_t cell = __builtin_bswap32(cells[random_number(10)]);

        memcpy(blob + at / 4 * 4, &cell, bytes - at / 4 * 4 < 4 ? 0 : 4);
        break;
    }
    case 3: { /* a piece from another place */
        size_t from = random_number(bytes) / 4 * 4, to = at / 4 * 4;
        size_t left = bytes - (from > to ? from : to);

        memmove(blob + to, blob + from, random_number(left + 1));
        break;
    }
    default:
        memset(blob + at, 0, random_number(bytes - at < 16 ? bytes - at + 1 : 16));
        break;
    }
}

int main(int count, char **arguments)
{
    for (int index = 1; index < count; index++) {
        size_t bytes;
        uint8_t *original = tree_load(arguments[index], &bytes);

        for (unsigned round = 0; round < ROUNDS; round++) {
            /* The exact size lets the sanitizer notice a read behind the end. */
            uint8_t *blob = malloc(bytes);

            if (blob == NULL) {
                return 2;
            }
            memcpy(blob, original, bytes);
            for (uint64_t times = 1 + random_number(6); times > 0; times--) {
                damage(blob, bytes);
            }
            tree_exercise(blob, bytes);
            free(blob);
        }
        free(original);
    }
    return count > 1 ? 0 : 2;
}
