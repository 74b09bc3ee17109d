/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations shared by the files of this port. */
#ifndef VIRTIO_BSDNET_PRIVATE_H
#define VIRTIO_BSDNET_PRIVATE_H

/* The stack's headers declare its internals if these are defined (machine/rtems-bsd-kernel-space.h,
 * which defines them, is not installed). */
#define _KERNEL 1
#define INET    1

#include "discovery.h"
#include "virtio_bsdnet.h"
#include <errno.h>
#include <rtems/rtems_bsdnet.h>
#include <string.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <sys/sockio.h>
#include <sys/systm.h>

#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/if_ether.h>
#include <netinet/in.h>
#include <sys/mbuf.h>

/* Bytes of the first mbuf that are copied behind the driver's header: Ethernet, IP and TCP headers,
 * and all that tcp_output() and ip_output() put into one mbuf without a cluster. */
#define HEAD_BYTES 100u

/* A frame to send. */
struct transmit {
    struct virtio_net_packet packet; /* packet.owner points to this structure */
    struct transmit *next;           /* in the list of free ones */
    struct mbuf *chain;
    uint8_t head[VIRTIO_NET_HEADER_BYTES + HEAD_BYTES];
};

/* Accessed with the network semaphore held, except for the members marked "driver lock". */
struct virtio_bsdnet {
    struct arpcom arpcom; /* first: the stack's interface */
    struct virtio_bsdnet *next;
    struct virtio_network_device device;
    struct virtio_net_parameters parameters;
    /* NULL if the device was reset. If `running` is false and this is not NULL, the device has not
     * confirmed its reset. */
    struct virtio_net *net;
    bool running;
    bool attached;
    bool ignore_broadcast;
    rtems_id bottom_half; /* 0: not created yet */
    rtems_interval retry; /* ticks until the next attempt to start the device */
    uint64_t started;     /* time of the last start, ns */
    uint32_t restarts;
    const char *reported; /* last reported reason of a failed start */

    /* Clusters for the interrupt handler; driver lock. */
    struct virtio_net_buffer *ready;
    unsigned ready_count;
    unsigned set_aside; /* target of ready_count */
    bool dry;           /* the interrupt handler found none */

    struct transmit *packets; /* parameters.tx_ring of them */
    struct transmit *free;
};

/* device.c: starts the device unless it runs. Returns false if it cannot be started now. */
bool device_start(struct virtio_bsdnet *interface);
/* Stops the device and takes its buffers back. Returns false if it has not confirmed the reset;
 * call it again then. */
bool device_stop(struct virtio_bsdnet *interface);
/* Reports the link state to the stack, and announces the addresses if the device asks for it. */
void device_update_link(struct virtio_bsdnet *interface);

/* bottom_half.c: creates the task. */
void bottom_half_start(struct virtio_bsdnet *interface);
/* Signals the task. Any context. */
void bottom_half_wake(void *interface);

/* control.c: the interface's if_ioctl function. */
int control_command(struct ifnet *ifp, ioctl_command_t command, caddr_t data);
/* Writes the receive filters to the device, after each start. */
void control_filter(struct virtio_bsdnet *interface);

/* receive.c: the driver's operations (virtio/net.h). */
struct virtio_net_buffer *receive_take(void *context);
void receive_return(void *context, struct virtio_net_buffer *buffer);
/* Returns an mbuf with a cluster, or NULL. */
struct mbuf *receive_cluster(void);
/* Provides at least `count` clusters for the interrupt handler, as far as the stack has them. */
void receive_fill(struct virtio_bsdnet *interface, unsigned count);
/* Frees the clusters of the interrupt handler. After the interrupt was disconnected. */
void receive_empty(struct virtio_bsdnet *interface);
/* Passes the received frames to the stack. */
void receive_batch(struct virtio_bsdnet *interface);

/* transmit.c: the interface's if_start function. */
void transmit_start(struct ifnet *ifp);
/* Frees the packets that the driver returns. */
void transmit_take_back(struct virtio_bsdnet *interface);

#endif
