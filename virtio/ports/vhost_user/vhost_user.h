/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A vhost-user front-end: the driver library in a Linux process, its device in another process
 * (QEMU, docs/interop/vhost-user.rst). The back-end accesses the memory of memory.h, which must be
 * open before any function here is called. All addresses sent to the back-end are addresses of this
 * process.
 *
 * Notifications are eventfds in both directions. If driver and back-end both poll, neither requests
 * notifications, and no system call is made while packets flow.
 *
 * The back-end is not trusted. If it closes the connection, does not answer in time or answers
 * wrongly, the device shows the status bit NEEDS_RESET. The next reset ends the connection, and the
 * driver's next start, with ACKNOWLEDGE, makes a new one. A back-end that has closed the connection
 * no longer uses the memory. A reset is complete only when the back-end has closed the connection,
 * or has answered that it has stopped each queue.
 *
 * In this protocol the front-end provides the configuration, unless the back-end offers to
 * (protocol feature CONFIG): MAC and MTU as given here, link up while a back-end is connected. A
 * back-end that provides the configuration reports changes on its own channel (BACKEND_REQ).
 *
 * Queue pairs: all pairs that the driver sets up are used. There is no control queue, because in
 * this protocol the front-end would have to implement it and translate its commands to messages.
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

/* Vector 0: call vhost_user_service(). Vector 1 + i: queue i. */
#define VHOST_USER_VECTORS_MAX (1 + VHOST_USER_QUEUES_MAX)

struct vhost_user_options {
    const char *path;     /* path of the socket */
    bool server;          /* listen on the socket; otherwise connect to it */
    uint8_t mac[6];       /* all zero: the device has no MAC address */
    uint16_t mtu;         /* 0: the device has no MTU */
    uint16_t queue_pairs; /* maximum number of queue pairs; 0: 1; at most VIRTIO_NET_PAIRS_MAX. The
                             device has as many as the back-end */
    unsigned timeout_ms;  /* for each answer of the back-end; 0: 2000 */
};

struct vhost_user_queue {
    int kick;  /* eventfd, or -1 while the queue is not set up */
    int error; /* the same; the back-end writes to it when the queue has failed */
    bool started;
};

/* The caller provides the memory; the fields are private. */
struct vhost_user {
    struct virtio_transport transport;
    struct vhost_user_options options;
    struct vhost_user_channel channel;
    int listener;                        /* -1: none */
    int vectors[VHOST_USER_VECTORS_MAX]; /* an epoll descriptor, then eventfds */
    int news;                            /* eventfd in vector 0's epoll set: call service() */
    uint64_t features;                   /* offered by the back-end */
    uint64_t protocol_features;          /* negotiated */
    uint64_t driver_features;            /* accepted by the driver */
    uint16_t queue_count;                /* number of queues of the device */
    uint8_t status;                      /* as set by the driver */
    bool queue_failed;                   /* reported by the back-end; until the reset */
    bool loss_told;                      /* the broken connection was reported */
    uint32_t changes_told;               /* value of channel.requests.changes last reported */
    uint32_t generation;                 /* of the configuration as last read: */
    uint8_t config[VHOST_USER_CONFIG_BYTES];
    struct vhost_user_queue queues[VHOST_USER_QUEUES_MAX];
};

/* Prepares the transport and, as a server, listens on the socket. options->path must stay valid.
 * Returns false and sets *reason on failure, with everything undone. */
bool vhost_user_open(struct vhost_user *vhost, const struct vhost_user_options *options,
                     const char **reason);
/* Ends the connection and frees all resources. Call it after the driver was stopped and freed. */
void vhost_user_close(struct vhost_user *vhost);

/* Connects if there is no connection, and waits at most `wait_ms` for the back-end. Returns false
 * if there is no connection. Optional: virtio_net_create() connects too, or fails at once. */
bool vhost_user_connect(struct vhost_user *vhost, unsigned wait_ms);

/* Returns the descriptor that is readable while the vector's interrupt is pending. `vector` <
 * transport.vectors. */
int vhost_user_vector(const struct vhost_user *vhost, unsigned vector);
/* Makes the descriptor of vector 1 or higher unreadable, before its interrupt handler runs. */
void vhost_user_acknowledge(struct vhost_user *vhost, unsigned vector);
/*
 * Checks the connection and answers the back-end's requests. Call it for vector 0; a program that
 * polls calls it now and then. Returns true once for each lost connection, failed queue or change
 * of the configuration; then call virtio_net_configuration_interrupt().
 */
bool vhost_user_service(struct vhost_user *vhost);

/* Returns the reason why the connection is broken or the device needs a reset; NULL if neither is
 * so. */
const char *vhost_user_lost(const struct vhost_user *vhost);

#endif
