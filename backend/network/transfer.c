/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A frame on its way. Its first bytes are copied once. The switch decides by the copy, and the copy
 * is what leaves: type and tag of a frame can't change after the decision. The bytes behind are
 * views of the sender's memory.
 */
#include "network_private.h"
#include <string.h>

/* Copies bytes from memory that a client may change meanwhile: each is read exactly once. */
static uint32_t copy_first(const struct device_net_frame *frame, uint8_t *to, uint32_t bytes)
{
    uint32_t copied = 0;

    for (unsigned i = 0; i < frame->count && copied < bytes; i++) {
        const volatile uint8_t *shared = frame->segments[i].memory;

        for (uint32_t at = 0; at < frame->segments[i].bytes && copied < bytes; at++) {
            to[copied++] = shared[at];
        }
    }
    return copied;
}

/* Places in a frame that move back by a tag still fit their 16 bits. */
#define PLACE_MAX (UINT16_MAX - FRAME_TAG_BYTES)

/* Returns true unless the checksum covers, or is in, the bytes that the switch decides by, also
 * once a tag moves it: who completes it would write over an address, or over a tag. */
static bool is_checksum_behind_header(const struct network_transfer *transfer)
{
    const struct device_net_frame *frame = &transfer->frame;
    uint32_t header = FRAME_HEADER_BYTES + (transfer->decision.has_tag ? FRAME_TAG_BYTES : 0);

    return !frame->checksum_partial ||
           (frame->checksum_start >= header && frame->checksum_start <= PLACE_MAX &&
            frame->header_bytes <= PLACE_MAX);
}

static unsigned count_ports(uint32_t ports)
{
    unsigned count = 0;

    for (; ports != 0; ports &= ports - 1) {
        count++;
    }
    return count;
}

/* Adds the sender's memory from byte `skip` on. Returns the number of segments. */
static unsigned add_views(struct network_transfer *transfer, unsigned count, uint32_t skip)
{
    const struct device_net_frame *frame = &transfer->frame;

    for (unsigned i = 0; i < frame->count; i++) {
        const struct device_segment *segment = &frame->segments[i];

        if (skip >= segment->bytes) {
            skip -= segment->bytes;
            continue;
        }
        transfer->segments[count++] =
            (struct device_segment){segment->memory + skip, segment->bytes - skip};
        skip = 0;
    }
    return count;
}

/* Mirrors a frame as it came, with the header that the switch decides by. */
static void mirror_received(struct network *network, struct network_transfer *transfer,
                            unsigned port)
{
    struct device_net_frame frame = transfer->frame;

    if (!frame_mirror_has_port(&network->mirror, port)) {
        return;
    }
    transfer->segments[0] = (struct device_segment){transfer->first, transfer->copied};
    frame.segments = transfer->segments;
    frame.count = add_views(transfer, 1, transfer->copied);
    frame_mirror_write(&network->mirror, port, FRAME_MIRROR_RECEIVED, &frame, network->now);
}

unsigned transfer_begin(struct network *network, struct network_transfer *transfer, unsigned port,
                        const struct device_net_frame *frame)
{
    transfer->frame = *frame;
    transfer->may_wait = false;
    transfer->is_divided = false;
    transfer->skipped = 0;
    transfer->sent = 0;
    transfer->copied = copy_first(frame, transfer->first, sizeof(transfer->first));
    mirror_received(network, transfer, port);
    transfer->decision =
        frame_switch_decide(&network->bridge, port, transfer->first, frame->bytes, network->now);
    transfer->ports = transfer->decision.drop == FRAME_NOT_DROPPED ? transfer->decision.ports : 0;
    if (transfer->ports != 0 && !is_checksum_behind_header(transfer)) {
        transfer->ports = 0;
        if (port != FRAME_SWITCH_CARD) {
            client_at(network, port)->statistics.bad_checksums++;
        }
    }
    return count_ports(transfer->ports);
}

/* Describes the frame as it leaves from a port. */
static struct device_net_frame describe(struct network_transfer *transfer, unsigned port)
{
    struct device_net_frame frame = transfer->frame;
    uint32_t replaced = frame_switch_header_bytes(&transfer->decision);
    uint32_t written =
        frame_switch_write_header(&transfer->decision, port, transfer->first, transfer->start);
    uint32_t rest = transfer->copied - replaced;

    memcpy(&transfer->start[written], &transfer->first[replaced], rest);
    transfer->segments[0] = (struct device_segment){transfer->start, written + rest};
    frame.segments = transfer->segments;
    frame.count = add_views(transfer, 1, transfer->copied);
    frame.bytes = frame.bytes - replaced + written;
    if (frame.checksum_partial) {
        frame.checksum_start = (uint16_t)(frame.checksum_start - replaced + written);
    }
    if (frame.gso != DEVICE_NET_GSO_NONE) {
        frame.header_bytes = (uint16_t)(frame.header_bytes - replaced + written);
    }
    return frame;
}

/* The end of an attempt to let a frame or segment leave. */
enum leaving {
    LEAVING_LEFT,
    LEAVING_LOST,
    LEAVING_WAITS, /* for a client's buffers */
};

