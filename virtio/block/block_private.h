/* SPDX-License-Identifier: BSD-2-Clause */
/* Private to the driver of block devices. */
#ifndef VIRTIO_BLOCK_PRIVATE_H
#define VIRTIO_BLOCK_PRIVATE_H

#include "virtio/block.h"
#include "virtio/bounce.h"
#include "virtio/virtqueue.h"

/* Pieces of a request: its segments, divided where they are larger than the device takes, header
 * and status. */
#define BLOCK_PIECES_MAX 64u

/* The memory of a request that is shared with the device, beside its data. */
struct block_slot {
    uint8_t header[VIRTIO_BLOCK_HEADER_BYTES];
    uint8_t status;
    uint8_t unused[15];
};

/* The data of a request in a pool. NULL: the request has none. */
struct block_chain {
    struct virtio_bounce_slot *first;
};

enum block_state { BLOCK_RUNNING, BLOCK_BROKEN, BLOCK_STOPPED };

struct virtio_block {
    struct virtio_transport *transport;
    const struct virtio_block_operations *operations;
    void *context;
    enum block_state state;
    const char *broken;
    bool has_queue;
    bool memory_with_device; /* the queue may be enabled */
    bool is_status_wanted;   /* the configuration has changed, or the device asks for a reset */
    bool is_news;            /* the owner has not seen that the driver has stopped */
    unsigned interrupts;     /* since virtio_block_rearm() */
    uint64_t features;
    struct virtio_block_geometry geometry;
    struct virtio_block_statistics statistics;
    struct virtqueue queue;
    struct virtio_notification notification;
    struct virtio_block_request *returned; /* by virtio_block_stop() */
    uint16_t requests_max;
    uint16_t free_count;
    uint16_t free_slots[VIRTIO_BLOCK_REQUESTS_MAX]; /* a stack */
    struct block_slot *slots;                       /* requests_max */
    virtio_address slots_address;
    struct virtqueue_segment pieces[BLOCK_PIECES_MAX]; /* of the request that is submitted */
    struct virtio_pool *pool;   /* the transport's when the driver was created; NULL: none */
    struct virtio_bounce data;  /* with a pool */
    struct block_chain *chains; /* requests_max: of the request with each number of a slot */
};

/* Negotiates features and reads the configuration. Returns false if that fails, with the reason in
 * *reason. */
bool block_negotiate(struct virtio_block *block, uint64_t features_off, const char **reason);
/* The device can't be used any more. With the lock held. */
void block_stop_broken(struct virtio_block *block, const char *reason);

/* With a pool: limits requests_max to what it has room for. Returns false if that is too little,
 * with the reason in *reason. */
bool block_bounce_plan(struct virtio_block *block, const char **reason);
/* Allocates the slots for data, after all other memory, and limits the geometry to them. Returns
 * false if memory is exhausted, with the reason in *reason. */
bool block_bounce_create(struct virtio_block *block, const char **reason);
void block_bounce_free(struct virtio_block *block);
/* Takes slots for a valid request's data, copies the data of a write to them, and describes them in
 * block->pieces. *chain receives the slots, NULL if the request has no data. Returns the number of
 * pieces with the header, or 0 if there are not enough slots now. Thread context, without the lock.
 */
unsigned block_bounce_take(struct virtio_block *block, const struct virtio_block_request *request,
                           struct virtio_bounce_slot **chain);
/* Frees the slots of a request that is finished, and copies the data of a successful read from
 * them. Thread context, without the lock. */
void block_bounce_finish(struct virtio_block *block, const struct virtio_block_request *request);

#endif
