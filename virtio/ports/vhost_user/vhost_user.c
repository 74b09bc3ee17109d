/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection to the back-end: set-up, supervision, end. */
#define _GNU_SOURCE /* accept4, preadv2 */
#include "clock.h"
#include "vhost_user_private.h"
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define NANOSECONDS_PER_MILLISECOND UINT64_C(1000000)

#define TIMEOUT_MS_DEFAULT 2000u
#define RETRY_MS           10u

#define PROTOCOL_FEATURES_KNOWN                                                           \
    (PROTOCOL_F_MQ | PROTOCOL_F_REPLY_ACK | PROTOCOL_F_NET_MTU | PROTOCOL_F_BACKEND_REQ | \
     PROTOCOL_F_CONFIG | PROTOCOL_F_RESET_DEVICE | PROTOCOL_F_STATUS)

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
    (void)unlink(address->sun_path); /* the socket of an earlier server */
    if (bind(listener, (const struct sockaddr *)address, sizeof(*address)) != 0 ||
        listen(listener, 1) != 0) {
        close(listener);
        return -1;
    }
    return listener;
}

bool vhost_user_listen_to(const struct vhost_user *vhost, int descriptor)
{
    struct epoll_event readable = {.events = EPOLLIN};

    return epoll_ctl(vhost->vectors[0], EPOLL_CTL_ADD, descriptor, &readable) == 0;
}

void vhost_user_forget(const struct vhost_user *vhost, int descriptor)
{
    if (descriptor >= 0) {
        (void)epoll_ctl(vhost->vectors[0], EPOLL_CTL_DEL, descriptor, NULL);
    }
}

bool vhost_user_drain(int descriptor)
{
    uint64_t count;
    struct iovec whole = {.iov_base = &count, .iov_len = sizeof(count)};

    return preadv2(descriptor, &whole, 1, -1, RWF_NOWAIT) > 0;
}