static enum leaving deliver(struct network *network, const struct network_transfer *transfer,
                            unsigned port, const struct device_net_frame *frame)
{
    if (port == FRAME_SWITCH_CARD) {
        return network->operations->send(network->context, frame) ? LEAVING_LEFT : LEAVING_LOST;
    }
    switch (device_net_deliver(&client_at(network, port)->net, frame)) {
    case DEVICE_NET_DELIVERED:
        return LEAVING_LEFT;
    case DEVICE_NET_NO_BUFFERS:
        return transfer->may_wait ? LEAVING_WAITS : LEAVING_LOST;
    case DEVICE_NET_TOO_LARGE:
    case DEVICE_NET_UNSEGMENTED:
    default:
        return LEAVING_LOST;
    }
}

/* Lets a frame or segment leave. */
static enum leaving leave(struct network *network, const struct network_transfer *transfer,
                          unsigned port, const struct device_net_frame *frame)
{
    enum leaving end = deliver(network, transfer, port, frame);

    if (end == LEAVING_LOST) {
        frame_switch_count_lost(&network->bridge, port);
    } else if (end == LEAVING_LEFT) {
        frame_switch_count_sent(&network->bridge, port, frame->bytes);
        if (frame_mirror_has_port(&network->mirror, port)) {
            frame_mirror_write(&network->mirror, port, FRAME_MIRROR_SENT, frame, network->now);
        }
    }
    return end;
}

static bool is_open(struct network *network, unsigned port)
{
    return port == FRAME_SWITCH_CARD ? network->card.is_open
                                     : client_at(network, port)->state == NETWORK_CLIENT_RUNNING;
}

static bool needs_division(struct network *network, unsigned port,
                           const struct device_net_frame *frame)
{
    if (port != FRAME_SWITCH_CARD) {
        return device_net_needs_segmentation(&client_at(network, port)->net, frame);
    }
    switch (frame->gso) {
    case DEVICE_NET_GSO_TCPV4:
        return !network->card.segments_tcpv4;
    case DEVICE_NET_GSO_TCPV6:
        return !network->card.segments_tcpv6;
    case DEVICE_NET_GSO_NONE:
    default:
        return false;
    }
}

enum step {
    STEP_DONE, /* with the port */
    STEP_MORE, /* segments */
    STEP_WAITS,
};

/* Lets the next segment leave. The port is done after the last one, or if one was lost, because the
 * receiver then has no buffers for the others either. */
static enum step leave_divided(struct network *network, struct network_transfer *transfer,
                               unsigned port)
{
    struct device_net_frame segment;

    if (!device_net_segmentation_next(&transfer->segmentation, &segment)) {
        return STEP_DONE;
    }
    switch (leave(network, transfer, port, &segment)) {
    case LEAVING_LEFT:
        transfer->sent++;
        return STEP_MORE;
    case LEAVING_WAITS:
        return STEP_WAITS;
    case LEAVING_LOST:
    default:
        return STEP_DONE;
    }
}

/* Makes the segments again that have left before. */
static void skip_segments(struct network_transfer *transfer)
{
    struct device_net_frame segment;

    for (; transfer->sent < transfer->skipped; transfer->sent++) {
        (void)device_net_segmentation_next(&transfer->segmentation, &segment);
    }
}

static enum step begin_port(struct network *network, struct network_transfer *transfer,
                            unsigned port)
{
    struct device_net_frame frame;

    if (port != FRAME_SWITCH_CARD &&
        !device_net_wants(&client_at(network, port)->net, transfer->first)) {
        return STEP_DONE;
    }
    frame = describe(transfer, port);
    if (!needs_division(network, port, &frame)) {
        return leave(network, transfer, port, &frame) == LEAVING_WAITS ? STEP_WAITS : STEP_DONE;
    }
    if (!device_net_segmentation_begin(&transfer->segmentation, &frame)) {
        frame_switch_count_lost(&network->bridge, port);
        return STEP_DONE;
    }
    skip_segments(transfer);
    return leave_divided(network, transfer, port);
}

void transfer_resume(struct network_transfer *transfer, const struct device_net_frame *frame,
                     const struct network_waiting *waiting)
{
    transfer->frame = *frame;
    transfer->decision = waiting->decision;
    transfer->ports = waiting->decision.ports;
    transfer->may_wait = true;
    transfer->is_divided = false;
    transfer->skipped = waiting->sent;
    transfer->sent = 0;
    transfer->copied = copy_first(frame, transfer->first, sizeof(transfer->first));
}

enum transfer_result transfer_step(struct network *network, struct network_transfer *transfer)
{
    unsigned port = (unsigned)__builtin_ctz(transfer->ports);
    enum step end = STEP_DONE;

    if (!is_open(network, port)) {
        frame_switch_count_lost(&network->bridge, port);
    } else if (port == FRAME_SWITCH_CARD && !network->operations->has_room(network->context)) {
        return TRANSFER_NO_ROOM;
    } else {
        end = transfer->is_divided ? leave_divided(network, transfer, port)
                                   : begin_port(network, transfer, port);
    }
    if (end == STEP_WAITS) {
        return TRANSFER_NO_ROOM;
    }
    transfer->is_divided = end == STEP_MORE;
    if (end == STEP_DONE) {
        transfer->ports &= transfer->ports - 1;
    }
    return transfer->ports == 0 ? TRANSFER_DONE : TRANSFER_MORE;
}
