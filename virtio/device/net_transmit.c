/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames from the driver (VIRTIO 1.3, 5.1.6.2). Chains are finished in order. So a bad chain behind
 * others in flight is marked, and finished after those.
 */
#include "net_frame.h"

/* Returns the length of the headers of a frame of TCP segments, or 0 if it has no whole TCP header
 * at checksum_start. */
static uint32_t headers_of(const struct device_net_frame *frame)
{
    uint32_t bytes;
    uint8_t length;

    if (frame->checksum_offset != TCP_CHECKSUM ||
        frame->checksum_start + TCP_BYTES_MIN > frame->bytes) {
        return 0;
    }
    device_net_gather(frame->segments, frame->checksum_start + TCP_HEADER_LENGTH, &length, 1);
    bytes = (length >> 4) * 4u;
    return bytes < TCP_BYTES_MIN || frame->checksum_start + bytes >= frame->bytes
               ? 0
               : frame->checksum_start + bytes;
}

/* Evaluates gso_type, gso_size and hdr_len. The device must not rely on the driver's hdr_len
 * (5.1.6.2.2), so the length is that of the TCP header. Returns false if the frame is not valid. */
static bool read_segmentation(const struct device_net *net, const uint8_t *header,
                              struct device_net_frame *frame)
{
    uint32_t headers;

    switch (header[HEADER_GSO_TYPE]) {
    case DEVICE_NET_GSO_NONE:
        return true;
    case DEVICE_NET_GSO_TCPV4:
        if (!device_net_accepted(net, VIRTIO_NET_F_HOST_TSO4)) {
            return false;
        }
        break;
    case DEVICE_NET_GSO_TCPV6:
        if (!device_net_accepted(net, VIRTIO_NET_F_HOST_TSO6)) {
            return false;
        }
        break;
    default: /* 5.1.6.2.1: GSO_ECN and other types need features that are not offered */
        return false;
    }
    frame->gso = header[HEADER_GSO_TYPE];
    frame->gso_bytes = get_little16(&header[HEADER_GSO_BYTES]);
    /* 5.1.6.2.1: with NEEDS_CSUM, and gso_size is the desired MSS. */
    if (!frame->checksum_partial || frame->gso_bytes == 0) {
        return false;
    }
    headers = headers_of(frame);
    if (headers == 0 || headers > UINT16_MAX) {
        return false;
    }
    frame->header_bytes = (uint16_t)headers;
    return true;
}

/* Evaluates flags, csum_start and csum_offset. All other flags are ignored (5.1.6.2.2). Returns
 * false if the frame is not valid. */
static bool read_checksum(const struct device_net *net, const uint8_t *header,
                          struct device_net_frame *frame)
{
    if ((header[HEADER_FLAGS] & HEADER_NEEDS_CHECKSUM) == 0) {
        return true;
    }
    frame->checksum_partial = true;
    frame->checksum_start = get_little16(&header[HEADER_CHECKSUM_START]);
    frame->checksum_offset = get_little16(&header[HEADER_CHECKSUM_OFFSET]);
    return device_net_accepted(net, VIRTIO_NET_F_CSUM) && /* 5.1.6.2.1 */
           (uint32_t)frame->checksum_start + frame->checksum_offset + CHECKSUM_BYTES <=
               frame->bytes;
}

/* Lets the chain's segments begin behind the header. Returns the first. */
static struct device_segment *skip_header(struct device_chain *chain)
{
    struct device_segment *segment = chain->segments;
    uint32_t skip = DEVICE_NET_HEADER_BYTES;

    while (segment->bytes <= skip) {
        skip -= segment->bytes;
        segment++;
    }
    segment->memory += skip;
    segment->bytes -= skip;
    return segment;
}

/* Reads a chain as a header and a frame. Returns false if the frame is not valid. */
static bool read_frame(const struct device_net *net, struct device_chain *chain,
                       struct device_net_frame *frame)
{
    uint8_t header[DEVICE_NET_HEADER_BYTES];

    if (chain->writable != 0 ||
        chain->readable_bytes < DEVICE_NET_HEADER_BYTES + DEVICE_NET_FRAME_MIN ||
        chain->readable_bytes > DEVICE_NET_HEADER_BYTES + DEVICE_NET_FRAME_MAX) {
        return false;
    }
    device_net_gather(chain->segments, 0, header, sizeof(header));
    *frame = (struct device_net_frame){
        .segments = skip_header(chain),
        .bytes = chain->readable_bytes - DEVICE_NET_HEADER_BYTES,
    };
    frame->count = (unsigned)(&chain->segments[chain->readable] - frame->segments);
    return read_checksum(net, header, frame) && read_segmentation(net, header, frame) &&
           !device_net_exceeds_mtu(net, frame);
}

static bool *bad_at(struct device_net *net, uint16_t position)
{
    return &net->transmit_bad[position & (uint16_t)(net->transmit.size - 1u)];
}

/* Finishes the bad chains that are the first in flight. */
static void finish_bad(struct device_net *net)
{
    while (device_queue_in_flight(&net->transmit) != 0 && net->transmit.broken == NULL &&
           *bad_at(net, net->transmit.finished)) {
        device_queue_finish(&net->transmit, 0);
    }
}

bool device_net_take(struct device_net *net, struct device_chain *chain,
                     struct device_net_frame *frame)
{
    struct device_queue *queue = &net->transmit;

    /* The bound keeps a driver that makes bad chains available all the time from holding the
     * device. */
    for (unsigned tries = 0; tries < DEVICE_NET_BAD_CHAINS_MAX && device_queue_take(queue, chain);
         tries++) {
        bool is_valid = read_frame(net, chain, frame);

        net->statistics.transmit_descriptors += chain->descriptors;
        *bad_at(net, (uint16_t)(queue->taken - 1u)) = !is_valid;
        if (is_valid) {
            net->statistics.transmitted++;
            return true;
        }
        net->statistics.transmit_bad++;
        finish_bad(net);
    }
    return false;
}

void device_net_finish(struct device_net *net)
{
    device_queue_finish(&net->transmit, 0);
    finish_bad(net);
}

/* Bad chains that were taken after the frame are given back, too. */
void device_net_return(struct device_net *net)
{
    bool is_bad;

    do {
        is_bad = *bad_at(net, (uint16_t)(net->transmit.taken - 1u));
        net->statistics.transmit_bad -= is_bad;
        device_queue_return(&net->transmit);
    } while (is_bad);
    net->statistics.transmitted--;
}
