/* SPDX-License-Identifier: BSD-2-Clause */
/* See random.h. */
#include "random.h"
#include "lwip/sys.h"
#include "virtio/platform.h"
#include <string.h>

struct siphash {
    uint64_t v0, v1, v2, v3;
};

/* Written only by network_random_seed() and network_random(), in critical sections. */
static struct {
    uint64_t key[2];
    uint64_t sequence;
} generator;

/* Digits of pi, which separate domains: the two halves of a key are different functions of the
 * seed, and neither is a function that network_random() or network_keyed_hash() computes. */
static const uint64_t seed_domain[2] = {UINT64_C(0x243f6a8885a308d3), UINT64_C(0x13198a2e03707344)};

static uint64_t rotate(uint64_t value, unsigned bits)
{
    return value << bits | value >> (64 - bits);
}

static void siphash_round(struct siphash *s)
{
    s->v0 += s->v1;
    s->v1 = rotate(s->v1, 13) ^ s->v0;
    s->v0 = rotate(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = rotate(s->v3, 16) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = rotate(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = rotate(s->v1, 17) ^ s->v2;
    s->v2 = rotate(s->v2, 32);
}

static void siphash_word(struct siphash *s, uint64_t word)
{
    s->v3 ^= word;
    siphash_round(s);
    siphash_round(s);
    s->v0 ^= word;
}

/* Loads up to 8 bytes as a little-endian number. The processor must be little-endian. */
static uint64_t load_word(const uint8_t *data, size_t bytes)
{
    uint64_t word = 0;

    memcpy(&word, data, bytes);
    return word;
}

static uint64_t siphash(const uint64_t key[2], const uint8_t *data, size_t bytes)
{
    struct siphash s = {
        .v0 = key[0] ^ UINT64_C(0x736f6d6570736575),
        .v1 = key[1] ^ UINT64_C(0x646f72616e646f6d),
        .v2 = key[0] ^ UINT64_C(0x6c7967656e657261),
        .v3 = key[1] ^ UINT64_C(0x7465646279746573),
    };
    size_t whole = bytes & ~(size_t)7;

    for (size_t at = 0; at < whole; at += 8) {
        siphash_word(&s, load_word(data + at, 8));
    }
    siphash_word(&s, load_word(data + whole, bytes - whole) | (uint64_t)bytes << 56);
    s.v2 ^= 0xff;
    for (unsigned i = 0; i < 4; i++) {
        siphash_round(&s);
    }
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

/* Both halves of the new key depend on all of the data, on both halves of the old key and on the
 * time. So a seed of at least 128 random bits makes a key that takes 2^128 guesses, and a seed that
 * an attacker knows does not weaken the key. */
void network_random_seed(const void *data, size_t bytes)
{
    uint64_t now = virtio_platform_now();
    uint64_t mixed[2];
    SYS_ARCH_DECL_PROTECT(level);

    SYS_ARCH_PROTECT(level);
    for (unsigned half = 0; half < 2; half++) {
        const uint64_t keys[2] = {generator.key[0] ^ seed_domain[half], generator.key[1] ^ now};

        mixed[half] = siphash(keys, data, bytes);
    }
    generator.key[0] ^= mixed[0];
    generator.key[1] ^= mixed[1];
    SYS_ARCH_UNPROTECT(level);
}

uint64_t network_keyed_hash(const void *data, size_t bytes)
{
    return siphash(generator.key, data, bytes);
}

uint32_t network_random(void)
{
    uint64_t input[2] = {0, virtio_platform_now()};
    uint64_t hash;
    SYS_ARCH_DECL_PROTECT(level);

    SYS_ARCH_PROTECT(level);
    input[0] = generator.sequence++;
    hash = siphash(generator.key, (const uint8_t *)input, sizeof(input));
    SYS_ARCH_UNPROTECT(level);
    return (uint32_t)hash;
}
