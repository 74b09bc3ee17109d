/* SPDX-License-Identifier: BSD-2-Clause */
/* Pools: a list of free blocks, linked through the blocks themselves. */
#include "kernel/interrupt.h"
#include "kernel/memory.h"
#include "kernel/panic.h"

struct free_block {
    struct free_block *next;
};

enum result pool_init(struct pool *pool, void *storage, size_t block_bytes, uint32_t count)
{
    size_t bytes;

    if (storage == NULL || (uintptr_t)storage % sizeof(void *) != 0 || block_bytes == 0 ||
        block_bytes % sizeof(struct free_block) != 0 || count == 0 ||
        __builtin_mul_overflow(block_bytes, (size_t)count, &bytes)) {
        return RESULT_INVALID;
    }
    *pool = (struct pool){.block_bytes = block_bytes,
                          .capacity = count,
                          .free_count = count,
                          .lowest_free = count,
                          .storage = (uintptr_t)storage};
    for (uint32_t i = count; i > 0; i--) {
        struct free_block *block =
            (struct free_block *)(pool->storage + (size_t)(i - 1) * block_bytes);

        block->next = pool->free_list;
        pool->free_list = block;
    }
    return RESULT_OK;
}

void *pool_allocate(struct pool *pool)
{
    interrupt_state state = interrupts_save();
    struct free_block *block = pool->free_list;

    if (block == NULL) {
        pool->failures++;
    } else {
        pool->free_list = block->next;
        pool->free_count--;
        if (pool->free_count < pool->lowest_free) {
            pool->lowest_free = pool->free_count;
        }
    }
    interrupts_restore(state);
    return block;
}

void pool_free(struct pool *pool, void *memory)
{
    uintptr_t offset = (uintptr_t)memory - pool->storage; /* wraps if below the storage */
    struct free_block *block = memory;

    if (offset / pool->block_bytes >= pool->capacity || offset % pool->block_bytes != 0) {
        panic("pool: %p is not a block of this pool", memory);
    }
    interrupt_state state = interrupts_save();

    /* Detects some double frees at no cost: of the block that was freed last, and when all blocks
     * are free. */
    if (pool->free_count == pool->capacity || pool->free_list == memory) {
        panic("pool: block %p was freed twice", memory);
    }
    block->next = pool->free_list;
    pool->free_list = block;
    pool->free_count++;
    interrupts_restore(state);
}
