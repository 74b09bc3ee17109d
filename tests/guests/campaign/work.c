/* SPDX-License-Identifier: BSD-2-Clause */
#include "work.h"

#include "kernel/memory.h"
#include "kernel/panic.h"
#include "kernel/print.h"
#include <stddef.h>

#define NODES       48u
#define NODE_WORDS  12u
#define DEPTH       24u
#define TABLE_WORDS 256u
#define BYTE_BITS   8u
#define BYTE_MASK   0xffu

struct node {
    struct node *next;
    uint64_t words[NODE_WORDS];
};

/* Arbitrary words. Each turn reads all of them. */
#define WORD(number)  ((uint32_t)((number) + 1u) * UINT32_C(0x9e3779b1))
#define WORDS4(first) WORD(first), WORD((first) + 1u), WORD((first) + 2u), WORD((first) + 3u)
#define WORDS16(first) \
    WORDS4(first), WORDS4((first) + 4u), WORDS4((first) + 8u), WORDS4((first) + 12u)
#define WORDS64(first) \
    WORDS16(first), WORDS16((first) + 16u), WORDS16((first) + 32u), WORDS16((first) + 48u)
static const uint32_t table[TABLE_WORDS] = {WORDS64(0u), WORDS64(64u), WORDS64(128u),
                                            WORDS64(192u)};

uint32_t work_mix(uint32_t digest, uint64_t word)
{
    for (unsigned byte = 0; byte < sizeof(word); byte++) {
        digest = (digest >> BYTE_BITS) ^ table[(digest ^ word) & BYTE_MASK];
        word >>= BYTE_BITS;
    }
    return digest;
}

static struct node *make_list(uint32_t turn)
{
    struct node *first = NULL;

    for (uint32_t number = 0; number < NODES; number++) {
        struct node *node = heap_allocate(sizeof(*node));

        if (node == NULL) {
            panic("the heap is exhausted");
        }
        for (uint32_t word = 0; word < NODE_WORDS; word++) {
            node->words[word] = (uint64_t)(turn + 1) * table[(number + word) % TABLE_WORDS];
        }
        node->next = first;
        first = node;
    }
    return first;
}

/* Returns the digest of a list, and frees it. */
static uint32_t free_list(struct node *node, uint32_t digest)
{
    while (node != NULL) {
        struct node *next = node->next;

        for (uint32_t word = 0; word < NODE_WORDS; word++) {
            digest = work_mix(digest, node->words[word]);
        }
        heap_free(node);
        node = next;
    }
    return digest;
}

/* Each frame keeps words that are read after the inner call returned. */
// NOLINTNEXTLINE(misc-no-recursion)
static uint32_t descend(uint32_t digest, unsigned depth)
{
    volatile uint64_t frame[4] = {digest, depth, table[digest % TABLE_WORDS], ~(uint64_t)digest};

    if (depth > 0) {
        digest = descend(work_mix(digest, depth), depth - 1);
    }
    for (size_t i = 0; i < sizeof(frame) / sizeof(frame[0]); i++) {
        digest = work_mix(digest, frame[i]);
    }
    return digest;
}

uint32_t work_turn(uint32_t turn)
{
    struct node *list = make_list(turn);
    uint32_t digest = descend(turn ^ UINT32_C(0xffffffff), DEPTH);

    for (uint32_t word = 0; word < TABLE_WORDS; word++) {
        digest = work_mix(digest, table[word]);
    }
    return free_list(list, digest) | 1u;
}

void work_print(uint32_t turn, uint32_t digest)
{
    print("turn %lu: %08lx\n", (unsigned long)turn, (unsigned long)digest);
}
