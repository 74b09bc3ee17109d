/* SPDX-License-Identifier: BSD-2-Clause */
#include "console/key_queue.h"

#include "console/terminal.h"

static bool is_command(uint32_t key)
{
    return key == KEY_STOP || key == KEY_RESTART;
}

static bool has_room(const struct key_queue *queue, uint32_t key)
{
    return is_command(key) ? !queue->has_command : key_queue_room(queue) != 0;
}

bool key_queue_add(struct key_queue *queue, uint32_t key)
{
    if (!has_room(queue, key)) {
        return false;
    }
    if (is_command(key)) {
        __atomic_store_n(&queue->has_command, true, __ATOMIC_RELAXED);
    }
    queue->keys[(queue->first + queue->count) % KEY_QUEUE_KEYS] = (uint16_t)key;
    __atomic_store_n(&queue->count, queue->count + 1, __ATOMIC_RELAXED);
    return true;
}

bool key_queue_remove(struct key_queue *queue, uint32_t *key)
{
    if (queue->count == 0) {
        return false;
    }
    *key = queue->keys[queue->first % KEY_QUEUE_KEYS];
    queue->first++;
    __atomic_store_n(&queue->count, queue->count - 1, __ATOMIC_RELAXED);
    if (is_command(*key)) {
        __atomic_store_n(&queue->has_command, false, __ATOMIC_RELAXED);
    }
    return true;
}

bool key_queue_remove_typed(struct key_queue *queue, uint32_t *key)
{
    return queue->count != 0 && !is_command(queue->keys[queue->first % KEY_QUEUE_KEYS]) &&
           key_queue_remove(queue, key);
}

bool key_queue_has_command(const struct key_queue *queue)
{
    return __atomic_load_n(&queue->has_command, __ATOMIC_RELAXED);
}

bool key_queue_is_empty(const struct key_queue *queue)
{
    return __atomic_load_n(&queue->count, __ATOMIC_RELAXED) == 0;
}

uint32_t key_queue_room(const struct key_queue *queue)
{
    uint32_t count = __atomic_load_n(&queue->count, __ATOMIC_RELAXED);

    return count < KEY_QUEUE_KEYS - 1 ? KEY_QUEUE_KEYS - 1 - count : 0;
}
