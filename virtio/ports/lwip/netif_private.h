/* SPDX-License-Identifier: BSD-2-Clause */
/* What netif.c, receive.c and transmit.c share. */
#ifndef VIRTIO_PORT_NETIF_PRIVATE_H
#define VIRTIO_PORT_NETIF_PRIVATE_H

#include "coalesce.h"
#include "lwip/netif.h"
#include "lwip/pbuf.h"
#include "lwip/sys.h"
#include "segmentation.h"
#include "virtio/net.h"
#include "virtio_netif.h"

#define RECEIVE_BLOCK_BYTES ((size_t)2048)
/* Of each block before the memory the device writes to. With 12 bytes of header and 14 of Ethernet
 * the IP header then lies on a multiple of 4, and a TCP segment without IP options on one of 16. */
#define RECEIVE_BLOCK_OFFSET ((size_t)130)

struct receive_block {
    struct pbuf_custom custom; /* first: lwIP gives back a pointer to it */
    struct virtio_net_buffer buffer;
    struct virtio_netif *interface;
};

_Static_assert(sizeof(struct receive_block) <= RECEIVE_BLOCK_OFFSET, "block's head");
_Static_assert(RECEIVE_BLOCK_OFFSET + VIRTIO_NET_RECEIVE_BYTES <= RECEIVE_BLOCK_BYTES,
               "block's size");
_Static_assert(PBUF_LINK_ENCAPSULATION_HLEN >= VIRTIO_NET_HEADER_BYTES, "room for the header");

/* Frames that are with the driver and the device at once: a TCP send buffer's worth of full
 * segments, and as many acknowledgements. */
#define TRANSMIT_PACKETS 128u

/* Addresses of the groups joined: those of an interface are few, one for each of its addresses. */
#define FILTER_GROUPS_MAX 16u

/* How far the device's filters are behind the interface. */
enum filter_work {
    FILTER_UP_TO_DATE,
    FILTER_GROUPS, /* groups were joined or left */
    FILTER_ALL,    /* the device was started, and knows none of it */
};

struct group_filter {
    uint8_t address[FILTER_GROUPS_MAX][6];
    uint16_t users[FILTER_GROUPS_MAX]; /* groups with this address */
    unsigned count;
    bool overflowed; /* once: all groups' frames are received from then on */
    volatile enum filter_work due;
};

/*
 * Owned by the bottom-half thread and whoever holds the network's lock. Other contexts use only
 * `wake` and, in critical sections, what is marked: with the driver's lock
 * (virtio_platform_lock()), or lwIP's (SYS_ARCH_PROTECT()).
 */
struct virtio_netif {
    struct virtio_net *net; /* NULL while the device is being restarted */
    struct virtio_network_device *device;
    struct virtio_netif_parameters parameters;
    struct netif netif;
    sys_sem_t wake;
    struct group_filter groups;
    uint32_t streak;         /* frames since the bottom half was last woken */
    volatile bool watch_due; /* the device's status is to be looked at */
    uint64_t started;        /* when the driver was, last */
    uint32_t retry;          /* milliseconds before the next attempt to restart it */

    void *blocks_memory;
    struct virtio_net_buffer *blocks; /* free ones of the receive pool: the driver's lock */
    uint32_t blocks_count;            /* all of the pool */
    uint32_t blocks_for_device;       /* of those, as many as may be with the device */
    uint32_t blocks_free;             /* the driver's lock */
    uint32_t blocks_lowest;           /* of blocks_free, ever: the driver's lock */
    bool ring_short;                  /* the driver found none: the driver's lock */
    uint32_t reserved;                /* virtio_netif_reserve(): lwIP's lock */
    uint32_t copies_bytes;            /* of received frames, in use now: lwIP's lock */
    uint64_t copied;
    uint64_t dropped;
    struct coalesce coalesce;
    const struct virtio_netif_bypass *bypass; /* NULL: none */

    void *packets_memory;
    struct virtio_net_packet *packets; /* free ones: lwIP's lock */
    uint32_t packets_free;             /* lwIP's lock */
    struct segmentation segmentation;
    bool checksum_offered;
    bool unflushed; /* frames were queued since the last flush */
    uint64_t transmit_copied;
    uint64_t transmit_dropped;
    uint64_t transmit_checksums;
    uint64_t restarts;
};

/* Receive (receive.c). False: out of memory. */
bool receive_init(struct virtio_netif *interface);
/* Frees the pool, unless the device still has blocks of it: it may write to them until it confirms
 * a reset (VIRTIO 1.3, 2.4.1), so that memory is given up. After the driver was freed. */
void receive_destroy(struct virtio_netif *interface);
/* Adds blocks to the pool when the driver has begun to expose more than ever before. Bottom-half
 * thread. */
void receive_grow(struct virtio_netif *interface);
struct virtio_net_buffer *receive_buffer_take(void *context);
void receive_buffer_return(void *context, struct virtio_net_buffer *buffer);
/* Hands a frame to lwIP, now or with the next ones; receive_finish() ends a batch. Network's lock
 * held. */
void receive_deliver(struct virtio_netif *interface, struct virtio_net_buffer *buffer);
void receive_finish(struct virtio_netif *interface);
/* Frees what it can while few blocks are free. Once per batch, network's lock held. */
void receive_relieve(struct virtio_netif *interface);

/* The device's filters (filter.c). */

/* Before the bottom half exists; network's lock held. */
void filter_init(struct virtio_netif *interface);
/* The driver was started: filter_update() writes all filters. Network's lock held. */
void filter_restart(struct virtio_netif *interface);
/* Writes to the device what has changed since the last call. Waits for the device, up to a second
 * for each command, and takes the network's lock for the time it reads what lwIP has: not to be
 * held. Bottom-half thread, the only one that sends commands (virtio/net_control.h). */
void filter_update(struct virtio_netif *interface);
/* After a change of the configuration: announces the interface's addresses if the device asks.
 * Context as of filter_update(). */
void filter_announce(struct virtio_netif *interface);

/* Transmit (transmit.c). Network's lock held. False: out of memory. */
bool transmit_init(struct virtio_netif *interface);
/* Frees the packets, unless the driver still has some of them: as receive_destroy(). */
void transmit_destroy(struct virtio_netif *interface);
err_t transmit_frame(struct netif *netif, struct pbuf *frame);
/* Takes back what the driver has sent, or gives up. */
void transmit_take_back(struct virtio_net *net);
/* Gives back a frame's packets and what they hold; NULL: nothing. Thread context, the lock not
 * needed. */
void transmit_free(struct virtio_net_packet *packet);
/* Before the network's lock is released: the device is told of new frames. */
void transmit_release(void *context);

#endif
