/* SPDX-License-Identifier: BSD-2-Clause */
#include "tap.h"

#include "problem.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define DEVICE "/dev/net/tun"

/* A frame of clients: the parts of a chain, and what the switch puts in front. */
#define PIECES_MAX (DEVICE_QUEUE_SIZE_MAX + 8u)

static bool open_interface(struct tap *tap, char *problem)
{
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};

    memcpy(request.ifr_name, tap->name, sizeof(request.ifr_name));
    tap->file = open(DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (tap->file < 0) {
        return problem_set(problem, DEVICE " can't be opened: %s: modprobe tun, and be root",
                           strerror(errno));
    }
    if (ioctl(tap->file, TUNSETIFF, &request) != 0) {
        return problem_set(problem, "the tap interface %s can't be opened: %s%s", tap->name,
                           strerror(errno),
                           errno == EBUSY    ? ": another process uses it"
                           : errno == EINVAL ? ": an interface of another kind has the name"
                                             : "");
    }
    /* Frames to us may have incomplete checksums and several TCP segments. */
    if (ioctl(tap->file, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6) != 0 ||
        ioctl(tap->file, TUNSETPERSIST, 1) != 0) {
        return problem_set(problem, "the tap interface %s can't be set up: %s", tap->name,
                           strerror(errno));
    }
    return true;
}

static bool open_events(struct tap *tap, char *problem)
{
    const struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};

    tap->events = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
    return (tap->events >= 0 &&
            bind(tap->events, (const struct sockaddr *)&address, sizeof(address)) == 0) ||
           problem_set(problem, "events of network interfaces can't be received: %s",
                       strerror(errno));
}

bool tap_open(struct tap *tap, const char *name, char *problem)
{
    size_t length = strlen(name);

    if (length == 0 || length >= sizeof(tap->name)) {
        return problem_set(problem, "the name of the tap interface has to have 1 to %u letters",
                           IFNAMSIZ - 1);
    }
    memset(tap, 0, sizeof(*tap));
    memcpy(tap->name, name, length);
    if (!open_interface(tap, problem) || !open_events(tap, problem)) {
        return false;
    }
    tap_look(tap);
    return true;
}

/* Returns true if the interface is up and has a carrier. IFF_RUNNING would follow the carrier with
 * a delay, and tell clients that the link is down whenever the program is started again. */
static bool has_carrier(const struct tap *tap)
{
    char path[64];
    char carrier = '0';
    int file;

    (void)snprintf(path, sizeof(path), "/sys/class/net/%s/carrier", tap->name);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    /* Fails for an interface that is not up (Linux: Documentation/ABI/testing/sysfs-class-net). */
    if (read(file, &carrier, 1) != 1) {
        carrier = '0';
    }
    close(file);
    return carrier == '1';
}

void tap_look(struct tap *tap)
{
    uint8_t discarded[4096]; /* of one event, as much as has room */

    while (recv(tap->events, discarded, sizeof(discarded), 0) > 0 || errno == ENOBUFS) {
        errno = 0;
    }
    tap->is_up = has_carrier(tap);
}

/* Returns true if the header is one that was asked for. */
static bool has_valid_header(const struct virtio_net_hdr *header, size_t frame_bytes)
{
    bool is_partial = (header->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) != 0;

    switch (header->gso_type) {
    case VIRTIO_NET_HDR_GSO_NONE:
        break;
    case VIRTIO_NET_HDR_GSO_TCPV4:
    case VIRTIO_NET_HDR_GSO_TCPV6:
        if (!is_partial || header->gso_size == 0) {
            return false;
        }
        break;
    default:
        return false;
    }
    return !is_partial ||
           (size_t)header->csum_start + header->csum_offset + sizeof(uint16_t) <= frame_bytes;
}

/* Describes a frame that was read, of which tap->segment is the only part. Returns false if it is
 * none. */
static bool describe(struct tap *tap, size_t bytes, struct device_net_frame *frame)
{
    const struct virtio_net_hdr *header = &tap->received.header;
    size_t frame_bytes = bytes - sizeof(*header);
    bool is_partial;

    if (bytes < sizeof(*header) + DEVICE_NET_FRAME_MIN || !has_valid_header(header, frame_bytes)) {
        return false;
    }
    is_partial = (header->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) != 0;
    tap->segment = (struct device_segment){tap->received.frame, (uint32_t)frame_bytes};
    *frame = (struct device_net_frame){
        .segments = &tap->segment,
        .count = 1,
        .bytes = (uint32_t)frame_bytes,
        .gso = (enum device_net_gso)header->gso_type,
        .gso_bytes = header->gso_size,
        .header_bytes = header->hdr_len,
        .checksum_valid = !is_partial && (header->flags & VIRTIO_NET_HDR_F_DATA_VALID) != 0,
        .checksum_partial = is_partial,
        .checksum_start = is_partial ? header->csum_start : 0,
        .checksum_offset = is_partial ? header->csum_offset : 0,
    };
    return true;
}

/* Reads the next frame, and begins to pass it on. Returns false if there is none. */
static bool pass_next(struct tap *tap, struct network *network)
{
    ssize_t bytes = read(tap->file, &tap->received, sizeof(tap->received));
    struct device_net_frame frame;

    if (bytes <= 0) {
        return false;
    }
    tap->is_passing = describe(tap, (size_t)bytes, &frame) &&
                      network_receive(network, &frame, NULL, 0) == NETWORK_PARTLY;
    return true;
}

void tap_receive(struct tap *tap, unsigned limit, struct network *network)
{
    for (unsigned i = 0; i < limit; i++) {
        if (tap->is_passing) {
            tap->is_passing = network_receive_more(network) == NETWORK_PARTLY;
        } else if (!pass_next(tap, network)) {
            return;
        }
    }
}

static struct virtio_net_hdr header_of(const struct device_net_frame *frame)
{
    struct virtio_net_hdr header = {0};

    if (frame->checksum_partial) {
        header.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
        header.csum_start = frame->checksum_start;
        header.csum_offset = frame->checksum_offset;
        header.gso_type = (uint8_t)frame->gso;
        header.gso_size = frame->gso_bytes;
        header.hdr_len = frame->header_bytes;
    } else if (frame->checksum_valid) {
        header.flags = VIRTIO_NET_HDR_F_DATA_VALID;
    }
    return header;
}

/* The kernel copies the segments once, and decides by its copy. */
bool tap_send(const struct tap *tap, const struct device_net_frame *frame)
{
    struct virtio_net_hdr header = header_of(frame);
    struct iovec pieces[1 + PIECES_MAX];

    if (frame->count > PIECES_MAX) {
        return false;
    }
    pieces[0] = (struct iovec){&header, sizeof(header)};
    for (unsigned i = 0; i < frame->count; i++) {
        pieces[1 + i] = (struct iovec){frame->segments[i].memory, frame->segments[i].bytes};
    }
    return writev(tap->file, pieces, (int)frame->count + 1) >= 0;
}
