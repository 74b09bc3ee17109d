/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A virtio network device as an interface of lwIP. Frames go up and down without being copied:
 *
 * Receive. A pool of blocks of 2048 bytes, each with its pbuf in front of the memory the device
 * writes to: `rx_buffers` of them are with the device, the others with lwIP and programs, or free.
 * When the device needs more, up to `rx_buffers_max`, as many are added to the pool.
 * A pbuf that is freed, by whatever thread, is a free block again. One block holds one frame,
 * however short, so a peer that sends tiny segments which nobody reads could strand reception.
 * TCP connections share what there is (receive_window.h). And when few blocks are free, what lwIP
 * holds out of order is dropped, and each frame is copied into memory of its own size while its
 * block returns to the pool at once. When such copies pile up too, connections that have unread
 * data get no more of it (receive_pressure.h) until the pool recovers; TCP sends it again.
 *
 * Transmit. The pbuf is referenced until the device has sent it. Copied once are only frames that
 * are volatile, have no room for the header in front, or more pieces than a packet can have.
 */
#ifndef VIRTIO_PORT_VIRTIO_NETIF_H
#define VIRTIO_PORT_VIRTIO_NETIF_H

#include "lwip/netif.h"
#include "virtio/net.h"

struct virtio_netif;
struct virtio_network_device;

struct virtio_netif_parameters {
    struct virtio_net_parameters driver; /* rx_buffers 0: 8, and when it runs dry up to 64 */
    uint32_t rx_pool; /* blocks beyond those with the device; 0: for a TCP window of full frames,
                       * which all connections share (receive_window.h) */
    int priority;     /* of the bottom-half thread, as sys_thread_new() takes it */
    uint32_t poll;    /* looks at the rings before it sleeps, in time nobody else wants; 0: none */
};

struct virtio_netif_statistics {
    struct virtio_net_statistics driver; /* since the last restart */
    uint32_t rx_pool_blocks;
    uint32_t rx_pool_free; /* neither with the device nor with lwIP */
    uint32_t rx_pool_lowest;
    uint64_t rx_copied;       /* frames copied because few blocks were free */
    uint64_t rx_copies_bytes; /* in use now */
    uint64_t rx_dropped;      /* frames dropped because memory for copies was used up too */
    uint64_t tx_copied;       /* frames copied once, see above */
    uint64_t tx_dropped;      /* frames that found no packet or no room in the send queue */
    uint64_t tx_packets_free; /* of the fixed pool, now */
    uint64_t tx_checksums;    /* left to the device */
    uint64_t tx_joined;       /* segments joined to others, for the device to cut */
    uint64_t restarts;        /* attempts to start the device again after it had failed */
};

/* Starts lwIP and what guards it. Once, before anything else of it, when its random numbers have
 * been seeded (random.h). Thread context. */
void virtio_netif_start_lwip(void);

/*
 * Starts the driver on `device` and adds the interface to lwIP. The network's lock is taken: not to
 * be held. On failure *reason is a static text. Thread context.
 */
struct virtio_netif *virtio_netif_create(struct virtio_network_device *device,
                                         const struct virtio_netif_parameters *parameters,
                                         const char **reason);

/* Up, where packets go by default, with IPv6 addresses that it finds itself. The network's lock is
 * held. */
void virtio_netif_set_up(struct virtio_netif *interface);

/* The interface as lwIP knows it. */
struct netif *virtio_netif_interface(struct virtio_netif *interface);
/* Features negotiated. */
uint64_t virtio_netif_features(const struct virtio_netif *interface);
/* Mb/s as the device says now; 0: it does not. With the network's lock held. */
uint32_t virtio_netif_speed(const struct virtio_netif *interface, bool *full_duplex);
/* With the network's lock held. */
void virtio_netif_statistics(struct virtio_netif *interface,
                             struct virtio_netif_statistics *statistics);

/*
 * Past lwIP, for kernel/net/datagram.c: frames that are made and recognised without it.
 */

/* Who sends: embeds it, and gets it back by release(), in any thread. */
struct virtio_netif_packet {
    struct virtio_net_packet packet; /* owner is the structure's address */
    void (*release)(struct virtio_netif_packet *packet);
};

struct virtio_netif_bypass {
    /* A frame in one piece before lwIP sees it. True: it was taken, and the buffer comes back by
     * virtio_netif_release(). */
    bool (*input)(struct virtio_net_buffer *buffer, const uint8_t *frame, size_t bytes);
    /* The first piece of a frame that lwIP sends. */
    void (*output)(const uint8_t *frame, size_t bytes);
};

/* Both are called with the network's lock held; set under it. */
void virtio_netif_set_bypass(struct virtio_netif *interface,
                             const struct virtio_netif_bypass *bypass);
/* A buffer that input() took is not needed any more. Any thread. */
void virtio_netif_release(struct virtio_net_buffer *buffer);
/* Sets `blocks` of the receive pool aside for the bypass, or gives as many back (negative): while
 * no more than those are free, lwIP's frames are copied. False: there are not so many. Any thread.
 */
bool virtio_netif_reserve(struct virtio_netif *interface, int blocks);
/* Sends now. False: the link is down, the device is restarted, or has no room. Thread context, the
 * network's lock not needed. */
bool virtio_netif_transmit(struct virtio_netif *interface, struct virtio_netif_packet *packet);
/* Takes back what the device has sent. As virtio_netif_transmit(). */
void virtio_netif_reclaim(struct virtio_netif *interface);
/* UDP checksums may be left to the device. */
bool virtio_netif_offers_checksum(const struct virtio_netif *interface);

#endif
