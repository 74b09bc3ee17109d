/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Private to the network driver. One lock (virtio_platform_lock) guards all fields below, except
 * those that are constant after creation, and those that only the bottom half uses. Pairs share
 * nothing until the device breaks.
 *
 * Interrupts and the bottom half. While `bottom_half_pending` is set, the bottom half has been
 * signalled or is running, both queues' interrupts are suppressed, and the bottom half reads both
 * queues again before it clears the flag. While it is not set, these hold whenever the lock is free
 * and the driver is running:
 *   - the receive queue's interrupt is enabled, and there is no used buffer that it would not be
 *     raised for;
 *   - the transmit queue's interrupt is armed if a frame waits in the send queue, and, after each
 *     flush, if transmit_threshold packets or more are with the device. With a pool it may be that
 *     no packet is with the device, and a thread copies one: it arms the interrupt afterwards.
 * So every used buffer is followed by a run of the handler or of the bottom half. Each function
 * that releases the lock keeps this; net_transmit_settle() and virtio_net_bottom_half() establish
 * it.
 */
#ifndef VIRTIO_NET_PRIVATE_H
#define VIRTIO_NET_PRIVATE_H

#include "virtio/bounce.h"
#include "virtio/net.h"
#include "virtio/virtqueue.h"

#define ETHERNET_HEADER_BYTES 14u
#define ETHERNET_MTU          1500u
#define VLAN_TAG_BYTES        4u
#define VLAN_ETHERTYPE        0x8100u
#define CACHE_LINE_BYTES      64u
#define NET_BATCH             16u /* chains moved at once under the lock: they are on the stack */

/* 5.1.6; without mergeable buffers num_buffers is unused, but present with VERSION_1. */
struct net_header {
    uint8_t flags;
    uint8_t gso_type;
    uint16_t header_bytes;
    uint16_t gso_bytes;
    uint16_t checksum_start;
    uint16_t checksum_offset;
    uint16_t buffers;
};

#define HEADER_NEEDS_CHECKSUM  0x1u /* VIRTIO_NET_HDR_F_NEEDS_CSUM */
#define HEADER_DATA_VALID      0x2u /* VIRTIO_NET_HDR_F_DATA_VALID */
#define HEADER_GSO_TYPE        1u   /* offset of gso_type */
#define HEADER_GSO_BYTES       4u   /* offset of gso_size */
#define HEADER_CHECKSUM_START  6u   /* offset of csum_start */
#define HEADER_CHECKSUM_OFFSET 8u   /* offset of csum_offset */
#define HEADER_BUFFERS         10u  /* offset of num_buffers */

/* 5.1.4: struct virtio_net_config */
#define CONFIG_MAC    0u
#define CONFIG_STATUS 6u
#define CONFIG_PAIRS  8u
#define CONFIG_MTU    10u
#define CONFIG_SPEED  12u
#define CONFIG_DUPLEX 16u

#define STATUS_LINK_UP  0x1u
#define STATUS_ANNOUNCE 0x2u
#define SPEED_MAX       0x7fffffffu /* beyond: unknown */
#define DUPLEX_FULL     1u

enum net_state { NET_STOPPED, NET_RUNNING, NET_BROKEN };

struct net_queue {
    struct virtqueue ring;
    struct virtio_notification notification;
    uint64_t notifications;
    uint16_t index;    /* number of the queue in the device (5.1.2) */
    uint16_t vector;   /* interrupt vector, or VIRTIO_NO_VECTOR */
    bool was_reset;    /* this queue was reset alone at least once */
    uint64_t reset_at; /* time of the last such reset, nanoseconds */
};

/* A list of buffers or packets, linked by `next`. `count` is the sum of its items' weights. */
#define DEFINE_LIST(list_type, item_type, weight)                                         \
    struct list_type {                                                                    \
        struct item_type *first;                                                          \
        struct item_type *last;                                                           \
        uint32_t count;                                                                   \
    };                                                                                    \
    static inline void list_type##_append(struct list_type *list, struct item_type *item) \
    {                                                                                     \
        item->next = NULL;                                                                \
        if (list->first == NULL) {                                                        \
            list->first = item;                                                           \
        } else {                                                                          \
            list->last->next = item;                                                      \
        }                                                                                 \
        list->last = item;                                                                \
        list->count += (weight);                                                          \
    }                                                                                     \
    static inline struct item_type *list_type##_take(struct list_type *list)              \
    {                                                                                     \
        struct item_type *item = list->first;                                             \
                                                                                          \
        if (item != NULL) {                                                               \
            list->first = item->next;                                                     \
            list->count -= (weight);                                                      \
            item->next = NULL;                                                            \
        }                                                                                 \
        return item;                                                                      \
    }

