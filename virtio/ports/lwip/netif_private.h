/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations shared by netif.c, receive.c, transmit.c and filter.c. */
#ifndef VIRTIO_PORT_NETIF_PRIVATE_H
#define VIRTIO_PORT_NETIF_PRIVATE_H

#include "coalesce.h"
#include "lwip/netif.h"
#include "lwip/pbuf.h"
#include "lwip/prot/ethernet.h"
#include "lwip/sys.h"
#include "segmentation.h"
#include "virtio/driver_choice.h"
#include "virtio/net.h"
#include "virtio/net_polled.h"
#include "virtio_netif.h"

#define RECEIVE_BLOCK_BYTES ((size_t)2048)
/* Offset of the memory that the device writes to. After 12 bytes of virtio header and 14 of
 * Ethernet the IP header is aligned to 4, and the TCP header behind an IP header without options
 * to 16. */
#define RECEIVE_BLOCK_OFFSET ((size_t)130)

/* The part of a block that the device writes to. */
#define RECEIVE_BLOCK_ROOM (RECEIVE_BLOCK_BYTES - RECEIVE_BLOCK_OFFSET)

/*
 * The largest MTU that the interface uses. It costs memory only if the device's MTU is larger than
 * that of a block's frame, 1892. The device then has 35 blocks from the start, instead of 8,
 * because a device that may fill several blocks for a frame waits until it has enough of them for
 * the largest (VIRTIO_NET_LARGE_RECEIVE_BYTES). That is 54 KiB more. A frame of 9000 bytes fills 5
 * blocks, so the two largest fragments of a packet are within IP_REASS_MAX_PBUFS.
 */
#define NETIF_MTU_MAX 9000u

struct receive_block {
    struct pbuf_custom custom; /* first: lwIP gives back a pointer to it */
    struct virtio_net_buffer buffer;
    struct virtio_netif *interface;
};

_Static_assert(sizeof(struct receive_block) <= RECEIVE_BLOCK_OFFSET, "the head of a block");
_Static_assert(RECEIVE_BLOCK_OFFSET + VIRTIO_NET_RECEIVE_BYTES <= RECEIVE_BLOCK_BYTES,
               "the size of a block");
_Static_assert(VIRTIO_NET_HEADER_BYTES + SIZEOF_ETH_HDR + NETIF_MTU_MAX <=
                   IP_REASS_MAX_PBUFS / 2 * RECEIVE_BLOCK_ROOM,
               "two fragments of the largest MTU can be reassembled");
_Static_assert(PBUF_LINK_ENCAPSULATION_HLEN >= VIRTIO_NET_HEADER_BYTES, "room for the header");

/* Maximum number of frames with driver and device: a TCP send buffer of full segments, and as many
 * acknowledgements. */
#define TRANSMIT_PACKETS 128u

/* Multicast addresses in the filter. An interface joins one group for each of its IPv6 addresses.
 */
#define FILTER_GROUPS_MAX 16u

/* The filters of the device that are out of date. */
enum filter_work {
    FILTER_UP_TO_DATE,
    FILTER_GROUPS, /* the multicast filter: groups were joined or left */
    FILTER_ALL,    /* all of them: the device was reset */
};

struct group_filter {
    uint8_t address[FILTER_GROUPS_MAX][6];
    uint16_t users[FILTER_GROUPS_MAX]; /* number of groups that have this address */
    unsigned count;
    bool overflowed; /* more groups than the table holds: all multicast frames are received */
    volatile enum filter_work due;
};

/*
 * The bottom-half thread, and any thread that holds the network lock, may access the members. Other
 * contexts access only `wake`, `watch_due`, and in critical sections the members marked "driver
 * lock" (virtio_platform_lock()) or "lwIP lock" (SYS_ARCH_PROTECT()).
 */
