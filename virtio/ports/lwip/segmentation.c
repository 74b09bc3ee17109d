/* SPDX-License-Identifier: BSD-2-Clause */
/* See segmentation.h. */
#include "segmentation.h"
#include <stddef.h>

static uint32_t frame_bytes(const struct virtio_net_packet *packet)
{
    uint32_t bytes = 0;

    for (unsigned i = 0; i < packet->segment_count; i++) {
        bytes += packet->segment[i].bytes;
    }
    return bytes;
}

static bool parse(const struct virtio_net_packet *packet, struct tcp_segment *segment)
{
    const struct virtio_net_segment *first = &packet->segment[0];

    return tcp_segment_parse(first->memory, first->bytes, frame_bytes(packet), segment);
}

static enum virtio_net_gso type_of(const struct tcp_segment *segment)
{
    return segment->version_6 ? VIRTIO_NET_GSO_TCPV6 : VIRTIO_NET_GSO_TCPV4;
}

/* Removes the headers from a packet that is joined to another. */
static void strip_headers(struct virtio_net_packet *packet, uint16_t header_bytes)
{
    packet->segment[0].memory += header_bytes;
    packet->segment[0].bytes -= header_bytes;
    if (packet->segment[0].bytes == 0) { /* the data are in the other pieces */
        packet->segment_count--;
        for (unsigned i = 0; i < packet->segment_count; i++) {
            packet->segment[i] = packet->segment[i + 1];
        }
    }
}

bool segmentation_hold(struct segmentation *segmentation, const struct virtio_net *net,
                       struct virtio_net_packet *packet)
{
    struct tcp_segment segment;

    if (!parse(packet, &segment) || !virtio_net_offers_gso(net, type_of(&segment))) {
        return false;
    }
    segmentation->held = packet;
    segmentation->last = packet;
    segmentation->segment = segment;
    segmentation->data_bytes = segment.data_bytes;
    segmentation->pieces = packet->segment_count;
    segmentation->pushed = tcp_segment_pushed(packet->segment[0].memory, &segment);
    segmentation->short_end = false;
    return true;
}

bool segmentation_join(struct segmentation *segmentation, const struct virtio_net *net,
                       struct virtio_net_packet *packet)
{
    const struct tcp_segment *first = &segmentation->segment;
    struct tcp_segment segment;

    if (segmentation->held == NULL || segmentation->short_end || !parse(packet, &segment) ||
        segment.data_bytes > first->data_bytes ||
        segmentation->data_bytes + segment.data_bytes > tcp_segment_data_max(first) ||
        segmentation->pieces + packet->segment_count > virtio_net_segments_max(net) ||
        !tcp_segment_follows(segmentation->held->segment[0].memory, first, segmentation->data_bytes,
                             packet->segment[0].memory, &segment)) {
        return false;
    }
    segmentation->pushed =
        segmentation->pushed || tcp_segment_pushed(packet->segment[0].memory, &segment);
    segmentation->short_end = segment.data_bytes < first->data_bytes;
    strip_headers(packet, segment.header_bytes);
    segmentation->last->rest = packet;
    segmentation->last = packet;
    segmentation->data_bytes += segment.data_bytes;
    segmentation->pieces = (uint16_t)(segmentation->pieces + packet->segment_count);
    segmentation->joined++;
    return true;
}

struct virtio_net_packet *segmentation_take(struct segmentation *segmentation)
{
    struct virtio_net_packet *packet = segmentation->held;
    const struct tcp_segment *segment = &segmentation->segment;

    segmentation->held = NULL;
    if (packet != NULL && packet->rest != NULL) {
        tcp_segment_extend(packet->segment[0].memory, segment, segmentation->data_bytes,
                           segmentation->pushed);
        packet->gso_type = type_of(segment);
        packet->gso_bytes = segment->data_bytes;
        packet->header_bytes = segment->header_bytes;
    }
    return packet;
}