DEFINE_LIST(buffer_list, virtio_net_buffer, item->buffers) /* frames: each can fill several */
DEFINE_LIST(packet_list, virtio_net_packet, 1u)

/* A frame to transmit as the device sees it: a chain of the header and the packet's segments. */
struct net_frame {
    struct virtqueue_segment segments[VIRTIO_NET_FRAME_SEGMENTS_MAX + 1];
    unsigned count;
    uint64_t bytes; /* without the header */
};

/* A queue pair. */
struct virtio_net {
    struct net_device *device;
    struct virtio_transport *transport;
    const struct virtio_net_operations *operations;
    void *context;
    enum net_state state;
    bool bottom_half_pending;
    bool signal_wanted;      /* net_unlock() sends the signal */
    bool link_changed;       /* a change that virtio_net_link_changed() has not returned yet */
    bool transmitted_news;   /* packets finished since the bottom half last ran */
    bool receive_rounded_up; /* the receive side's half of the next odd budget is rounded up */

    /* Interrupts; if pairs share an interrupt, pair 0 counts it. */
    bool mask_requested;                   /* set by a handler, cleared by the bottom half */
    uint16_t interrupts_since_bottom_half; /* on a shared line: those that the device claimed */
    uint16_t interrupts_unclaimed;         /* on a shared line: the others, up to UNCLAIMED_MAX */
    uint64_t unclaimed_since;              /* time of the first of these, nanoseconds */
    uint16_t spurious_storms; /* consecutive bottom halves that found a storm and no work */
    uint16_t taken_before;    /* chains taken from the rings when the bottom half last ran */

    struct net_queue receive;
    struct buffer_list received; /* frames for the bottom half */
    struct buffer_list fetched;  /* taken over from `received`; only the bottom half uses it */
    struct virtio_net_buffer *merging; /* first buffer of an incomplete frame, or NULL */
    struct virtio_net_buffer *merged;  /* last buffer of that frame so far */
    uint16_t merge_left;               /* number of buffers that this frame still lacks */
    uint64_t delivered;                /* buffers delivered; only the bottom half uses it */
    uint64_t next_poll;                /* value of `delivered` at which to poll the ring again */

    struct net_queue transmit;
    struct packet_list waiting;     /* the send queue */
    struct packet_list transmitted; /* finished, for virtio_net_transmitted() */
    uint16_t copying; /* packets that threads copy to a pool now, with the lock released */

    uint16_t exposed_target; /* receive buffers to expose */
    uint16_t used_peak;      /* maximum number found used at once in this period */
    uint16_t used_left_over; /* used buffers found by the last turns, which used up their budgets */
    uint32_t period_left;    /* buffers until the period ends */

    /* Constant after creation. The same in all pairs, except for index, context and the rings'
     * sizes: a copy, so that moving a frame uses no memory of other pairs. */
    struct virtio_net_parameters parameters; /* with defaults, limited by the sizes of the rings */
    uint16_t index;
    uint16_t transmit_threshold; /* packets at the device that make an interrupt necessary */
    uint16_t segments_max;
    uint16_t mtu;
    uint32_t header_bytes; /* the part of struct net_header that the device uses */
    bool header_alone;     /* the header has a descriptor of its own */
    uint64_t features;
    bool single_vector; /* vector 0 is for queues and configuration changes */
    bool bounces; /* the transport has a pool: chains consist of slots, which are their tokens */
    uint16_t frame_slots_max;    /* of a frame to send */
    size_t transmit_slots_bytes; /* bytes of the pool for them */

    struct virtio_bounce receive_slots;
    struct virtio_bounce transmit_slots;

    struct virtio_net_statistics statistics; /* counters; gauges are filled in when they are read */
    /* The frame that is being added to the ring. It is here because a KiB is too much for the stack
     * of an interrupt handler. */
    struct net_frame frame;
    uint8_t unshared[CACHE_LINE_BYTES]; /* keeps the next pair out of this pair's cache lines */
};

/* Common to all pairs. Written at start and stop, by the pair that detects a failure, and by pair
 * 0, which handles configuration changes. */
