/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A vhost-user front-end: the driver library in a Linux process, its device in another one (QEMU,
 * docs/interop/vhost-user.rst). The back-end reads and writes the memory of memory.h, which must be
 * open before anything here is called; all addresses given to it are this process's own.
 *
 * Notifications are eventfds in both directions. A driver that polls asks for none, and a back-end
 * that polls asks for none either: then no system call is made while packets flow.
 *
 * The back-end is not trusted. One that hangs up, falls silent or answers wrongly leaves the device
 * with the status bit NEEDS_RESET; the next reset ends the connection, and the one after that which
 * begins again with ACKNOWLEDGE makes a new one. A back-end that hangs up has let go of the memory.
 * One that is still there must hang up, or answer that it has stopped each queue, before a reset
 * counts as complete.
 *
 * The configuration is the front-end's business in this protocol, unless the back-end offers to
 * keep it (protocol feature CONFIG): MAC and MTU as given here, link up while there is a back-end.
 * A back-end that keeps it tells of changes by its own channel (BACKEND_REQ).
 *
 * Queue pairs: all that the driver sets up are used. There is no control queue, because in this
 * protocol it would be the front-end's too, and what it is to tell the back-end is a message.
 *
 * Thread context, one caller at a time, as for every transport.
 */
#ifndef VHOST_USER_VHOST_USER_H
#define VHOST_USER_VHOST_USER_H

#include "channel.h"
#include "protocol.h"
#include "virtio/net.h"
#include "virtio/transport.h"
#include <stdbool.h>
#include <stdint.h>

#define VHOST_USER_QUEUES_MAX (2 * VIRTIO_NET_PAIRS_MAX)

/* Vector 0 says that the device wants attention, 1 + i is queue i's. */
#define VHOST_USER_VECTORS_MAX (1 + VHOST_USER_QUEUES_MAX)

struct vhost_user_options {
    const char *path;     /* of the socket */
    bool server;          /* listen there; else the back-end does */
    uint8_t mac[6];       /* all zero: the device has none */
    uint16_t mtu;         /* 0: the device has none */
    uint16_t queue_pairs; /* that the device has, if the back-end has as many; 0: 1; at most
                             VIRTIO_NET_PAIRS_MAX */
    unsigned timeout_ms;  /* for each answer of the back-end; 0: 2000 */
};

struct vhost_user_queue {
    int kick;  /* eventfd, or -1 while the queue is not set up */
    int error; /* the same; the back-end's to tell that the queue is of no use any more */
    bool started;
};

/* The caller provides the memory; the fields are this port's. */
struct vhost_user {
    struct virtio_transport transport;
    struct vhost_user_options options;
    struct vhost_user_channel channel;
    int listener;                        /* -1: none */
    int vectors[VHOST_USER_VECTORS_MAX]; /* eventfds, but the first is an epoll descriptor */
    int news;                            /* eventfd: vector 0 tells, and service() knows what */
    uint64_t features;                   /* the back-end's offer */
    uint64_t protocol_features;          /* negotiated */
    uint64_t driver_features;            /* accepted by the driver */
    uint16_t queue_count;                /* that the device has */
    uint8_t status;                      /* as set by the driver */
    bool queue_failed;                   /* the back-end says so; until the reset */
    bool loss_told;                      /* that the connection is broken */
    uint32_t changes_told;               /* of channel.requests.changes */
    uint32_t generation;                 /* of the configuration, as last read: */
    uint8_t config[VHOST_USER_CONFIG_BYTES];
    struct vhost_user_queue queues[VHOST_USER_QUEUES_MAX];
};

/* Prepares the transport and, as a server, begins to listen. The path must stay valid. False:
 * *reason says why not, and nothing is left behind. */
bool vhost_user_open(struct vhost_user *vhost, const struct vhost_user_options *options,
                     const char **reason);
/* The driver is stopped and freed. */
void vhost_user_close(struct vhost_user *vhost);

/* Makes a connection if there is none, waiting at most this long for the other side to come up.
 * False: there is none. Not needed before virtio_net_create(), which makes one or fails at once. */
bool vhost_user_connect(struct vhost_user *vhost, unsigned wait_ms);

/* A descriptor that becomes readable when the vector's interrupt is due, < transport.vectors. */
int vhost_user_vector(const struct vhost_user *vhost, unsigned vector);
/* Before the interrupt handler of vector 1 or higher runs: makes the descriptor unreadable again.
 */
void vhost_user_acknowledge(struct vhost_user *vhost, unsigned vector);
/*
 * For vector 0, and now and then for who polls: looks after the back-end, and answers what it asks.
 * True, once for each: it is lost, it reports an error of a queue, or it has changed the
 * configuration; run virtio_net_configuration_interrupt().
 */
bool vhost_user_service(struct vhost_user *vhost);

/* NULL, or why the back-end is lost or the device needs its reset. */
const char *vhost_user_lost(const struct vhost_user *vhost);

#endif
