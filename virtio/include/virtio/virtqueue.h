/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver's side of a virtqueue (VIRTIO 1.3, 2.6). The driver adds chains of segments, each with
 * a token, and takes the token back, with the number of bytes that the device wrote, once the
 * device has finished the chain. The format, split (2.7) or packed (2.8), is chosen when the queue
 * is created and does not show in the interface.
 *
 * The device is not trusted. The driver's record of its chains is in private memory and never read
 * back from the ring; each word that the device writes is read once; ids, lengths and indices are
 * checked before use. An invalid word puts the queue into the broken state: `broken` gives the
 * reason, no chain can be added or taken any more, and only a reset and virtqueue_detach() return
 * the tokens.
 *
 * The caller serialises all calls for one queue. Any context, except create and destroy (thread
 * context).
 */
#ifndef VIRTIO_VIRTQUEUE_H
#define VIRTIO_VIRTQUEUE_H

#include "virtio/platform.h"
#include "virtio/pool.h"
#include "virtio/transport.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VIRTQUEUE_SIZE_MAX 32768u /* entries (2.7, 2.8) */

/* One contiguous part of a chain. */
struct virtqueue_segment {
    virtio_address address;
    uint32_t bytes; /* > 0 */
};

struct virtqueue_options {
    uint16_t size;             /* entries: a power of two (2.7) */
    uint64_t features;         /* negotiated; RING_PACKED, EVENT_IDX, IN_ORDER and ORDER_PLATFORM
                                  are evaluated */
    uint16_t indirect_tables;  /* chains that can be indirect at a time; 0 unless
                                  VIRTIO_F_INDIRECT_DESC was negotiated */
    uint16_t indirect_entries; /* segments of the longest chain that can be indirect, <= size */
    uint16_t alignment;  /* bytes, of the queue and of its used ring: a power of two; 0: default */
    bool by_index;       /* for a queue whose chains have no writable segments: if it is split and
                            IN_ORDER, read only the used index, and no used element (2.7.9) */
    bool length_clamped; /* reduce a used length beyond a chain's writable bytes to these; if false,
                            such a length breaks the queue */
    struct virtio_pool *pool; /* of the memory shared with the device; NULL: the platform's */
};

/* The driver's record of one chain. The slot's number is the chain's id, which the device returns.
 */
struct virtqueue_slot {
    void *token;             /* NULL unless a chain with this id is with the device */
    uint32_t writable_bytes; /* bytes that the device can write; for the last chain of a batch the
                                bytes that it reported */
    uint16_t shape;          /* number of descriptors, or the indirect table: SHAPE_INDIRECT */
    uint16_t next; /* split: the next descriptor, of the chain or of the free ones; packed:
                      the next free id */
};

struct virtqueue_descriptor;
struct virtqueue_available;
struct virtqueue_used;

/* Private to virtqueue/, and visible so that a queue can be embedded and its counts are cheap to
 * read. Fields that are used for each chain come first. */
struct virtqueue {
    struct virtqueue_descriptor *descriptors;
    struct virtqueue_slot *slots;
    union {
        struct virtqueue_available *available; /* split */
        uint32_t *driver_event; /* packed: the driver's event suppression structure (2.8.10) */
    };
    union {
        struct virtqueue_used *used; /* split */
        uint32_t *device_event;      /* packed: the device's event suppression structure (2.8.10) */
    };
    const char *broken; /* reason, a static text; NULL: the queue is not broken */
    uint16_t size;
    uint16_t mask; /* size - 1 */
    bool packed;
    bool event_index;
    bool in_order;
    bool by_index;
    bool length_clamped;
    bool order_platform;
    uint16_t free_first; /* head of a list through slots[].next: split: descriptors, packed: ids */
    uint16_t free_count; /* free descriptors */
    uint16_t added;      /* chains added; split: the available index to be published next */
    uint16_t published;  /* chains published; split: the available index */
    uint16_t taken;      /* chains taken; split: the used index up to which they were taken */
    uint16_t used_seen;  /* split: the used index as last read and found plausible */
    uint16_t ring_added; /* packed: `added`, `published` and `taken` in descriptors */
    uint16_t ring_published;
    uint16_t ring_taken;
    uint16_t batch;  /* in_order: chains that are known to be finished and not yet taken */
    uint16_t oldest; /* in_order: id of the chain that is with the device for the longest */
    uint16_t free_table_count;
    uint64_t held_back; /* packed: second half of the first descriptor not yet published */
    uint16_t
        interrupt_after; /* with event_index: split: used_event; packed: the place of the event */
    bool interrupts_on;  /* virtqueue_enable() was called after virtqueue_suppress() */
    uint16_t indirect_entries;
    uint16_t indirect_tables;
    uint16_t alignment;
    struct virtqueue_descriptor *tables; /* indirect_tables of indirect_entries each */
    uint16_t *free_tables;               /* stack of free tables, in memory behind the slots */
    virtio_address tables_address;
    virtio_address address;
    struct virtio_pool *pool;
};

