/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A virtio network device as an interface of lwIP. Frames are not copied in either direction:
 *
 * Receive. The receive pool has blocks of 2048 bytes, each with its pbuf in front of the memory
 * that the device writes to. The device has `rx_buffers` blocks, lwIP and programs have others, and
 * the rest is free. If the device needs more, up to `rx_buffers_max`, the pool grows by as many. A
 * pbuf that is freed, in any thread, becomes a free block. A block holds one frame, however short,
 * so a peer could exhaust the pool with tiny segments that no program reads. Three measures prevent
 * that. TCP connections share the pool (receive_window.h). When few blocks are free, lwIP's
 * out-of-order segments are dropped, and each received frame is copied into memory of its own size,
 * so that its block is free again at once. When the copies take too much memory, connections with
 * unread data receive no more (receive_pressure.h) until the pool recovers; TCP retransmits. A
 * device with an MTU of more than 1892 fills several blocks for a frame, and has 35 of them from
 * the start (NETIF_MTU_MAX).
 *
 * Transmit. The pbuf is referenced until the device has sent it. A frame is copied, once, if it is
 * volatile, has no room for the header in front, or has more pieces than a packet can have.
 */
#ifndef VIRTIO_PORT_VIRTIO_NETIF_H
#define VIRTIO_PORT_VIRTIO_NETIF_H

#include "lwip/netif.h"
#include "virtio/net.h"

struct virtio_netif;
struct virtio_network_device;

/* When the polled driver (virtio/net_polled.h) takes the place of the ordinary one: see
 * virtio/driver_choice.h. Times are nanoseconds. */
struct virtio_netif_alternative {
    uint16_t
        failures; /* at most VIRTIO_FAILURES_MAX; 0: never, and no memory is allocated for it */
    uint64_t window;
    uint64_t retry;  /* 0: the ordinary driver is not tried again unless the polled one fails */
    uint64_t period; /* between two polls; 0: a millisecond */
};

struct virtio_netif_parameters {
    /* rx_buffers 0: from 8 to 64, as the device needs. receive_bytes and mtu_max are the port's */
    struct virtio_net_parameters driver;
    uint32_t rx_pool; /* blocks in addition to those that the device has; 0: enough for a TCP window
                       * of full frames, which all connections share (receive_window.h) */
    int priority;     /* priority of the bottom-half thread, as for sys_thread_new() */
    uint32_t poll;    /* times that the bottom half polls the rings before it sleeps, while no
                       * other thread is ready; 0: never */
    struct virtio_netif_alternative alternative;
};

/* The fate of a received frame: the protocol that took it, or the cause of its drop. The names of
 * virtio_netif_fate_name() are those in the comments. */
enum virtio_netif_fate {
    /* Delivered to a protocol: */
    VIRTIO_NETIF_ARP,      /* arp */
    VIRTIO_NETIF_ICMP,     /* icmp: answered, or without effect */
    VIRTIO_NETIF_ICMPV6,   /* icmpv6: also neighbour discovery and multicast listener discovery */
    VIRTIO_NETIF_UDP,      /* udp: handed to a program, or to DHCP */
    VIRTIO_NETIF_TCP,      /* tcp: also segments that TCP ignores, such as repeated ones */
    VIRTIO_NETIF_BYPASS,   /* bypass: taken by the bypass (see below) */
    VIRTIO_NETIF_FRAGMENT, /* fragment: kept until its packet is complete, or 15 s have passed */
    /* Dropped by the interface: */
    VIRTIO_NETIF_DROPPED,
    VIRTIO_NETIF_NO_MEMORY = VIRTIO_NETIF_DROPPED, /* no_memory: the memory for copies is full */
    VIRTIO_NETIF_TOO_LONG,                         /* too_long: more than 65,535 bytes */
    VIRTIO_NETIF_VLAN,                             /* vlan: a tag of another VLAN than 0 */
    /* Dropped by lwIP: */
    VIRTIO_NETIF_TYPE,        /* type: no payload, or an EtherType or ARP type that nobody knows */
    VIRTIO_NETIF_IP_LENGTH,   /* ip_length: lengths that contradict each other */
    VIRTIO_NETIF_IP_CHECKSUM, /* ip_checksum */
    VIRTIO_NETIF_IP_PROTOCOL, /* ip_protocol: neither TCP, UDP nor ICMP */
    VIRTIO_NETIF_IP_OTHER,    /* ip_other: another destination, a wrong source, version, option */
    VIRTIO_NETIF_IP_FRAGMENT, /* ip_fragment: does not fit its packet, or too many are kept */
    VIRTIO_NETIF_ICMP_LENGTH, /* icmp_length */
    VIRTIO_NETIF_ICMP_CHECKSUM,   /* icmp_checksum */
    VIRTIO_NETIF_ICMP_OTHER,      /* icmp_other: a type that nobody knows, an echo to a group */
    VIRTIO_NETIF_UDP_LENGTH,      /* udp_length */
    VIRTIO_NETIF_UDP_CHECKSUM,    /* udp_checksum */
    VIRTIO_NETIF_UDP_NO_RECEIVER, /* udp_no_receiver: no program has this port */
    VIRTIO_NETIF_UDP_UNREAD,      /* udp_unread: the program does not read; its mailbox is full */
    VIRTIO_NETIF_TCP_LENGTH,      /* tcp_length */
    VIRTIO_NETIF_TCP_CHECKSUM,    /* tcp_checksum */
    VIRTIO_NETIF_TCP_NO_RECEIVER, /* tcp_no_receiver: no connection and no listener */
    VIRTIO_NETIF_TCP_REFUSED,     /* tcp_refused: no memory, or an attack (tcp_guard.c) */
    VIRTIO_NETIF_FATES,
};

