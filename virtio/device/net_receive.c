/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames to the driver (VIRTIO 1.3, 5.1.6.3 and 5.1.6.4). A frame is copied while chains are taken
 * for it. The chains are finished when it is complete, and given back if there are too few.
 */
#include "net_frame.h"
#include <string.h>

/* The place where the next byte is written: in net->chain, the last of the chains taken. */
struct sink {
    struct device_net *net;
    bool may_merge;
    unsigned chains;      /* taken for this frame */
    uint32_t descriptors; /* that may still be read for it */
    uint32_t room;        /* bytes left in the last chain */
    unsigned segment;     /* in it */
    uint32_t offset;      /* in this segment */
    uint8_t *buffers[2];  /* the two bytes of num_buffers */
};

/* Takes the next chain. Returns false if there is none. */
static bool open_chain(struct sink *sink)
{
    struct device_net *net = sink->net;

    if ((sink->chains != 0 && !sink->may_merge) || !device_queue_take(&net->receive, &net->chain)) {
        return false;
    }
    sink->chains++;
    if (net->chain.descriptors > sink->descriptors) {
        return false;
    }
    sink->descriptors -= net->chain.descriptors;
    /* 5.1.6.3.1: each buffer is at least as large as the header. It can't be left out, because a
     * frame uses consecutive buffers. */
    if (sink->may_merge && net->chain.writable_bytes < DEVICE_NET_HEADER_BYTES) {
        net->receive.broken = "a receive buffer that is smaller than the header";
        return false;
    }
    net->receive_written[sink->chains - 1] = 0;
    sink->room = net->chain.writable_bytes;
    sink->segment = net->chain.readable; /* these are not used */
    sink->offset = 0;
    return true;
}

/* Returns the memory for the next bytes, at most `bytes`, and their number; NULL: no buffer. */
static uint8_t *next_memory(struct sink *sink, uint32_t *bytes)
{
    struct device_net *net = sink->net;
    struct device_segment *segment;
    uint8_t *memory;

    if (sink->room == 0 && !open_chain(sink)) {
        return NULL;
    }
    segment = &net->chain.segments[sink->segment];
    if (*bytes > segment->bytes - sink->offset) {
        *bytes = segment->bytes - sink->offset;
    }
    memory = segment->memory + sink->offset;
    sink->room -= *bytes;
    sink->offset += *bytes;
    if (sink->offset == segment->bytes) {
        sink->segment++;
        sink->offset = 0;
    }
    net->receive_written[sink->chains - 1] += *bytes;
    return memory;
}

static bool put(struct sink *sink, const uint8_t *data, uint32_t bytes)
{
    while (bytes != 0) {
        uint32_t piece = bytes;
        uint8_t *memory = next_memory(sink, &piece);

        if (memory == NULL) {
            return false;
        }
        memcpy(memory, data, piece);
        data += piece;
        bytes -= piece;
    }
    return true;
}

