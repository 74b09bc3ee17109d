/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames to and from the card. */
#include "backend/frame_copy.h"
#include "card.h"

#include "kernel/interrupt.h"

/* The memory of a packet: its header is in front of the frame's bytes (virtio/net.h). */
#define PACKET_ROOM      (CARD_PACKET_BYTES - VIRTIO_NET_HEADER_BYTES)
#define TCP_HEADER_BYTES 20u /* without options */
#define PIECES_MAX       ((DEVICE_NET_FRAME_MAX + PACKET_ROOM - 1) / PACKET_ROOM)

void card_put_buffers(struct card *card, struct virtio_net_buffer *buffer)
{
    while (buffer != NULL) {
        struct virtio_net_buffer *rest = buffer->rest;
        interrupt_state state = interrupts_save();

        buffer->next = card->free_buffers;
        card->free_buffers = buffer;
        interrupts_restore(state);
        buffer = rest;
    }
}

bool card_describe(const struct virtio_net_buffer *buffer,
                   struct device_segment segments[CARD_FRAME_BUFFERS],
                   struct device_net_frame *frame)
{
    uint32_t skip = VIRTIO_NET_HEADER_BYTES;

    *frame = (struct device_net_frame){
        .segments = segments,
        .checksum_valid = buffer->checksum == VIRTIO_NET_CHECKSUM_VALID,
        .checksum_partial = buffer->checksum == VIRTIO_NET_CHECKSUM_PARTIAL,
    };
    if (frame->checksum_partial) {
        frame->checksum_start = buffer->checksum_start;
        frame->checksum_offset = buffer->checksum_offset;
        frame->gso = (enum device_net_gso)buffer->gso_type;
        frame->gso_bytes = buffer->gso_bytes;
        frame->header_bytes = (uint16_t)(buffer->checksum_start + TCP_HEADER_BYTES);
    }
    for (; buffer != NULL; buffer = buffer->rest, skip = 0) {
        if (frame->count == CARD_FRAME_BUFFERS) {
            return false;
        }
        segments[frame->count++] =
            (struct device_segment){buffer->memory + skip, buffer->frame_bytes};
        frame->bytes += buffer->frame_bytes;
    }
    return frame->bytes <= DEVICE_NET_FRAME_MAX;
}

/* A frame was passed on. */
static void account(struct card *card, struct virtio_net_buffer *buffer,
                    enum network_reception reception)
{
    card->passed = reception == NETWORK_PARTLY ? buffer : NULL;
    if (reception == NETWORK_RECEIVED) {
        card_put_buffers(card, buffer);
    }
}

/* Takes the next received frame, and begins to pass it on. Returns false if there is none. */
static bool pass_next(struct card *card, struct network *network)
{
    struct virtio_net_buffer *buffer = virtio_net_receive(card->net);
    struct device_net_frame frame;

    if (buffer == NULL) {
        return false;
    }
    if (card_describe(buffer, card->segments, &frame)) {
        account(card, buffer,
                network_receive(network, &frame, buffer, buffer->buffers * CARD_RECEIVE_BYTES));
    } else {
        card_put_buffers(card, buffer);
    }
    return true;
}

unsigned card_receive(struct card *card, unsigned limit, struct network *network)
{
    unsigned count = 0;

    if (card->state != CARD_RUNNING) {
        return 0;
    }
    (void)virtio_net_poll(card->net);
    for (; count < limit; count++) {
        if (card->passed == NULL) {
            if (!pass_next(card, network)) {
                break;
            }
        } else {
            account(card, card->passed, network_receive_more(network));
        }
    }
    return count;
}

void card_put_packets(struct card *card, struct virtio_net_packet *packet)
{
    while (packet != NULL) {
        struct virtio_net_packet *rest = packet->rest;

        packet->next = card->free_packets;
        card->free_packets = packet;
        card->free_packet_count++;
        packet = rest;
    }
}

/* Takes packets for so many bytes. Returns the first; there are enough (card_has_room()). */
static struct virtio_net_packet *take_packets(struct card *card, uint32_t bytes,
                                              struct device_segment pieces[], unsigned *count)
{
    struct virtio_net_packet *first = NULL;
    struct virtio_net_packet **link = &first;

    for (*count = 0; *count * PACKET_ROOM < bytes && card->free_packets != NULL; ++*count) {
        struct virtio_net_packet *packet = card->free_packets;
        uint8_t *memory = packet->owner;

        card->free_packets = packet->next;
        card->free_packet_count--;
        *packet = (struct virtio_net_packet){.owner = memory, .segment_count = 1};
        pieces[*count] = (struct device_segment){memory + VIRTIO_NET_HEADER_BYTES, PACKET_ROOM};
        *link = packet;
        link = &packet->rest;
    }
    return first;
}

static void set_offloads(struct virtio_net_packet *packet, const struct device_net_frame *frame)
{
    packet->checksum_partial = true;
    packet->checksum_start = frame->checksum_start;
    packet->checksum_offset = frame->checksum_offset;
    packet->gso_type = (enum virtio_net_gso)frame->gso;
    packet->gso_bytes = frame->gso_bytes;
    packet->header_bytes = frame->header_bytes;
}

bool card_send(struct card *card, const struct device_net_frame *frame)
{
    struct device_segment pieces[PIECES_MAX];
    struct virtio_net_packet *packet;
    struct virtio_net_packet *each;
    bool completes;
    unsigned count;

    if (card->state != CARD_RUNNING || frame->bytes > PIECES_MAX * PACKET_ROOM) {
        return false;
    }
    completes = (virtio_net_features(card->net) & VIRTIO_NET_F_CSUM) == 0;
    packet = take_packets(card, frame->bytes, pieces, &count);
    if (count * PACKET_ROOM < frame->bytes) { /* the card has stood still for long */
        card_put_packets(card, packet);
        return false;
    }
    (void)frame_copy(frame, pieces, completes);
    each = packet;
    for (unsigned i = 0; i < count; i++, each = each->rest) {
        each->segment[0] = (struct virtio_net_segment){pieces[i].memory, pieces[i].bytes};
    }
    if (frame->checksum_partial && !completes) {
        set_offloads(packet, frame);
    }
    if (!virtio_net_transmit(card->net, packet)) {
        card_put_packets(card, packet);
        return false;
    }
    return true;
}

void card_flush(struct card *card)
{
    if (card->state == CARD_RUNNING) {
        virtio_net_flush(card->net);
    }
}
