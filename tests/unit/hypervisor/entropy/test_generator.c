/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the block function by the vectors of RFC 8439, and the generator. */
#include "entropy/chacha20.h"
#include "entropy/generator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct vector {
    uint32_t key[CHACHA20_KEY_WORDS], counter, nonce[CHACHA20_NONCE_WORDS];
    uint32_t block[CHACHA20_BLOCK_WORDS];
};

static const struct vector vectors[] = {
    /* RFC 8439, 2.3.2. */
    {{0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c, 0x13121110, 0x17161514, 0x1b1a1918,
      0x1f1e1d1c},
     1,
     {0x09000000, 0x4a000000, 0x00000000},
     {0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3, 0xc7f4d1c7, 0x0368c033, 0x9aaa2204,
      0x4e6cd4c3, 0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9, 0xd19c12b5, 0xb94e16de,
      0xe883d0cb, 0x4e3c50a2}},
    /* RFC 8439, A.1, test vectors 1 to 4. */
    {{0},
     0,
     {0},
     {0xade0b876, 0x903df1a0, 0xe56a5d40, 0x28bd8653, 0xb819d2bd, 0x1aed8da0, 0xccef36a8,
      0xc70d778b, 0x7c5941da, 0x8d485751, 0x3fe02477, 0x374ad8b8, 0xf4b8436a, 0x1ca11815,
      0x69b687c3, 0x8665eeb2}},
    {{0},
     1,
     {0},
     {0xbee7079f, 0x7a385155, 0x7c97ba98, 0x0d082d73, 0xa0290fcb, 0x6965e348, 0x3e53c612,
      0xed7aee32, 0x7621b729, 0x434ee69c, 0xb03371d5, 0xd539d874, 0x281fed31, 0x45fb0a51,
      0x1f0ae1ac, 0x6f4d794b}},
    {{0, 0, 0, 0, 0, 0, 0, 0x01000000},
     1,
     {0},
     {0x2452eb3a, 0x9249f8ec, 0x8d829d9b, 0xddd4ceb1, 0xe8252083, 0x60818b01, 0xf38422b8,
      0x5aaa49c9, 0xbb00ca8e, 0xda3ba7b4, 0xc4b592d1, 0xfdf2732f, 0x4436274e, 0x2561b3c8,
      0xebdd4aa6, 0xa0136c00}},
    {{0x0000ff00},
     2,
     {0},
     {0xfb4dd572, 0x4bc42ef1, 0xdf922636, 0x327f1394, 0xa78dea8f, 0x5e269039, 0xa1bebbc1,
      0xcaf09aae, 0xa25ab213, 0x48a6b46c, 0x1b9d9bcb, 0x092c5be6, 0x546ca624, 0x1bec45d5,
      0x87f47473, 0x96f0992e}},
};

static void test_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        uint32_t block[CHACHA20_BLOCK_WORDS];

        chacha20_block(vectors[i].key, vectors[i].counter, vectors[i].nonce, block);
        assert_memory_equal(block, vectors[i].block, sizeof(block));
    }
}

/* The first block of the key 0 is the second vector: its first half replaces the key, and its
 * second half is the output. */
static void test_take_replaces_the_key(void **state)
{
    struct generator generator = {.is_seeded = true};
    uint32_t first[GENERATOR_WORDS], second[GENERATOR_WORDS];

    (void)state;
    generator_take(&generator, first);
    assert_memory_equal(generator.key, &vectors[1].block[0], sizeof(generator.key));
    assert_memory_equal(first, &vectors[1].block[GENERATOR_WORDS], sizeof(first));
    generator_take(&generator, second);
    assert_memory_not_equal(first, second, sizeof(first));
    assert_memory_not_equal(generator.key, &vectors[1].block[0], sizeof(generator.key));
}

/* The next key is half a block of the last key, exclusive-or the input. */
static void test_mix(void **state)
{
    static const uint32_t input[GENERATOR_WORDS] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct generator generator = {0};

    (void)state;
    generator_mix(&generator, input);
    for (unsigned i = 0; i < GENERATOR_WORDS; i++) {
        assert_int_equal(generator.key[i], vectors[1].block[i] ^ input[i]);
    }
}

static void test_children_differ(void **state)
{
    struct generator parent = {.is_seeded = true}, children[2];

    (void)state;
    generator_derive(&parent, &children[0]);
    generator_derive(&parent, &children[1]);
    assert_true(children[0].is_seeded && children[1].is_seeded);
    assert_memory_not_equal(children[0].key, children[1].key, sizeof(parent.key));
    assert_memory_not_equal(children[1].key, parent.key, sizeof(parent.key));
    parent.is_seeded = false;
    generator_derive(&parent, &children[0]);
    assert_false(children[0].is_seeded);
}

static void test_wipe(void **state)
{
    uint32_t words[] = {1, 2, 3};

    (void)state;
    generator_wipe(words, 2);
    assert_true(words[0] == 0 && words[1] == 0 && words[2] == 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors), cmocka_unit_test(test_take_replaces_the_key),
        cmocka_unit_test(test_mix),     cmocka_unit_test(test_children_differ),
        cmocka_unit_test(test_wipe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