struct virtio_netif {
    struct virtio_net *net; /* NULL while the device is being restarted */
    struct virtio_network_device *device;
    struct netif netif;
    sys_sem_t wake;
    struct group_filter groups;
    uint32_t streak;         /* frames received since the bottom half was last woken */
    uint64_t moved_before;   /* virtio_net_moved_bytes() when it was woken */
    volatile bool watch_due; /* the bottom half has to check the device's status */
    uint64_t started;        /* time of the driver's last start, ns */
    uint32_t retry;          /* ms until the next attempt to restart the device */
    const char *mtu_unused;  /* the reported reason why the device's MTU is not used, or NULL */

    void *blocks_memory;
    struct virtio_net_buffer *blocks; /* free blocks of the receive pool; driver lock */
    uint32_t blocks_count;            /* size of the pool */
    uint32_t blocks_for_device;       /* of those, the number that the device may have */
    uint32_t blocks_free;             /* driver lock */
    uint32_t blocks_lowest;           /* lowest value of blocks_free; driver lock */
    bool ring_short;                  /* the driver found no free block; driver lock */
    uint32_t reserved;                /* virtio_netif_reserve(); lwIP lock */
    uint32_t copies_bytes;            /* memory in copies of received frames; lwIP lock */
    uint64_t copied;
    uint64_t passed; /* frames passed to lwIP, each of those that were joined */
    uint64_t bypassed;
    uint64_t dropped_no_memory;
    uint64_t dropped_too_long;
    uint64_t dropped_vlan;
    struct coalesce coalesce;
    const struct virtio_netif_bypass *bypass; /* or NULL */

    void *packets_memory;
    struct virtio_net_packet *packets; /* free packets; lwIP lock */
    uint32_t packets_free;             /* lwIP lock */
    struct segmentation segmentation;
    bool checksum_offered;
    bool unflushed;   /* frames were queued since the last flush */
    bool polled_runs; /* frames go to `polled`, and `net` is NULL; lwIP lock */
    uint64_t transmit_copied;
    uint64_t transmit_dropped;
    uint64_t transmit_checksums;
    uint64_t restarts;

    /* The alternative driver (alternative.c). */
    struct virtio_driver_choice choice; /* bottom half */
    struct virtio_polled *polled;       /* NULL: none is configured */
    sys_sem_t polled_begin;             /* the thread that polls has to begin, or has ended */
    sys_sem_t polled_end;
    uint64_t replacements;

    struct virtio_netif_parameters parameters; /* last, because its size changes with ports */
};

/* netif.c: the pause between two attempts to start a device, which doubles it. Bottom-half thread,
 * without the network lock. */
void netif_pause(struct virtio_netif *interface);
/* As netif_pause(), unless the driver that has stopped had worked for some time. The next pause is
 * then the shortest one again. */
void netif_pause_if_ill(struct virtio_netif *interface);

/* Receive (receive.c). */

/* Allocates the receive pool. Returns false if memory is exhausted. */
bool receive_init(struct virtio_netif *interface);
/* Frees the pool. If the device still has blocks, it may write to them until it confirms a reset
 * (VIRTIO 1.3, 2.4.1); then the memory is lost. Called after virtio_net_free(). */
void receive_destroy(struct virtio_netif *interface);
/* Adds blocks to the pool if the driver exposes more buffers than ever before. Bottom-half thread.
 */
void receive_grow(struct virtio_netif *interface);
/* The driver's operations (virtio/net.h), called with the driver lock held. */
struct virtio_net_buffer *receive_buffer_take(void *context);
void receive_buffer_return(void *context, struct virtio_net_buffer *buffer);
/* Passes a frame to lwIP, at once or joined with the next ones. receive_finish() passes on what is
 * held back; call it after each batch. Network lock held. */
void receive_deliver(struct virtio_netif *interface, struct virtio_net_buffer *buffer);
void receive_finish(struct virtio_netif *interface);
/* While few blocks are free, frees the out-of-order segments that lwIP holds. Once per batch,
 * network lock held. */