/* Creates a queue, without access to the device. Returns false if memory is exhausted, or the
 * options break a rule above. Thread context. */
bool virtqueue_create(struct virtqueue *queue, const struct virtqueue_options *options);
/* Frees a queue's memory. Call it only after a reset of the device (2.4.1), and after
 * virtqueue_detach() returned NULL. Thread context. */
void virtqueue_destroy(struct virtqueue *queue);
/* Fills in the addresses and the size of `setup`; the caller sets index and vector. */
void virtqueue_describe(const struct virtqueue *queue, struct virtio_queue_setup *setup);

/*
 * Adds a chain of `readable` segments for the device to read, followed by `writable` segments for
 * it to write (in this order: 2.7.4.2). The device does not see it before virtqueue_publish().
 * `token`, not NULL, is returned by virtqueue_take() or virtqueue_detach(). Returns false if there
 * is no room now, the queue is broken, or the chain breaks a rule: it has no segment, more segments
 * than the queue has entries, a segment of 0 bytes, or 2^32 bytes or more in all.
 */
bool virtqueue_add(struct virtqueue *queue, const struct virtqueue_segment *segments,
                   unsigned readable, unsigned writable, void *token);

/* Makes the added chains visible to the device. Returns true if the device wants to be notified of
 * them (2.7.10, 2.8.10). */
bool virtqueue_publish(struct virtqueue *queue);

/*
 * Takes the next chain that the device has finished. Returns its token, and in *bytes the
 * number of bytes that the device wrote, from the start of the writable segments on. This is at
 * most the chain's number of writable bytes, so it is 0 for a chain without writable segments,
 * whatever the device reports (VIRTIO 1.3, 2.7.8, 2.8.4). Returns NULL if there is no finished
 * chain, or if the queue broke.
 */
void *virtqueue_take(struct virtqueue *queue, uint32_t *bytes);

/* A chain of one segment, for virtqueue_add_batch(), or a taken chain. */
struct virtqueue_item {
    void *token;
    virtio_address address; /* of the segment to add; undefined after taking */
    uint32_t bytes;         /* of the segment to add; taken: written by the device */
};

/* As virtqueue_add() and virtqueue_take(), for up to `count` or `limit` chains. Return the number
 * of chains. The segments of one call are all readable, or all `writable`. */
unsigned virtqueue_add_batch(struct virtqueue *queue, const struct virtqueue_item *items,
                             unsigned count, bool writable);
unsigned virtqueue_take_batch(struct virtqueue *queue, struct virtqueue_item *items,
                              unsigned limit);

/* Returns true if virtqueue_take() would return a token or break the queue. */
bool virtqueue_pending(struct virtqueue *queue);

/* Asks the device not to interrupt. That is a hint: it may interrupt nevertheless (2.7.7). */
void virtqueue_suppress(struct virtqueue *queue);

/*
 * Asks the device to interrupt when it has finished more than `delay` chains beyond those taken;
 * more than `delay` chains must be with the device. In a packed ring `delay` counts descriptors.
 * Without EVENT_IDX the device interrupts when it finishes the next chain, whatever `delay` is.
 * Returns false if it has finished more than `delay` chains already (in a packed ring with chains
 * of several descriptors or with IN_ORDER: any chain). The device may not interrupt for these, so
 * the caller takes them and tries again (2.7.7). Interrupts are then suppressed.
 */
bool virtqueue_enable(struct virtqueue *queue, uint16_t delay);

/* Returns true if the device will interrupt, or has done so, for chains that are with it now. */
bool virtqueue_armed(const struct virtqueue *queue);

/* Returns the number of chains that were added and not yet taken. */
static inline uint16_t virtqueue_in_flight(const struct virtqueue *queue)
{
    return (uint16_t)(queue->added - queue->taken);
}

/* Returns true if there is room for a chain of this many segments. */
bool virtqueue_has_room(const struct virtqueue *queue, unsigned segments);

/*
 * After a reset of the device or of the queue, returns the token of the next chain that was not
 * taken, or NULL if there is none. The caller sets *position to 0 before the first call and does
 * not change it. No chain can be added or taken after the first call.
 */
void *virtqueue_detach(struct virtqueue *queue, uint16_t *position);

/* Puts the queue into the state after its creation, in the same memory. Call it after a reset of
 * the device or of the queue (2.4.1, 2.6.1), and after virtqueue_detach() returned NULL. */
void virtqueue_reset(struct virtqueue *queue);

/* Return the bytes allocated from the platform: shared with the device, and private. */
size_t virtqueue_shared_bytes(const struct virtqueue *queue);
size_t virtqueue_private_bytes(const struct virtqueue *queue);

#endif
