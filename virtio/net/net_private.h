/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside the network driver. One lock (virtio_platform_lock) guards everything below except what is
 * constant after creation and what is marked as the bottom half's own. Pairs have nothing to do
 * with each other until the device breaks.
 *
 * Interrupts and the bottom half. While `bottom_half_pending`, the bottom half has been signalled
 * or runs, both queues' interrupts are suppressed, and it is bound to look at both queues again
 * before it clears the flag. While not, these hold whenever the lock is free and the driver runs:
 *   - the receive queue's interrupt is enabled, with nothing used that it would not interrupt for;
 *   - the transmit queue's is armed if a frame waits in the send queue, and, after each flush, if
 *     transmit_threshold packets or more are with the device.
 * So whatever the device finishes, somebody comes to look. Each function that leaves the lock keeps
 * this; net_transmit_settle() and virtio_net_bottom_half() are where it is established.
 */
#ifndef VIRTIO_NET_PRIVATE_H
#define VIRTIO_NET_PRIVATE_H

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
    uint16_t index;  /* of the device's queues (5.1.2) */
    uint16_t vector; /* or VIRTIO_NO_VECTOR */
    bool was_reset;  /* by itself, and when that was */
    uint64_t reset_at;
};

/* A list of buffers or packets, linked by `next`, that counts what each of them weighs. */
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
    bool signal_wanted;    /* net_leave() signals */
    bool link_changed;     /* not yet queried */
    bool transmitted_news; /* packets finished since the bottom half last ran */
    bool odd_to_receive;   /* of an odd budget the receive side gets one more this time */

    /* Interrupts; for pairs that share one, in pair 0. */
    bool mask_requested;                   /* until the bottom half runs */
    uint16_t interrupts_since_bottom_half; /* on a shared line: those that the device claimed */
    uint16_t interrupts_unclaimed; /* on a shared line: the others, since then or since ... */
    uint64_t unclaimed_since;      /* ... the first of UNCLAIMED_MAX */
    uint16_t spurious_storms;      /* consecutive bottom halves that found a storm and no work */
    uint16_t taken_before;         /* chains taken from the rings when the bottom half last ran */

    struct net_queue receive;
    struct buffer_list received; /* frames for the bottom half */
    struct buffer_list fetched;  /* the bottom half's own: taken over from `received` as a whole */
    struct virtio_net_buffer *merging; /* a frame of which buffers are still to come, or NULL */
    struct virtio_net_buffer *merged;  /* its last buffer so far */
    uint16_t merge_left;               /* how many are to come */
    uint64_t delivered;                /* the bottom half's own */
    uint64_t poll_at;                  /* as well: `delivered` when to look again */

    struct net_queue transmit;
    struct packet_list waiting;     /* the send queue */
    struct packet_list transmitted; /* finished, for virtio_net_transmitted() */

    uint16_t exposed_target; /* receive buffers to expose */
    uint16_t used_peak;      /* the most found used at once in this period */
    uint16_t used_left_over; /* found used in turns that each used up their budget, until now */
    uint32_t period_left;    /* buffers until it ends */

    /* Constant after creation; but for index, context and the rings' sizes the same in all pairs,
     * so that a frame on its way needs nothing else. */
    struct virtio_net_parameters
        parameters; /* with the defaults, and what the rings have room for */
    uint16_t index;
    uint16_t transmit_threshold; /* packets at the device that make an interrupt necessary */
    uint16_t segments_max;
    uint16_t mtu;
    uint32_t header_bytes; /* of struct net_header, as the device has it */
    bool header_alone;     /* in a descriptor of its own */
    uint64_t features;
    bool single_vector; /* vector 0 stands for configuration changes too */

    struct virtio_net_statistics statistics; /* the counters; gauges are filled in when asked */
    /* The frame that is being added to the ring. It is here because a KiB is too much for the stack
     * of an interrupt handler. */
    struct net_frame frame;
    uint8_t unshared[CACHE_LINE_BYTES]; /* from what the next pair's processor writes */
};

/* What the pairs have in common. Written at start and stop, by whom the device breaks with, and for
 * pair 0, which the configuration belongs to. */
