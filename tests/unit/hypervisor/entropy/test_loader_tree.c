/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the reader of the seeds in the loader's devicetree, also on damaged trees. */
#include "entropy/loader_tree.h"

#include <arch/device_access.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TREE_BYTES     256u
#define STRUCTS_OFFSET 40u
#define STRINGS_OFFSET 216u
#define RNG_NAME       0u /* offsets of the strings */
#define KASLR_NAME     9u
#define DAMAGES        200000u

static _Alignas(8) uint8_t tree[TREE_BYTES];
static uint32_t written; /* offset behind the last word */

/* Accesses outside of the tree, and those that are not aligned, fail. */
static const uint8_t *at(uintptr_t address, size_t bytes)
{
    uintptr_t offset = address - (uintptr_t)tree;

    assert_true(offset < TREE_BYTES && bytes <= TREE_BYTES - offset && address % bytes == 0);
    return &tree[offset];
}

uint8_t device_read8(uintptr_t address)
{
    return *at(address, 1);
}

uint32_t device_read32(uintptr_t address)
{
    uint32_t value;

    memcpy(&value, at(address, sizeof(value)), sizeof(value));
    return value;
}

static void put(uint32_t value)
{
    value = __builtin_bswap32(value);
    memcpy(&tree[written], &value, sizeof(value));
    written += (uint32_t)sizeof(value);
}

/* Writes a token of a node, and its name, which has up to 7 bytes. */
static void put_node(const char *name)
{
    put(1);
    memset(&tree[written], 0, 8);
    strcpy((char *)&tree[written], name);
    written += (uint32_t)(strlen(name) / 4 * 4 + 4);
}

static void put_property(uint32_t name, uint32_t bytes)
{
    put(3);
    put(bytes);
    put(name);
    memset(&tree[written], 0xaa, bytes);
    written += (bytes + 3) / 4 * 4;
}

static void put_end(void)
{
    put(2);
}

static void begin(void)
{
    memset(tree, 0, sizeof(tree));
    written = 0;
    put(0xd00dfeed);
    put(TREE_BYTES);
    put(STRUCTS_OFFSET);
    put(STRINGS_OFFSET);
    written = STRUCTS_OFFSET;
    memcpy(&tree[STRINGS_OFFSET], "rng-seed\0kaslr-seed", 20);
    put_node("");
}

static unsigned find(struct loader_seed seeds[LOADER_SEEDS_MAX])
{
    return loader_tree_seeds((uintptr_t)tree, TREE_BYTES, seeds);
}

static int make_tree(void **state)
{
    (void)state;
    begin();
    put_node("cpus");
    put_property(RNG_NAME, 4);
    put_node("chosen"); /* not a child of the root */
    put_property(RNG_NAME, 4);
    put_end();
    put_end();
    put_node("chosen");
    put(4); /* FDT_NOP */
    put_property(KASLR_NAME, 8);
    put_node("sub");
    put_property(RNG_NAME, 4);
    put_end();
    put_property(RNG_NAME, 6);
    put_end();
    put_end();
    put(9);
    return 0;
}

static void test_finds_the_seeds_of_chosen(void **state)
{
    struct loader_seed seeds[LOADER_SEEDS_MAX];

    (void)state;
    assert_int_equal(find(seeds), 2);
    assert_int_equal(seeds[0].bytes, 8);
    assert_int_equal(seeds[1].bytes, 6);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(*at(seeds[i].address, 1), 0xaa);
        assert_int_equal(*at(seeds[i].address - 1, 1), i == 0 ? KASLR_NAME : RNG_NAME);
    }
}

static void test_finds_nothing_elsewhere(void **state)
{
    struct loader_seed seeds[LOADER_SEEDS_MAX];

    (void)state;
    begin();
    put_node("other");
    put_property(RNG_NAME, 8);
    put_end();
    put_property(RNG_NAME, 8);
    put_node("chosen2");
    put_property(RNG_NAME, 8);
    put_end();
    put_end();
    put(9);
    assert_int_equal(find(seeds), 0);
}

static void test_header(void **state)
{
    (void)state;
    assert_int_equal(loader_tree_bytes((uintptr_t)tree, TREE_BYTES), TREE_BYTES);
    assert_int_equal(loader_tree_bytes((uintptr_t)tree, TREE_BYTES - 1), 0);
    tree[0] ^= 1;
    assert_int_equal(loader_tree_bytes((uintptr_t)tree, TREE_BYTES), 0);
}

/* Whatever is damaged, nothing outside of the tree is read, and no seed lies outside of it. */
static void test_damage(void **state)
{
    uint8_t whole[TREE_BYTES];

    (void)state;
    memcpy(whole, tree, sizeof(tree));
    srand(1);
    for (unsigned i = 0; i < DAMAGES; i++) {
        struct loader_seed seeds[LOADER_SEEDS_MAX];
        unsigned count;

        for (int changes = 1 + rand() % 4; changes != 0; changes--) {
            tree[8 + rand() % (int)(TREE_BYTES - 8)] = (uint8_t)rand();
        }
        count = find(seeds);
        assert_true(count <= LOADER_SEEDS_MAX);
        while (count-- != 0) {
            uintptr_t offset = seeds[count].address - (uintptr_t)tree;

            assert_true(offset % 4 == 0 && offset <= TREE_BYTES &&
                        (seeds[count].bytes + UINT64_C(3)) / 4 * 4 <= TREE_BYTES - offset);
        }
        memcpy(tree, whole, sizeof(tree));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_finds_the_seeds_of_chosen, make_tree),
        cmocka_unit_test_setup(test_finds_nothing_elsewhere, make_tree),
        cmocka_unit_test_setup(test_header, make_tree),
        cmocka_unit_test_setup(test_damage, make_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