void receive_relieve(struct virtio_netif *interface);
/* As receive_deliver(), for a frame that the polled driver has copied to one block. Its segments
 * are not joined with others. */
void receive_deliver_copy(struct virtio_netif *interface, struct virtio_net_buffer *buffer);

/* The counts of received frames (received.c). Network lock held. */

/* lwIP's counters while a packet made of several frames is passed to lwIP. */
struct received_join {
    uint32_t others; /* frames beyond the first */
    uint32_t segments;
    uint32_t no_connection;
    uint64_t refused;
};

/* Call the first before, and the second after a packet of `frames` frames is passed to lwIP. */
void received_join_begin(struct received_join *join, uint32_t frames);
void received_join_end(const struct received_join *join);
/* Adds what lwIP has counted to sums of 64 bits. lwIP's counters have 32 bits; call it before one
 * of them can have passed all values. */
void received_add_up(void);
/* Reads the counts of received frames by their fate. */
void received_read(const struct virtio_netif *interface, struct virtio_netif_received *received);

/* The device's filters (filter.c). */

/* Registers the filter functions in lwIP. Before the bottom half exists; network lock held. */
void filter_init(struct virtio_netif *interface);
/* Marks all filters as out of date, after each start of the driver. Network lock held. */
void filter_restart(struct virtio_netif *interface);
/* Writes the filters that are out of date to the device. Waits up to a second for the answer to
 * each command, without the network lock; takes the lock to read the interface's addresses, so the
 * caller must not hold it. Bottom-half thread, the only one that sends commands
 * (virtio/net_control.h). */
void filter_update(struct virtio_netif *interface);
/* Announces the interface's addresses if the device asks for it. After a change of the
 * configuration; context as of filter_update(). */
void filter_announce(struct virtio_netif *interface);

/* The wait for more frames of a stream (stream.c). Bottom-half thread. */

/* The bottom half was woken: what it receives and sends from now on may become a stream. */
void stream_begin(struct virtio_netif *interface);
/* Returns when there are more frames, or a stream has ended, or there is none. Interrupts are not
 * enabled yet: before virtio_net_bottom_half(). */
void stream_await(struct virtio_netif *interface);

/* The alternative driver (alternative.c). */

/* Allocates it and creates its thread, if it is configured. If memory is exhausted, prints a line,
 * and the ordinary driver is never replaced. Called when the bottom half exists, because a thread
 * can't be undone; a failure before the return does not count. Thread context, without the network
 * lock. */
void alternative_prepare(struct virtio_netif *interface);
/* Starts the polled driver on the device, which was probed, and returns true when it has failed, or
 * the ordinary one is to be tried again; the device is then reset. Returns false if it cannot be
 * started, with a static text in *reason. Bottom-half thread, without the network lock;
 * interface->net is NULL. */
bool alternative_run(struct virtio_netif *interface, const char **reason);
/* Sends a copy of a packet of the bypass, if the polled driver runs. Returns false if it does not,
 * or refuses the packet. In a critical section (lwIP lock). */
bool alternative_transmit(struct virtio_netif *interface, const struct virtio_net_packet *packet);

/* Transmit (transmit.c). Network lock held, unless said otherwise. */

/* Allocates the packets. Returns false if memory is exhausted. */
bool transmit_init(struct virtio_netif *interface);
/* Frees the packets, except those that the device still has: see receive_destroy(). */
void transmit_destroy(struct virtio_netif *interface);
/* lwIP's linkoutput function. */
err_t transmit_frame(struct netif *netif, struct pbuf *frame);
/* Frees the packets that the driver returns: sent, or dropped because it was stopped. */
void transmit_take_back(struct virtio_net *net);
/* Releases the packets of a frame and their pbufs; `packet` may be NULL. Thread context, without
 * the network lock. */
void transmit_free(struct virtio_net_packet *packet);
/* Notifies the device of new frames, before the network lock is released (core_lock.h). */
void transmit_release(void *context);

#endif
