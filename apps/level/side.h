/* SPDX-License-Identifier: BSD-2-Clause */
/* This program's side of a channel of messages. */
#ifndef LEVEL_SIDE_H
#define LEVEL_SIDE_H

#include "kernel/partition_channel.h"

struct side {
    struct partition_channel place;
    struct channel channel;
};

/* Opens the channel of this name, whose doorbell wakes `waiter`, and begins a life. Panics if it
 * can't. Thread context. */
void side_open(struct side *side, const char *name, struct partition_waiter *waiter);

/* Returns true if the peer is there. Connects with its next life if the last one has ended, and
 * begins a new life if the peer violated the format. */
bool side_is_connected(struct side *side);

/* Receives the oldest message: copies up to `size` bytes of its content, and writes its length and
 * its tag. Returns false if there is none. */
bool side_receive(struct side *side, void *content, uint64_t size, uint64_t *length, uint32_t *tag);

/* Sends a message unless there is no connection or no space. Returns true if it was sent. */
bool side_send(struct side *side, const void *content, uint64_t length, uint32_t tag);

#endif
