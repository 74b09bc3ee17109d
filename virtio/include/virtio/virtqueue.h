/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A virtqueue (VIRTIO 1.3, 2.6), seen by its driver: chains of buffers go in with a token each,
 * tokens come out with the number of bytes the device wrote. The layout in memory (split, 2.7, or
 * packed, 2.8) is chosen when the queue is created and does not show in the interface.
 *
 * The device is not trusted. What the driver knows about its chains stays in private memory and is
 * never read back from the ring; each word the device writes is read once; ids, lengths and indices
 * are checked before use. A device that gets one wrong makes the queue broken: `broken` then says
 * what was wrong, nothing can be added or taken any more, and only a reset and virtqueue_detach()
 * get the tokens back.
 *
 * The caller serialises all calls for one queue. Any context, except create and destroy.
 */
#ifndef VIRTIO_VIRTQUEUE_H
#define VIRTIO_VIRTQUEUE_H

#include "virtio/platform.h"
#include "virtio/transport.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VIRTQUEUE_SIZE_MAX 32768u /* entries (2.7, 2.8) */

/* One contiguous piece of a chain, as the device sees it. */
struct virtqueue_segment {
    virtio_address address;
    uint32_t bytes; /* > 0 */
};

struct virtqueue_options {
    uint16_t size;             /* entries: a power of two (2.7) */
    uint64_t features;         /* negotiated; RING_PACKED, EVENT_IDX, IN_ORDER and ORDER_PLATFORM
                                  make a difference */
    uint16_t indirect_tables;  /* chains that can be indirect at a time; 0 unless
                                  VIRTIO_F_INDIRECT_DESC was negotiated */
    uint16_t indirect_entries; /* segments of the longest chain that can be indirect, <= size */
    uint16_t alignment; /* of the queue and of its used ring: a power of two; 0: what is best */
    bool by_index; /* split with IN_ORDER, no chain with writable segments: the used index alone
                      counts, ids are not looked at */
    bool length_clamped; /* a used length beyond a chain's writable bytes is reduced to them; else
                            it breaks the queue */
};

/* What the driver remembers about one chain; its place is the id that the device returns. */
struct virtqueue_slot {
    void *token; /* of the chain with this id while it is with the device, or NULL */
    uint32_t
        writable_bytes; /* of that chain: the most the device can have written, or what it did */
    uint16_t shape;     /* of that chain: how it lies in memory */
    uint16_t next;      /* split: next free descriptor, next of a chain; packed: next free id */
};

struct virtqueue_descriptor;
struct virtqueue_available;
struct virtqueue_used;

/* Owned by virtqueue/; the fields are here so that a queue can be embedded and its counts are
 * cheap. Those used for each chain come first. */
struct virtqueue {
    struct virtqueue_descriptor *descriptors;
    struct virtqueue_slot *slots;
    union {
        struct virtqueue_available *available; /* split */
        uint32_t *driver_event; /* packed: when the driver wants an interrupt (2.8.10) */
    };
    union {
        struct virtqueue_used *used; /* split */
        uint32_t *device_event;      /* packed: when the device wants a notification (2.8.10) */
    };
    const char *broken; /* NULL, or a static text: what the device did */
    uint16_t size;
    uint16_t mask; /* size - 1 */
    bool packed;
    bool event_index;
    bool in_order;
    bool by_index;
    bool length_clamped;
    bool order_platform;
    uint16_t free_first; /* split: descriptor, packed: id; of a list through slots[].next */
    uint16_t free_count; /* descriptors */
    uint16_t added;      /* chains; split: available index including what is not yet published */
    uint16_t published;  /* chains; split: available index as the device sees it */
    uint16_t taken;      /* chains; split: used index up to which tokens were taken */
    uint16_t used_seen;  /* split: used index as last read and found plausible */
    uint16_t ring_added; /* packed: as the three above, in descriptors */
    uint16_t ring_published;
    uint16_t ring_taken;
    uint16_t batch;  /* in_order: chains known to be finished and not yet taken ... */
    uint16_t oldest; /* ... and the first of them, or of all */
    uint16_t free_table_count;
    uint64_t held_back;       /* packed: of the first descriptor not published, the second half */
    uint16_t interrupt_after; /* with event_index: the event the driver waits for */
    bool interrupts_on;       /* virtqueue_enable() came after the last virtqueue_suppress() */
    uint16_t indirect_entries;
    uint16_t indirect_tables;
    uint16_t alignment;
    struct virtqueue_descriptor *tables; /* indirect_tables of indirect_entries each */
    uint16_t *free_tables;               /* stack of the tables not in use; behind the slots */
    virtio_address tables_address;
    virtio_address address;
};