/* Writes the header without num_buffers, and remembers the place of that. */
static bool put_header(struct sink *sink, const struct device_net_frame *frame, bool is_partial)
{
    const struct device_net *net = sink->net;
    uint8_t header[HEADER_BUFFERS] = {0};

    if (is_partial) {
        header[HEADER_FLAGS] = HEADER_NEEDS_CHECKSUM;
        put_little16(&header[HEADER_CHECKSUM_START], frame->checksum_start);
        put_little16(&header[HEADER_CHECKSUM_OFFSET], frame->checksum_offset);
    } else if (frame->checksum_valid && device_net_accepted(net, VIRTIO_NET_F_GUEST_CSUM)) {
        header[HEADER_FLAGS] = HEADER_DATA_VALID;
    }
    if (frame->gso != DEVICE_NET_GSO_NONE) {
        header[HEADER_GSO_TYPE] = (uint8_t)frame->gso;
        put_little16(&header[HEADER_GSO_BYTES], frame->gso_bytes);
        put_little16(&header[HEADER_BYTES], frame->header_bytes);
    }
    if (!put(sink, header, sizeof(header))) {
        return false;
    }
    for (unsigned i = 0; i < sizeof(sink->buffers) / sizeof(sink->buffers[0]); i++) {
        sink->buffers[i] = next_memory(sink, &(uint32_t){1});
        if (sink->buffers[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* Writes the frame's bytes from `start` to `end`. */
static bool put_frame(struct sink *sink, const struct device_net_frame *frame, uint32_t start,
                      uint32_t end)
{
    uint32_t at = 0; /* where the segment begins in the frame */

    for (unsigned i = 0; at < end; i++) {
        const struct device_segment *segment = &frame->segments[i];
        uint32_t from = start > at ? start - at : 0;
        uint32_t to = end - at < segment->bytes ? end - at : segment->bytes;

        if (from < to && !put(sink, segment->memory + from, to - from)) {
            return false;
        }
        at += segment->bytes;
    }
    return true;
}

/* Writes the frame with its checksum in place of the pseudo header's sum. */
static bool put_complete(struct sink *sink, const struct device_net_frame *frame)
{
    uint32_t place = (uint32_t)frame->checksum_start + frame->checksum_offset;
    uint8_t checksum[CHECKSUM_BYTES];

    put_big16(checksum, device_net_checksum(frame));
    return put_frame(sink, frame, 0, place) && put(sink, checksum, sizeof(checksum)) &&
           put_frame(sink, frame, place + CHECKSUM_BYTES, frame->bytes);
}

static void give_back(struct sink *sink)
{
    for (; sink->chains != 0; sink->chains--) {
        device_queue_return(&sink->net->receive);
    }
}

/* Writes num_buffers, and finishes the chains. The driver sees all of them at once, when they are
 * published (5.1.6.4.1). */
static void finish(struct sink *sink)
{
    uint8_t buffers[2];

    put_little16(buffers, sink->chains);
    *sink->buffers[0] = buffers[0];
    *sink->buffers[1] = buffers[1];
    for (unsigned i = 0; i < sink->chains; i++) {
        device_queue_finish(&sink->net->receive, sink->net->receive_written[i]);
    }
}

/* Writes header and frame. Returns false if there are too few buffers. */
static bool put_all(struct sink *sink, const struct device_net_frame *frame)
{
    bool takes_partial = device_net_accepted(sink->net, VIRTIO_NET_F_GUEST_CSUM); /* 5.1.6.4.1 */

    if (frame->checksum_partial && !takes_partial) {
        return put_header(sink, frame, false) && put_complete(sink, frame);
    }
    return put_header(sink, frame, frame->checksum_partial) &&
           put_frame(sink, frame, 0, frame->bytes);
}

static enum device_net_delivery deliver(struct device_net *net,
                                        const struct device_net_frame *frame)
{
    struct sink sink = {
        .net = net,
        .may_merge = device_net_accepted(net, VIRTIO_NET_F_MRG_RXBUF),
        .descriptors = DEVICE_NET_RECEIVE_DESCRIPTORS + frame->bytes / DEVICE_NET_DESCRIPTOR_BYTES,
    };
    enum device_net_delivery failure = DEVICE_NET_NO_BUFFERS;

    if (device_net_needs_segmentation(net, frame)) {
        return DEVICE_NET_UNSEGMENTED;
    }
    if (device_net_exceeds_mtu(net, frame)) {
        return DEVICE_NET_TOO_LARGE;
    }
    if (open_chain(&sink)) {
        if (!sink.may_merge && sink.room < DEVICE_NET_HEADER_BYTES + frame->bytes) {
            failure = DEVICE_NET_TOO_LARGE;
        } else if (put_all(&sink, frame)) {
            finish(&sink);
            return DEVICE_NET_DELIVERED;
        }
    }
    give_back(&sink);
    return failure;
}

bool device_net_needs_segmentation(const struct device_net *net,
                                   const struct device_net_frame *frame)
{
    switch (frame->gso) {
    case DEVICE_NET_GSO_TCPV4:
        return !device_net_accepted(net, VIRTIO_NET_F_GUEST_TSO4);
    case DEVICE_NET_GSO_TCPV6:
        return !device_net_accepted(net, VIRTIO_NET_F_GUEST_TSO6);
    case DEVICE_NET_GSO_NONE:
    default:
        return false;
    }
}

enum device_net_delivery device_net_deliver(struct device_net *net,
                                            const struct device_net_frame *frame)
{
    enum device_net_delivery delivery = deliver(net, frame);

    if (delivery == DEVICE_NET_DELIVERED) {
        net->statistics.received++;
    } else {
        net->statistics.receive_dropped++;
    }
    return delivery;
}