struct net_device {
    const char *broken;      /* what the device did, or NULL */
    bool memory_with_device; /* queues were enabled, and no reset confirmed since */
    bool link_up;            /* as last read */
    bool has_mac;
    uint8_t mac[6];
    uint16_t pairs;           /* in use */
    uint16_t room;            /* for so many */
    uint16_t interrupt_pairs; /* that an interrupt for pair 0 concerns: all, if they share it */
    bool selecting;           /* somebody uses the registers that are about a selected queue */
    /* If CTRL_VQ was negotiated; the owner's single caller at a time (control.c). */
    struct net_queue control;
    uint8_t *command; /* shared with the device */
    virtio_address command_address;
    struct virtio_net pair[];
};

/* The limit is < 2^16. */
static inline uint16_t net_at_most(unsigned value, unsigned limit)
{
    return (uint16_t)(value < limit ? value : limit);
}

/* Ends the critical section that virtio_platform_lock() began, and passes on the signal that came
 * up in it. */
void net_leave(struct virtio_net *net, virtio_lock_state state);

/* The offer, the choice, and what it means for `net`. */
bool net_negotiate(struct virtio_net *net, const char **reason);
bool net_read_configuration(struct virtio_net *net, const char **reason);
uint16_t net_ring_size(uint16_t wanted, uint16_t limit);
/* The configuration's status field (5.1.4); keeps link_up. False: there is none, or it never stands
 * still. */
bool net_read_status(struct virtio_net *net, uint32_t *status);

/* Tells the device of a queue, which is then enabled. */
bool net_enable_queue(struct net_device *device, struct net_queue *queue, const char **reason);
/* Resets what is broken of the pair's queues; if that fails, the device is broken. Thread context,
 * without the lock. */
void net_recover(struct virtio_net *net);

/* As net_recover(), for the control queue. By the caller that gives the device commands
 * (control.c), because nobody else uses that queue. Thread context, without the lock. */
void net_control_recover(struct virtio_net *net);

/* The control queue's memory. False: there is none left. */
bool net_control_create(struct net_device *device);
void net_control_free(struct net_device *device);
/* Tells the device to use all pairs (5.1.6.5.6.1). False: it does not. Thread context. */
bool net_use_pairs(struct virtio_net *net);

/* With the lock held, for all of these: */

/* The bottom half shall look at both queues. */
void net_wake(struct virtio_net *net);
/* Publishes what was added to a queue; notifies if the device asks for it. */
void net_kick(struct virtio_net *net, struct net_queue *queue);
/* The device is not to be trusted any more: nothing touches any pair's queues until
 * virtio_net_stop(). */
void net_stop_broken(struct virtio_net *net, const char *reason);
/* What is wrong with the status of a device that should be running; NULL: nothing. With the lock
 * held or without. */
const char *net_trouble(const struct virtio_net *net);
/* Notices a broken queue: the bottom half resets it, or the device is broken. */
void net_check(struct virtio_net *net);

/* Moves used buffers to `received`, at most `budget`, and exposes as many fresh ones. Returns how
 * many. */
unsigned net_receive_service(struct virtio_net *net, unsigned budget);
/* Changes exposed_target after `moved` buffers were found used in one turn. If the turn used up its
 * budget, there may be more. */
void net_receive_adapt(struct virtio_net *net, unsigned moved, bool budget_used_up);
/* The owner has no more buffers: contents itself with what is exposed, if that is enough. */
void net_receive_short(struct virtio_net *net);
/* Exposes buffers up to the target, as far as there are any. Not yet published. */
void net_receive_expose(struct virtio_net *net);

/* Takes finished packets out of the ring and puts waiting ones in, at most `budget` in all. Not yet
 * published. Returns how many. */
unsigned net_transmit_service(struct virtio_net *net, unsigned budget);
/* True: too much is with the device, or something waits for it, to do without an interrupt. */
bool net_transmit_needs_interrupt(const struct virtio_net *net);
/* Arms it. False: enough has finished meanwhile. Everything must be published. */
bool net_transmit_arm(struct virtio_net *net);
/* Publishes, and arms an interrupt if one is needed; if the device is quicker each time, the bottom
 * half takes over. */
void net_transmit_settle(struct virtio_net *net);

#endif