/* Reads nothing from the device. False: out of memory, or options that break a rule above. */
bool virtqueue_create(struct virtqueue *queue, const struct virtqueue_options *options);
/* Frees the memory; only after a reset of the device (2.4.1), and after virtqueue_detach() returned
 * NULL. */
void virtqueue_destroy(struct virtqueue *queue);
/* Fills in the addresses and the size; index and vector are the caller's. */
void virtqueue_describe(const struct virtqueue *queue, struct virtio_queue_setup *setup);

/*
 * Adds a chain of `readable` segments for the device to read, then `writable` ones for it to write
 * (in this order: 2.7.4.2). Not visible to the device before virtqueue_publish(). `token` comes
 * back from virtqueue_take() or virtqueue_detach(); not NULL. False: no room now, the queue is
 * broken, or the chain breaks a rule (empty, longer than the queue, a segment of no bytes, 2^32
 * bytes or more in all).
 */
bool virtqueue_add(struct virtqueue *queue, const struct virtqueue_segment *segments,
                   unsigned readable, unsigned writable, void *token);

/* Makes what was added visible to the device. True: it wants to be notified about that. */
bool virtqueue_publish(struct virtqueue *queue);

/*
 * Takes the next chain that the device has finished. Returns its token, and in *bytes how many
 * bytes the device wrote from the start of the writable segments on: at most as many as the chain
 * has, so 0 for a chain without writable segments, whatever the device reports
 * (VIRTIO 1.3, 2.7.8, 2.8.4). Returns NULL if there is none, or if the queue broke.
 */
void *virtqueue_take(struct virtqueue *queue, uint32_t *bytes);

/* A chain of one segment, for many at a time. */
struct virtqueue_item {
    void *token;
    virtio_address address; /* to add; after taking not to be used */
    uint32_t bytes;         /* to add: of the segment; taken: as virtqueue_take() says */
};

/* As virtqueue_add() and virtqueue_take(), for up to so many; return how many. All that is added is
 * readable, or all writable. */
unsigned virtqueue_add_batch(struct virtqueue *queue, const struct virtqueue_item *items,
                             unsigned count, bool writable);
unsigned virtqueue_take_batch(struct virtqueue *queue, struct virtqueue_item *items,
                              unsigned limit);

/* True: virtqueue_take() has something to return (or finds something wrong with it). */
bool virtqueue_pending(struct virtqueue *queue);

/* Asks the device not to interrupt. Only a hint: interrupts may come nevertheless (2.7.7). */
void virtqueue_suppress(struct virtqueue *queue);

/*
 * Asks the device to interrupt when it has finished more than `delay` chains beyond those taken
 * (without EVENT_IDX: when it finishes the next one, whatever `delay` is; packed, when it has used
 * more than `delay` descriptors; all only if more than `delay` chains are with it). False: it has
 * finished more than `delay` already (packed with chains of several descriptors or IN_ORDER: has
 * finished any) and may not interrupt for them, so take them and try again (2.7.7); interrupts are
 * then as after virtqueue_suppress().
 */
bool virtqueue_enable(struct virtqueue *queue, uint16_t delay);

/* True: an interrupt will come, or is on its way, for chains that are with the device now. */
bool virtqueue_armed(const struct virtqueue *queue);

/* Chains that were added and not yet taken. */
static inline uint16_t virtqueue_in_flight(const struct virtqueue *queue)
{
    return (uint16_t)(queue->added - queue->taken);
}

/* True: virtqueue_add() of this many segments would find room. */
bool virtqueue_has_room(const struct virtqueue *queue, unsigned segments);

/*
 * After a reset of the device: the next token that never came back, or NULL when all did. *position
 * starts at 0 and is the queue's own business. Nothing can be added or taken after the first call.
 */
void *virtqueue_detach(struct virtqueue *queue, uint16_t *position);

/*
 * Makes the queue as it was when it was created, in the same memory: after a reset of the device or
 * of the queue (2.4.1, 2.6.1), and after virtqueue_detach() returned NULL.
 */
void virtqueue_reset(struct virtqueue *queue);

/* Memory taken from the platform: shared with the device, and private. */
size_t virtqueue_shared_bytes(const struct virtqueue *queue);
size_t virtqueue_private_bytes(const struct virtqueue *queue);

#endif
