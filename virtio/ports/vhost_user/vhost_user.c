/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection to the back-end: made, watched, and given up. */
#define _GNU_SOURCE /* accept4 */
#include "vhost_user_private.h"
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define NANOSECONDS_PER_MILLISECOND UINT64_C(1000000)

#define TIMEOUT_MS_DEFAULT 2000u
#define RETRY_MS           10

#define PROTOCOL_FEATURES_KNOWN                                                      \
    (PROTOCOL_F_MQ | PROTOCOL_F_REPLY_ACK | PROTOCOL_F_NET_MTU | PROTOCOL_F_CONFIG | \
     PROTOCOL_F_RESET_DEVICE | PROTOCOL_F_STATUS)

static bool socket_address(struct sockaddr_un *address, const char *path)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address->sun_path)) {
        return false;
    }
    memcpy(address->sun_path, path, strlen(path));
    return true;
}

static int begin_to_listen(const struct sockaddr_un *address)
{
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (listener < 0) {
        return -1;
    }
    (void)unlink(address->sun_path); /* what an earlier server left behind */
    if (bind(listener, (const struct sockaddr *)address, sizeof(*address)) != 0 ||
        listen(listener, 1) != 0) {
        close(listener);
        return -1;
    }
    return listener;
}

static bool open_vectors(struct vhost_user *vhost)
{
    vhost->vectors[0] = epoll_create1(EPOLL_CLOEXEC);
    for (unsigned i = 1; i < VHOST_USER_VECTORS; i++) {
        vhost->vectors[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    }
    for (unsigned i = 0; i < VHOST_USER_VECTORS; i++) {
        if (vhost->vectors[i] < 0) {
            return false;
        }
    }
    return true;
}

bool vhost_user_open(struct vhost_user *vhost, const struct vhost_user_options *options,
                     const char **reason)
{
    struct sockaddr_un address;

    *vhost = (struct vhost_user){
        .transport = {.operations = &vhost_user_operations,
                      .device_type = VIRTIO_DEVICE_NETWORK,
                      .vectors = VHOST_USER_VECTORS,
                      .config_bytes = VHOST_USER_CONFIG_BYTES},
        .options = *options,
        .channel = {.socket = -1},
        .listener = -1,
        .vectors = {-1, -1, -1},
        .queues = {{.kick = -1}, {.kick = -1}},
    };
    if (options->timeout_ms == 0) {
        vhost->options.timeout_ms = TIMEOUT_MS_DEFAULT;
    }
    *reason = "no descriptors left";
    if (!open_vectors(vhost)) {
        vhost_user_close(vhost);
        return false;
    }
    *reason = "the socket's path is too long, or nothing can be created there";
    if (socket_address(&address, options->path)) {
        vhost->listener = options->server ? begin_to_listen(&address) : -1;
        if (!options->server || vhost->listener >= 0) {
            return true;
        }
    }
    vhost_user_close(vhost);
    return false;
}

static void close_descriptor(int *descriptor)
{
    if (*descriptor >= 0) {
        close(*descriptor);
        *descriptor = -1;
    }
}

void vhost_user_close(struct vhost_user *vhost)
{
    channel_close(&vhost->channel);
    for (unsigned i = 0; i < VHOST_USER_QUEUES; i++) {
        close_descriptor(&vhost->queues[i].kick);
    }
    for (unsigned i = 0; i < VHOST_USER_VECTORS; i++) {
        close_descriptor(&vhost->vectors[i]);
    }
    if (vhost->listener >= 0) {
        (void)unlink(vhost->options.path);
        close_descriptor(&vhost->listener);
    }
}

/* A connected socket, or -1 if the other side is not there now. */
static int reach(const struct vhost_user *vhost)
{
    struct sockaddr_un address;
    int descriptor;

    if (vhost->listener >= 0) {
        return accept4(vhost->listener, NULL, NULL, SOCK_CLOEXEC);
    }
    descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor >= 0 &&
        (!socket_address(&address, vhost->options.path) ||
         connect(descriptor, (struct sockaddr *)&address, sizeof(address)) != 0)) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

static bool ask_number(struct vhost_user *vhost, uint32_t request, uint64_t *number)
{
    return channel_ask(&vhost->channel, request, NULL, 0, number, sizeof(*number));
}

static bool tell_number(struct vhost_user *vhost, uint32_t request, uint64_t number)
{
    return channel_tell(&vhost->channel, request, &number, sizeof(number), CHANNEL_NO_DESCRIPTOR);
}

/* What both sides know of the protocol, before anything about virtio. */
static bool agree(struct vhost_user *vhost)
{
    uint64_t pairs = 1;

    vhost->protocol_features = 0;
    if (!channel_tell(&vhost->channel, REQUEST_SET_OWNER, NULL, 0, CHANNEL_NO_DESCRIPTOR) ||
        !ask_number(vhost, REQUEST_GET_FEATURES, &vhost->features)) {
        return false;
    }
    if ((vhost->features & VHOST_USER_F_PROTOCOL_FEATURES) != 0) {
        if (!ask_number(vhost, REQUEST_GET_PROTOCOL_FEATURES, &vhost->protocol_features)) {
            return false;
        }
        vhost->protocol_features &= PROTOCOL_FEATURES_KNOWN;
        if (!tell_number(vhost, REQUEST_SET_PROTOCOL_FEATURES, vhost->protocol_features)) {
            return false;
        }
        vhost->channel.acknowledged = vhost_user_negotiated(vhost, PROTOCOL_F_REPLY_ACK);
    }
    /* For a network device the number is that of queue pairs. */
    if (vhost_user_negotiated(vhost, PROTOCOL_F_MQ) &&
        !ask_number(vhost, REQUEST_GET_QUEUE_NUM, &pairs)) {
        return false;
    }
    vhost->queue_count = pairs >= 1 ? VHOST_USER_QUEUES : 0;
    return true;
}

static bool try_to_connect(struct vhost_user *vhost)
{
    struct epoll_event readable = {.events = EPOLLIN};
    int descriptor = reach(vhost);

    if (descriptor < 0) {
        return false;
    }
    channel_open(&vhost->channel, descriptor, vhost->options.timeout_ms);
    /* Closing the socket ends this too. */
    (void)epoll_ctl(vhost->vectors[0], EPOLL_CTL_ADD, descriptor, &readable);
    vhost->generation++;
    return agree(vhost);
}

bool vhost_user_connect(struct vhost_user *vhost, unsigned wait_ms)
{
    uint64_t deadline = virtio_platform_now() + wait_ms * NANOSECONDS_PER_MILLISECOND;

    while (!vhost_user_sound(vhost)) {
        if (vhost->transport.queues != 0) { /* a lost back-end may still use them: reset first */
            return false;
        }
        channel_close(&vhost->channel);
        if (!try_to_connect(vhost)) {
            if (virtio_platform_now() >= deadline) {
                return false;
            }
            (void)poll(NULL, 0, RETRY_MS);
        }
    }
    return true;
}

int vhost_user_vector(const struct vhost_user *vhost, unsigned vector)
{
    return vhost->vectors[vector];
}

void vhost_user_acknowledge(struct vhost_user *vhost, unsigned vector)
{
    uint64_t count;
    ssize_t bytes = read(vhost->vectors[vector], &count, sizeof(count));

    (void)bytes; /* nothing there: another vector's, or already acknowledged */
}

bool vhost_user_service(struct vhost_user *vhost)
{
    if (!vhost_user_sound(vhost) || channel_silent(&vhost->channel)) {
        return false;
    }
    if (vhost->channel.socket >= 0) {
        (void)epoll_ctl(vhost->vectors[0], EPOLL_CTL_DEL, vhost->channel.socket, NULL);
    }
    vhost->generation++;
    return true;
}

const char *vhost_user_lost(const struct vhost_user *vhost)
{
    return vhost->channel.broken;
}
