/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of this port share. */
#ifndef VIRTIO_BSDNET_PRIVATE_H
#define VIRTIO_BSDNET_PRIVATE_H

/* The stack's headers show what is inside to those who define these (its own
 * machine/rtems-bsd-kernel-space.h is not installed). */
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

/* Of a first mbuf as much is copied to lie behind the driver's header: Ethernet, IP and TCP
 * headers with all that tcp_output() and ip_output() put into one mbuf without a cluster. */
#define HEAD_BYTES 100u

/* A frame to send. */
struct transmit {
    struct virtio_net_packet packet; /* `owner` is this */
    struct transmit *next;           /* free ones */
    struct mbuf *chain;
    uint8_t head[VIRTIO_NET_HEADER_BYTES + HEAD_BYTES];
};

/* Owned by whoever holds the network's semaphore, but for `ready` and what is marked. */
struct virtio_bsdnet {
    struct arpcom arpcom; /* first: the stack's interface */
    struct virtio_bsdnet *next;
    struct virtio_network_device device;
    struct virtio_net_parameters parameters;
    struct virtio_net *net; /* NULL: none; not `running`: the device has yet to confirm a reset */
    bool running;
    bool attached;
    bool ignore_broadcast;
    rtems_id bottom_half; /* 0: not created yet */
    rtems_interval retry; /* ticks before the next attempt to start the device */
    uint64_t started;     /* when it was, last */
    uint32_t restarts;
    const char *reported; /* why it did not start, last */

    /* Clusters for the interrupt handler; under the driver's lock. */
    struct virtio_net_buffer *ready;
    unsigned ready_count;
    unsigned set_aside; /* so many are to be ready */
    bool dry;           /* it found none */

    struct transmit *packets; /* parameters.tx_ring of them */
    struct transmit *free;
};

/* device.c: makes the device work, if it does not yet; false: it can't be started now. */
bool device_start(struct virtio_bsdnet *interface);
/* Takes back all that the device has. False: it has not confirmed the reset, to be called again. */
bool device_stop(struct virtio_bsdnet *interface);
/* Tells the stack whether there is a link, and the network its addresses if the device asks. */
void device_look_at_link(struct virtio_bsdnet *interface);

/* bottom_half.c: makes the task, */
void bottom_half_start(struct virtio_bsdnet *interface);
/* and signals it, from the interrupt handler too. */
void bottom_half_wake(void *interface);

/* control.c: if_ioctl, and what the device is to let through, told after each start. */
int control_command(struct ifnet *ifp, ioctl_command_t command, caddr_t data);
void control_filter(struct virtio_bsdnet *interface);

/* receive.c: the driver's operations, */
struct virtio_net_buffer *receive_take(void *context);
void receive_return(void *context, struct virtio_net_buffer *buffer);
/* an mbuf with a cluster, or NULL, */
struct mbuf *receive_cluster(void);
/* so many clusters at least for the interrupt handler, if there are; or none, */
void receive_fill(struct virtio_bsdnet *interface, unsigned count);
void receive_empty(struct virtio_bsdnet *interface);
/* and a batch of frames for the stack. */
void receive_batch(struct virtio_bsdnet *interface);

/* transmit.c: if_start, and what comes back. */
void transmit_start(struct ifnet *ifp);
void transmit_take_back(struct virtio_bsdnet *interface);

#endif
