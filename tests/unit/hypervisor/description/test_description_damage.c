/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Damages valid descriptions at random, most of them with a valid checksum. Values similar to
 * others in the description find more errors than arbitrary ones. The random sequence is always the
 * same.
 */
#include "description_fixture.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS 40000u

static uint64_t random_state = 0x9E3779B97F4A7C15;

/* xorshift64* */
static uint64_t random_number(uint64_t limit)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (random_state * 0x2545F4914F6CDD1D >> 16) % limit;
}

/* Chooses used fields more often than the many zeros. */
static size_t random_place(const uint8_t *bytes, size_t unit)
{
    size_t place = random_number(sizeof(struct description) / unit) * unit;

    for (unsigned tries = 0; tries < 8 && bytes[place] == 0; tries++) {
        place = random_number(sizeof(struct description) / unit) * unit;
    }
    return place;
}

static void damage(uint8_t *bytes)
{
    size_t unit = random_number(2) == 0 ? 4 : 8;
    size_t at = random_place(bytes, unit);
    uint64_t value = 0;

    switch (random_number(5)) {
    case 0:
        bytes[at + random_number(unit)] ^= (uint8_t)(1u << random_number(8));
        return;
    case 1: /* the value of another field, or one near it */
        memcpy(&value, bytes + random_place(bytes, unit), unit);
        value += random_number(3) * 0x1000 - 0x1000;
        break;
    case 2:
        value = random_number(20);
        break;
    case 3:
        memcpy(&value, bytes + at, unit);
        value += (random_number(5) - 2) << random_number(32);
        break;
    default:
        value = 0 - random_number(3) * 0x800;
        break;
    }
    memcpy(bytes + at, &value, unit);
}

int main(void)
{
    struct description originals[4];
    struct description *description = malloc(sizeof(*description));

    if (description == NULL) {
        return 2;
    }
    description_make(&originals[0]);
    description_make_shared(&originals[1]);
    description_make_weighted(&originals[2]);
    description_make_connected(&originals[3]);
    for (unsigned round = 0; round < ROUNDS; round++) {
        *description = originals[round % 4];
        for (uint64_t times = 1 + random_number(4); times > 0; times--) {
            damage((uint8_t *)description);
        }
        if (random_number(16) != 0) {
            description_seal(description);
        }
        description_exercise(description, DESCRIPTION_ROOM);
    }
    free(description);
    return 0;
}
