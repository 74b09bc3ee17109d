/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The card of the back-end: starts its driver, starts it again when it fails, and owns the memory
 * of frames on their way to and from it. One thread uses it, but for the functions that the driver
 * calls.
 */
#ifndef BACKEND_CARD_H
#define BACKEND_CARD_H

#include "backend/network.h"
#include "discovery.h"
#include "kernel/sync.h"

#define CARD_RECEIVE_BYTES 4096u
#define CARD_EXPOSED_MIN   64u
#define CARD_EXPOSED_MAX   128u
/* Buffers of frames that wait for those of a client. */
#define CARD_BACKLOG_BUFFERS 256u
/* Packets to send: a frame takes one for each CARD_PACKET_BYTES. */
#define CARD_PACKETS      256u
#define CARD_PACKET_BYTES 4096u
/* Buffers of the largest frame that a card makes of several segments. */
#define CARD_FRAME_BUFFERS   (VIRTIO_NET_LARGE_RECEIVE_BYTES / CARD_RECEIVE_BYTES + 1u)
#define CARD_RECEIVE_BUFFERS (CARD_EXPOSED_MAX + CARD_FRAME_BUFFERS + CARD_BACKLOG_BUFFERS)

enum card_state {
    CARD_ABSENT,
    CARD_STOPPED, /* to be started */
    CARD_RUNNING,
    CARD_STOPPING, /* has not confirmed its reset */
};

struct card {
    struct virtio_network_device device;
    enum card_state state;
    struct virtio_net *net; /* but for CARD_ABSENT and CARD_STOPPED */
    struct semaphore *wake;
    const char *reported; /* why it can't be started */
    uint64_t started, watched, full_since;
    uint64_t attempt; /* time of the next one */
    uint64_t pause;   /* before the attempt after that */
    uint64_t starts;
    uint64_t failures;
    bool is_full;
    struct virtio_net_buffer *free_buffers; /* accessed with interrupts masked */
    struct virtio_net_buffer *passed;       /* frame that is not done, or NULL; its parts: */
    struct device_segment segments[CARD_FRAME_BUFFERS];
    struct virtio_net_packet *free_packets;
    unsigned free_packet_count;
    struct virtio_net_buffer buffers[CARD_RECEIVE_BUFFERS];
    struct virtio_net_packet packets[CARD_PACKETS];
};

/* Finds the card, and allocates memory for frames. `wake` is posted when the card has work. Returns
 * false if there is no card, or too little memory; a line on the console says so. */
bool card_find(struct card *card, struct semaphore *wake);

/* Starts, watches, stops and restarts the driver, as far as it is time for that. Returns true if
 * the driver was started. */
bool card_tend(struct card *card, uint64_t now);
/* Returns when card_tend() has to be called next. */
uint64_t card_due(const struct card *card);

/* Returns the kinds of frames that the card takes. */
struct network_card card_abilities(const struct card *card);
/* Returns true if the state of the link may have changed, and stores it. */
bool card_link_changed(struct card *card, bool *is_up);

/* Passes received frames on, in at most `limit` steps: a frame, or a part of one that a client does
 * not take whole. Returns their number. */
unsigned card_receive(struct card *card, unsigned limit, struct network *network);
/* Describes a received frame, with these segments. Returns false if it is in too many buffers: a
 * device makes no frame that is larger than CARD_FRAME_BUFFERS. */
bool card_describe(const struct virtio_net_buffer *buffer,
                   struct device_segment segments[CARD_FRAME_BUFFERS],
                   struct device_net_frame *frame);
/* Gives the buffers of a received frame back. */
void card_put_buffers(struct card *card, struct virtio_net_buffer *buffer);
/* Returns true if there is room for any frame; also if the card has sent nothing for a while: its
 * frames are then lost, so that clients reach each other. */
bool card_has_room(struct card *card, uint64_t now);
/* Copies a frame and sends it. */
bool card_send(struct card *card, const struct device_net_frame *frame);
/* Notifies the card of what was sent. */
void card_flush(struct card *card);
/* Gives the packets of a frame back that the driver has returned, or refused. */
void card_put_packets(struct card *card, struct virtio_net_packet *packet);
/* Asks the card to interrupt. Returns false if it has work already. */
bool card_sleep(struct card *card);

#endif