static bool open_vectors(struct vhost_user *vhost)
{
    vhost->vectors[0] = epoll_create1(EPOLL_CLOEXEC);
    vhost->news = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (vhost->vectors[0] < 0 || vhost->news < 0 || !vhost_user_listen_to(vhost, vhost->news)) {
        return false;
    }
    for (unsigned i = 1; i < vhost->transport.vectors; i++) {
        vhost->vectors[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (vhost->vectors[i] < 0) {
            return false;
        }
    }
    return true;
}

static void set_options(struct vhost_user *vhost, const struct vhost_user_options *options)
{
    vhost->options = *options;
    if (options->timeout_ms == 0) {
        vhost->options.timeout_ms = TIMEOUT_MS_DEFAULT;
    }
    if (options->queue_pairs == 0) {
        vhost->options.queue_pairs = 1;
    }
    if (options->queue_pairs > VIRTIO_NET_PAIRS_MAX) {
        vhost->options.queue_pairs = VIRTIO_NET_PAIRS_MAX;
    }
    vhost->transport.vectors = (uint16_t)(1 + 2 * vhost->options.queue_pairs);
}

bool vhost_user_open(struct vhost_user *vhost, const struct vhost_user_options *options,
                     const char **reason)
{
    struct sockaddr_un address;

    *vhost = (struct vhost_user){
        .transport = {.operations = &vhost_user_operations,
                      .device_type = VIRTIO_DEVICE_NETWORK,
                      .config_bytes = VHOST_USER_CONFIG_BYTES,
                      .enabled_queues_used = true},
        .channel = {.socket = -1, .requests = {.socket = -1}},
        .listener = -1,
        .news = -1,
    };
    for (unsigned i = 0; i < VHOST_USER_QUEUES_MAX; i++) {
        vhost->queues[i] = (struct vhost_user_queue){.kick = -1, .error = -1};
    }
    for (unsigned i = 0; i < VHOST_USER_VECTORS_MAX; i++) {
        vhost->vectors[i] = -1;
    }
    set_options(vhost, options);
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
    for (unsigned i = 0; i < VHOST_USER_QUEUES_MAX; i++) {
        close_descriptor(&vhost->queues[i].kick);
        close_descriptor(&vhost->queues[i].error);
    }
    for (unsigned i = 0; i < VHOST_USER_VECTORS_MAX; i++) {
        close_descriptor(&vhost->vectors[i]);
    }
    close_descriptor(&vhost->news);
    if (vhost->listener >= 0) {
        (void)unlink(vhost->options.path);
        close_descriptor(&vhost->listener);
    }
}

/* Returns a connected socket, -1 if no back-end is present now. */
static int connect_socket(const struct vhost_user *vhost)
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

/* Creates the back-end's request channel and sends its end to the back-end. */
static bool send_request_channel(struct vhost_user *vhost)
{
    struct vhost_user_channel *channel = &vhost->channel;
    int back_ends = requests_open(&channel->requests, vhost->news, channel->acknowledged,
                                  vhost_user_negotiated(vhost, PROTOCOL_F_CONFIG));
    bool given;

    if (back_ends < 0 || !vhost_user_listen_to(vhost, channel->requests.socket)) {
        (void)channel_break(channel, "no descriptors left");
    }
    given = channel_tell(channel, REQUEST_SET_BACKEND_REQ_FD, NULL, 0, back_ends);
    close_descriptor(&back_ends);
    return given;
}

static bool negotiate_protocol(struct vhost_user *vhost)
{
    if ((vhost->features & VHOST_USER_F_PROTOCOL_FEATURES) == 0) {
        return true;
    }
    if (!ask_number(vhost, REQUEST_GET_PROTOCOL_FEATURES, &vhost->protocol_features)) {
        return false;
    }
    vhost->protocol_features &= PROTOCOL_FEATURES_KNOWN;
    if (!channel_tell_number(&vhost->channel, REQUEST_SET_PROTOCOL_FEATURES,
                             vhost->protocol_features, CHANNEL_NO_DESCRIPTOR)) {
        return false;
    }
    vhost->channel.acknowledged = vhost_user_negotiated(vhost, PROTOCOL_F_REPLY_ACK);
    return !vhost_user_negotiated(vhost, PROTOCOL_F_BACKEND_REQ) || send_request_channel(vhost);
}

/* Negotiates the protocol features and the number of queues, before virtio's negotiation. */
static bool negotiate(struct vhost_user *vhost)
{
    uint64_t pairs = 1;

    vhost->features = 0;
    vhost->protocol_features = 0;
    if (!channel_tell(&vhost->channel, REQUEST_SET_OWNER, NULL, 0, CHANNEL_NO_DESCRIPTOR) ||
        !ask_number(vhost, REQUEST_GET_FEATURES, &vhost->features) || !negotiate_protocol(vhost)) {
        return false;
    }
    /* For a network device this is the number of queue pairs. */
    if (vhost_user_negotiated(vhost, PROTOCOL_F_MQ) &&
        !ask_number(vhost, REQUEST_GET_QUEUE_NUM, &pairs)) {
        return false;
    }
    if (pairs > 1 && (vhost->features & VIRTIO_NET_F_MQ) == 0) {
        pairs = 1;
    }
    vhost->queue_count =
        (uint16_t)(2 * (pairs < vhost->options.queue_pairs ? pairs : vhost->options.queue_pairs));
    return true;
}

static bool try_to_connect(struct vhost_user *vhost)
{
    int descriptor = connect_socket(vhost);

    if (descriptor < 0) {
        return false;
    }
    channel_open(&vhost->channel, descriptor, vhost->options.timeout_ms);
    vhost->loss_told = false;
    if (!vhost_user_listen_to(vhost, descriptor)) {
        return channel_break(&vhost->channel, "no descriptors left");
    }
    return negotiate(vhost);
}

bool vhost_user_connect(struct vhost_user *vhost, unsigned wait_ms)
{
    uint64_t deadline = virtio_platform_now() + wait_ms * NANOSECONDS_PER_MILLISECOND;

    while (!vhost_user_sound(vhost)) {
        if (vhost->transport.queues != 0) { /* the old back-end may still use them: reset first */
            return false;
        }
        channel_close(&vhost->channel);
        if (!try_to_connect(vhost)) {
            if (virtio_platform_now() >= deadline) {
                return false;
            }
            (void)vhost_user_wait(NULL, 0,
                                  virtio_platform_now() + RETRY_MS * NANOSECONDS_PER_MILLISECOND);
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
    (void)vhost_user_drain(vhost->vectors[vector]);
}

/* Returns true once after the connection broke. Its descriptors leave the epoll set, because vector
 * 0 would stay readable. */
static bool report_loss(struct vhost_user *vhost)
{
    if (vhost->channel.broken == NULL || vhost->loss_told) {
        return false;
    }
    vhost_user_forget(vhost, vhost->channel.socket);
    requests_close(&vhost->channel.requests);
    vhost->loss_told = true;
    return true;
}

/* Returns true once after the back-end reported an error of a queue (VHOST_USER_SET_VRING_ERR),
 * until the reset. */
static bool queue_failed(struct vhost_user *vhost)
{
    bool failed = false;

    if (vhost->queue_failed) {
        return false;
    }
    for (unsigned i = 0; i < vhost->queue_count; i++) {
        failed =
            (vhost->queues[i].error >= 0 && vhost_user_drain(vhost->queues[i].error)) || failed;
    }
    for (unsigned i = 0; failed && i < vhost->queue_count; i++) {
        vhost_user_forget(vhost, vhost->queues[i].error);
    }
    vhost->queue_failed = failed;
    return failed;
}

bool vhost_user_service(struct vhost_user *vhost)
{
    bool changed;
    bool failed;

    if (vhost_user_sound(vhost)) {
        (void)channel_look(&vhost->channel);
    }
    (void)vhost_user_drain(vhost->news); /* before the counters that it announces are read */
    failed = queue_failed(vhost);
    changed = vhost->channel.requests.changes != vhost->changes_told;
    vhost->changes_told = vhost->channel.requests.changes;
    return report_loss(vhost) || failed || changed;
}

const char *vhost_user_lost(const struct vhost_user *vhost)
{
    if (vhost->channel.broken == NULL && vhost->queue_failed) {
        return "the back-end reports an error of a queue";
    }
    return vhost->channel.broken;
}