struct net_device {
    struct virtio_pool *pool; /* the transport's when the driver was created */
    const char *broken;       /* reason, a static text; NULL: not broken */
    bool memory_with_device;  /* enabling queues was begun, and the device not reset since */
    bool link_up;             /* the state that was read last */
    bool has_mac;
    uint8_t mac[6];
    uint16_t mtu_offered;     /* the device's MTU; 0: none, or it cannot be read */
    const char *mtu_unused;   /* why it is not used, a static text; NULL: it is used, or none */
    uint16_t pairs;           /* number of pairs in use */
    uint16_t room;            /* size of pair[] */
    uint16_t interrupt_pairs; /* pairs served by pair 0's interrupt: all if they share it, else 1 */
    bool selecting;           /* spin lock of the registers that concern the selected queue */
    /* The control queue, if CTRL_VQ was negotiated. One caller at a time uses it (control.c). */
    struct net_queue control;
    uint8_t *command; /* shared with the device */
    virtio_address command_address;
    struct virtio_net pair[];
};

/* Returns the smaller of the two; limit < 2^16. */
static inline uint16_t net_at_most(unsigned value, unsigned limit)
{
    return (uint16_t)(value < limit ? value : limit);
}

/* Ends the critical section that virtio_platform_lock() began, and sends the signal that was
 * requested in it. */
void net_unlock(struct virtio_net *net, virtio_lock_state state);

/* Ends a critical section and begins another, so that pending interrupts are handled in between. */
void net_reenter(struct virtio_net *net, virtio_lock_state *state);

/* Calls net_reenter() in a bottom half with `state` from virtio_platform_lock(); NULL: the critical
 * section goes on. The handlers that run in between may move the descriptors that the bottom half
 * is about to move. Returns true if the driver is running; otherwise the rings must not be
 * accessed. */
static inline bool net_allow_interrupts(struct virtio_net *net, virtio_lock_state *state)
{
    if (state != NULL) {
        net_reenter(net, state);
    }
    return net->state == NET_RUNNING;
}

/* Negotiate features, and read the device's configuration. Return false if that fails, with the
 * reason in *reason. */
bool net_negotiate(struct virtio_net *net, const char **reason);
bool net_read_configuration(struct virtio_net *net, const char **reason);
uint16_t net_ring_size(uint16_t wanted, uint16_t limit);
/* Reads the configuration's status field (5.1.4) and updates link_up. Returns false if the device
 * has none, or it can't be read consistently. */
bool net_read_status(struct virtio_net *net, uint32_t *status);

/* Enables a queue. Returns false if that fails, with the reason in *reason. */
bool net_enable_queue(struct net_device *device, struct net_queue *queue, const char **reason);
/* Resets those of the pair's queues that are broken; if that fails, stops the device. Thread
 * context, without the lock. */
void net_recover(struct virtio_net *net);

/* As net_recover(), for the control queue. Only the sender of commands (control.c) calls it,
 * because no other function uses that queue. Thread context, without the lock. */
void net_control_recover(struct virtio_net *net);

/* Allocates the control queue's memory. Returns false if memory is exhausted. */
bool net_control_create(struct net_device *device);
void net_control_free(struct net_device *device);
/* Commands the device to use all pairs (5.1.6.5.6.1). Returns false if it does not. Thread context.
 */
bool net_use_pairs(struct virtio_net *net);

/* Returns the number of pairs that the pool has room for, at most `pairs` and at least one. */
uint16_t net_bounce_pairs(const struct virtio_pool *pool, uint16_t pairs);
/* Limits the parameters to what the transport's pool has room for. Returns false if that is too
 * little, with the reason in *reason. */
bool net_bounce_plan(struct virtio_net *net, const char **reason);
/* Returns the features to refuse, and reduces parameters.mtu_max, if the transmit ring is too small
 * for the slots of the largest frame. Called before the negotiation. */
uint64_t net_bounce_refused(struct virtio_net *net);
/* Allocates a pair's slots, after its rings. Returns false if memory is exhausted, with the reason
 * in *reason. */
bool net_bounce_create(struct virtio_net *net, const char **reason);
void net_bounce_free(struct virtio_net *net);
/* Copies a packet, with its header, to the slots that net_bounce_reserve() returned. With the lock
 * or without. */
void net_bounce_copy(const struct virtio_net *net, const struct virtio_bounce_slot *slot,
                     const struct virtio_net_packet *packet);

/* All functions below are called with the lock held. */