/*
 * The received frames, each counted once: the sum of `fate` is `frames` + `reassembled`, because a
 * packet made of fragments has a fate of its own. A frame that has just been taken from the driver
 * may not be counted yet. Since the start; lwIP counts the packets of all interfaces together, so
 * those of a loopback interface are among them.
 */
struct virtio_netif_received {
    uint64_t frames;
    uint64_t reassembled;
    uint64_t fate[VIRTIO_NETIF_FATES];
};

struct virtio_netif_statistics {
    struct virtio_net_statistics driver; /* since the last restart */
    struct virtio_netif_received received;
    uint32_t rx_pool_blocks; /* with the buffers of the polled driver while it runs */
    uint32_t rx_pool_free;   /* blocks that neither the device nor lwIP has */
    uint32_t rx_pool_lowest;
    uint64_t rx_copied;       /* frames copied because few blocks were free */
    uint64_t rx_copies_bytes; /* memory in copies, now */
    uint64_t rx_dropped;      /* frames dropped because the memory for copies was used up */
    uint64_t tx_copied;       /* frames copied, see above */
    uint64_t tx_dropped;      /* frames for which no packet or no room in the send queue was free */
    uint64_t tx_packets_free; /* free packets of the fixed pool, now */
    uint64_t tx_checksums;    /* checksums left to the device */
    uint64_t tx_joined;       /* segments joined to others, for the device to segment */
    uint64_t restarts;        /* attempts to restart a device that had failed */
    uint64_t replacements;    /* those that started the polled driver */
};

/* Starts lwIP and its guards. Call it once, before any other function of lwIP, after the random
 * numbers were seeded (random.h). Thread context. */
void virtio_netif_start_lwip(void);

/*
 * Starts the driver on `device` and adds the interface to lwIP. Returns NULL on failure: *reason is
 * then a static text, the device is reset, and all memory is freed that the device does not still
 * hold (VIRTIO 1.3, 2.4.1). Takes the network lock, so the caller must not hold it. Thread context.
 */
struct virtio_netif *virtio_netif_create(struct virtio_network_device *device,
                                         const struct virtio_netif_parameters *parameters,
                                         const char **reason);

/* Sets the interface up, as the default one, with IPv6 autoconfiguration. Network lock held. */
void virtio_netif_set_up(struct virtio_netif *interface);

/* Returns lwIP's structure of the interface. */
struct netif *virtio_netif_interface(struct virtio_netif *interface);
/* Returns the name of the driver in use, or of the one that is tried next: "virtio-net" or
 * "virtio-net polled". */
const char *virtio_netif_driver(const struct virtio_netif *interface);
/* Returns the negotiated features; 0 while the device is being restarted. */
uint64_t virtio_netif_features(const struct virtio_netif *interface);
/* Returns the speed in Mb/s that the device reports; 0 if it reports none. Network lock held. */
uint32_t virtio_netif_speed(const struct virtio_netif *interface, bool *full_duplex);
/* Network lock held. */
void virtio_netif_statistics(struct virtio_netif *interface,
                             struct virtio_netif_statistics *statistics);
/* Returns the name of a fate, such as "udp_checksum". Any context. */
const char *virtio_netif_fate_name(enum virtio_netif_fate fate);

/*
 * The bypass: kernel/net/datagram.c makes and recognises frames without lwIP.
 */

/* A packet to send. The sender embeds it; release() gives it back, in any thread. */
struct virtio_netif_packet {
    struct virtio_net_packet packet; /* packet.owner is the address of this structure */
    void (*release)(struct virtio_netif_packet *packet);
};

struct virtio_netif_bypass {
    /* Called with each received frame in one buffer, before lwIP. Returns true if it takes the
     * frame; it then returns the buffer with virtio_netif_release(). */
    bool (*input)(struct virtio_net_buffer *buffer, const uint8_t *frame, size_t bytes);
    /* Called with the first piece of each frame that lwIP sends. */
    void (*output)(const uint8_t *frame, size_t bytes);
};

/* Sets the two functions. Network lock held, as when they are called. */
void virtio_netif_set_bypass(struct virtio_netif *interface,
                             const struct virtio_netif_bypass *bypass);
/* Returns a buffer that input() took. Any thread. */
void virtio_netif_release(struct virtio_net_buffer *buffer);
/* Reserves `blocks` of the receive pool for the bypass, or returns as many if negative. While only
 * reserved blocks are free, frames for lwIP are copied. Returns false if the pool has too few. Any
 * thread. */
bool virtio_netif_reserve(struct virtio_netif *interface, int blocks);
/* Sends at once. Returns false if the link is down, the device is being restarted, or the ring and
 * the send queue are full. Thread context, without the network lock. */
bool virtio_netif_transmit(struct virtio_netif *interface, struct virtio_netif_packet *packet);
/* As virtio_netif_transmit(), by the polled driver, if that is in use: a caller whose packet was
 * refused calls it. (It is apart, so that the ordinary driver's packets take no instruction more.)
 * The driver copies the packet, and release() is called before the return of true. */
bool virtio_netif_transmit_copy(struct virtio_netif *interface, struct virtio_netif_packet *packet);
/* Releases the packets that the device has sent. Context as of virtio_netif_transmit(). */
void virtio_netif_reclaim(struct virtio_netif *interface);
/* Returns true if UDP checksums may be left to the device. */
bool virtio_netif_offers_checksum(const struct virtio_netif *interface);

#endif
