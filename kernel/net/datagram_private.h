/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations shared by datagram.c (endpoints) and datagram_path.c (datagrams). */
#ifndef NET_DATAGRAM_PRIVATE_H
#define NET_DATAGRAM_PRIVATE_H

#include "kernel/datagram.h"
#include "kernel/memory.h"
#include "kernel/sync.h"
#include "lwip/udp.h"
#include "net/datagram_flow.h"
#include "virtio_netif.h"
#include <stdbool.h>

/* A datagram to send. The headers end where the payload begins. */
struct send_buffer {
    struct virtio_netif_packet packet;
    struct datagram *datagram;
    uint8_t headers[VIRTIO_NET_HEADER_BYTES + DATAGRAM_HEADERS_MAX + 6]; /* a multiple of 8 */
    uint8_t payload[];
};

/* A received datagram that no thread has taken yet: in a pbuf of lwIP, or in the device's buffer.
 */
struct arrival {
    struct pbuf *pbuf; /* NULL: the datagram is in `buffer` */
    struct virtio_net_buffer *buffer;
    const uint8_t *payload; /* in `buffer` */
    size_t bytes;
    bool checked; /* the UDP checksum was verified */
};

struct datagram {
    struct datagram *next;
    struct virtio_netif *interface;
    struct udp_pcb *pcb;
    bool ipv6;
    size_t bytes_max;
    struct datagram_statistics statistics;

    struct datagram_headers headers; /* used by the sending thread; set while lwIP sends for it */
    volatile bool headers_stale;
    struct pool send_buffers;
    struct semaphore returned; /* posted while `waiting` */
    volatile bool waiting;
    bool closed; /* the return of the last send buffer frees the endpoint; interrupts masked */
    void *send_memory;
    size_t send_pages;

    struct datagram_key key; /* protected by the network's lock, as is key_stale */
    bool key_stale;
    struct arrival *arrivals; /* a ring; its size is a power of two; interrupts masked */
    uint32_t first_arrival;
    uint32_t end_of_arrivals;
    uint32_t arrivals_mask;
    uint16_t receive_buffers; /* maximum number of datagrams in the ring */
    bool receiving;           /* a thread waits for `arrived` */
    struct semaphore arrived;
};

/* Returns the first open endpoint; the others follow by `next`. Network lock held. */
struct datagram *datagram_first(void);

/* The functions that the port calls for each frame. */
extern const struct virtio_netif_bypass datagram_bypass;
/* lwIP's callback for a datagram that it received for an endpoint. */
void datagram_received_by_stack(void *argument, struct udp_pcb *pcb, struct pbuf *payload,
                                const ip_addr_t *address, u16_t port);
enum result datagram_result(err_t error);
/* Releases the datagrams that wait to be received, then waits until the device has returned every
 * send buffer, 100 ms at most. The endpoint is closed: no datagram arrives or is sent. Thread
 * context. */
void datagram_drain(struct datagram *datagram);
/* Frees the endpoint's memory. No send buffer is with the device. Thread context. */
void datagram_free(struct datagram *datagram);

#endif