/* Takes slots for receive buffers, and describes them in `items`. Stops at the first buffer that is
 * too small or for which there is no slot. Returns the number of slots. */
unsigned net_bounce_describe(struct virtio_net *net, struct virtio_net_buffer *const *buffers,
                             unsigned count, struct virtqueue_item *items);
/* Copies received bytes to the owner's buffers, which become the tokens of `items` again, and frees
 * the slots. `state`: of the lock, which is released while bytes are copied; NULL: it stays held.
 */
void net_bounce_received(struct virtio_net *net, struct virtqueue_item *items, unsigned count,
                         virtio_lock_state *state);
/* Returns the bytes of a frame to send, or 0 if one of its packets has no segment, too many, or one
 * of 0 bytes. */
uint64_t net_bounce_frame_bytes(const struct virtio_net_packet *packet);
/* Returns true if a frame of `bytes` bytes has not too many slots for pool and ring. */
bool net_bounce_fits(const struct virtio_net *net, uint64_t bytes);
/* Takes the slots for a frame to send, linked by `next`. Returns NULL if there are not enough now,
 * or the ring has no room for them. */
struct virtio_bounce_slot *net_bounce_reserve(struct virtio_net *net, uint64_t bytes);
/* Adds the slots with a copy of `packet` to the ring. Frees them and returns false if the driver is
 * not running any more, or the ring has no room. */
bool net_bounce_add(struct virtio_net *net, struct virtio_bounce_slot *slot,
                    struct virtio_net_packet *packet, uint64_t bytes);
/* Frees the slots that are the tokens of `items`, and puts the buffers or packets that they were
 * taken for in their place. */
void net_bounce_finished(struct virtio_bounce *slots, struct virtqueue_item *items, unsigned count);

/* Suppresses both queues' interrupts and requests a signal to the bottom half. */
void net_wake(struct virtio_net *net);
/* Publishes the chains added to a queue, and notifies the device if it wants that. */
void net_kick(struct virtio_net *net, struct net_queue *queue);
/* Puts the device into the broken state: no pair's queues are accessed until virtio_net_stop(). */
void net_stop_broken(struct virtio_net *net, const char *reason);
/* Returns the failure that the device's status shows, or NULL if the device is running. With the
 * lock or without. */
const char *net_status_failure(const struct virtio_net *net);
/* If a queue is broken, wakes the bottom half to reset it; or stops the device, if it can't reset
 * single queues. */
void net_check_queues(struct virtio_net *net);

/* Moves at most `budget` used buffers to `received`, and exposes as many fresh ones. Returns the
 * number of used buffers. `state`: of the bottom half's lock, which net_allow_interrupts() may
 * release after each batch; NULL: it stays held. */
unsigned net_receive_service(struct virtio_net *net, unsigned budget, virtio_lock_state *state);
/* Adapts exposed_target after a turn that found `moved` used buffers. If the turn used up its
 * budget, there may be more. */
void net_receive_adapt(struct virtio_net *net, unsigned moved, bool budget_used_up);
/* The owner has no more buffers: reduces the target to what is exposed, but not below rx_buffers.
 */
void net_receive_short(struct virtio_net *net);
/* Exposes buffers up to the target, as many as the owner has. Does not publish them. */
void net_receive_expose(struct virtio_net *net);

/* Takes finished packets out of the ring and adds waiting ones, at most `budget` in all. Does not
 * publish them. Returns the number of packets moved. */
unsigned net_transmit_service(struct virtio_net *net, unsigned budget);
/* With a pool: copies waiting packets to the ring, at most `budget`. Does not publish them. Returns
 * their number. Only the bottom half calls it, with `state` of its lock, which is released while a
 * packet is copied. The driver may not be running any more afterwards. */
unsigned net_transmit_copies(struct virtio_net *net, unsigned budget, virtio_lock_state *state);
/* Returns true if so many packets are with the device, or a packet waits, that a transmit interrupt
 * is necessary. */
bool net_transmit_needs_interrupt(const struct virtio_net *net);
/* Arms the transmit interrupt; all chains must be published. Returns false if the device has
 * finished enough packets already, and nobody else is certain to call net_transmit_settle(). */
bool net_transmit_arm(struct virtio_net *net);
/* Publishes, and arms a transmit interrupt if one is necessary. If the device finishes packets
 * before that each time, wakes the bottom half instead. */
void net_transmit_settle(struct virtio_net *net);

#endif
