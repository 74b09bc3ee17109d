/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A queue of keys for a partition, oldest first. One place is reserved for a command, so that a
 * queue full of typed bytes still accepts a command. The caller holds the terminal's lock, except
 * for key_queue_is_empty(), key_queue_has_command() and key_queue_room().
 */
#ifndef CONSOLE_KEY_QUEUE_H
#define CONSOLE_KEY_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#define KEY_QUEUE_KEYS 128u /* a power of two */

/* All zero: the empty queue. */
struct key_queue {
    uint16_t keys[KEY_QUEUE_KEYS];
    uint32_t first;   /* position of the oldest key, modulo KEY_QUEUE_KEYS */
    uint32_t count;   /* atomic: read without the lock */
    bool has_command; /* atomic: read without the lock */
};

/* Adds a key at the end. `key`: a byte, or KEY_... of terminal.h. Returns false, and adds nothing,
 * if the queue is full of bytes, or if the key is a command and the queue holds a command. */
bool key_queue_add(struct key_queue *queue, uint32_t key);

/* Removes the oldest key and sets *key to it. Returns false if the queue is empty. */
bool key_queue_remove(struct key_queue *queue, uint32_t *key);

/* Does the same, but returns false, too, if the oldest key is a command. */
bool key_queue_remove_typed(struct key_queue *queue, uint32_t *key);

/* Returns true if the queue holds a command. Any core, without the lock. */
bool key_queue_has_command(const struct key_queue *queue);

/* Returns true if the queue is empty. Any core, without the lock. */
bool key_queue_is_empty(const struct key_queue *queue);

/* Returns the number of bytes for which the queue has room. Any core, without the lock. */
uint32_t key_queue_room(const struct key_queue *queue);

#endif
