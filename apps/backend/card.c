/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of the card's driver. */
#include "card.h"

#include "kernel/memory.h"
#include "kernel/print.h"
#include "kernel/time.h"
#include "virtio/net_control.h"

/* Time between two attempts to restart the card, doubled after each failure. A card that has run
 * for HEALTHY before it failed starts at the minimum again (docs/recovery.md). */
#define PAUSE_MIN (10 * NANOSECONDS_PER_MILLISECOND)
#define PAUSE_MAX (10 * NANOSECONDS_PER_SECOND)
#define HEALTHY   (10 * NANOSECONDS_PER_SECOND)

/* Period of the checks of the device's status (virtio/net.h). */
#define WATCH NANOSECONDS_PER_SECOND

/* A card that has sent nothing for so long loses frames, so that clients reach each other. */
#define FULL_MAX (100 * NANOSECONDS_PER_MILLISECOND)

_Static_assert(VIRTIO_NET_LARGE_RECEIVE_BYTES <= CARD_EXPOSED_MIN * CARD_RECEIVE_BYTES,
               "the card may receive frames of several segments");

static struct virtio_net_buffer *take_buffer(void *context)
{
    struct card *card = context;
    struct virtio_net_buffer *buffer = card->free_buffers;

    if (buffer != NULL) {
        card->free_buffers = buffer->next;
    }
    return buffer;
}

static void return_buffer(void *context, struct virtio_net_buffer *buffer)
{
    struct card *card = context;

    buffer->next = card->free_buffers;
    card->free_buffers = buffer;
}

static void wake(void *context)
{
    struct card *card = context;

    (void)semaphore_post(card->wake);
}

static const struct virtio_net_operations operations = {
    .receive_buffer = take_buffer,
    .return_buffer = return_buffer,
    .signal = wake,
};

/* The exposed buffers hold a frame of several segments (VIRTIO_NET_LARGE_RECEIVE_BYTES), which is
 * passed on whole to clients that take it. */
static const struct virtio_net_parameters parameters = {
    .rx_buffers = CARD_EXPOSED_MIN,
    .rx_buffers_max = CARD_EXPOSED_MAX,
    .tx_ring = CARD_PACKETS,
    .send_queue = CARD_PACKETS,
    .deferred = true,
    .receive_bytes = CARD_RECEIVE_BYTES,
};

static bool allocate(struct card *card)
{
    size_t buffers = (size_t)CARD_RECEIVE_BUFFERS * CARD_RECEIVE_BYTES / PAGE_BYTES;
    size_t packets = (size_t)CARD_PACKETS * CARD_PACKET_BYTES / PAGE_BYTES;
    uint8_t *memory = page_allocate(buffers + packets, PAGE_BYTES);

    if (memory == NULL) {
        return false;
    }
    for (unsigned i = 0; i < CARD_RECEIVE_BUFFERS; i++, memory += CARD_RECEIVE_BYTES) {
        card->buffers[i].memory = memory;
        card->buffers[i].capacity = CARD_RECEIVE_BYTES;
        return_buffer(card, &card->buffers[i]);
    }
    for (unsigned i = 0; i < CARD_PACKETS; i++, memory += CARD_PACKET_BYTES) {
        card->packets[i].owner = memory;
        card->packets[i].next = card->free_packets;
        card->free_packets = &card->packets[i];
    }
    card->free_packet_count = CARD_PACKETS;
    return true;
}

bool card_find(struct card *card, struct semaphore *semaphore)
{
    card->wake = semaphore;
    card->pause = PAUSE_MIN;
    if (virtio_find_network(0, &card->device) != RESULT_OK) {
        print("backend: no virtio network device: clients reach each other only\n");
        return false;
    }
    if (!allocate(card)) {
        print("backend: too little memory for frames of the card\n");
        return false;
    }
    card->state = CARD_STOPPED;
    return true;
}

/* Sets the time of the next attempt. */
static void pause_until(struct card *card, uint64_t now)
{
    card->attempt = now + card->pause;
    card->pause = 2 * card->pause < PAUSE_MAX ? 2 * card->pause : PAUSE_MAX;
}

/* Creates the driver and connects it. Returns NULL, or why it can't be. */
static const char *create(struct card *card)
{
    const char *reason = "it has changed";

    if (!virtio_network_restore(&card->device)) {
        return "it is gone";
    }
    if (card->failures != 0 && !virtio_network_probe(&card->device, &reason)) {
        return reason;
    }
    card->net = virtio_net_create(virtio_network_transport(&card->device), &parameters, &operations,
                                  card, &reason);
    if (card->net == NULL) {
        return reason;
    }
    if (!virtio_network_connect(&card->device, card->net)) {
        return "its interrupt can't be attached";
    }
    return NULL;
}

static bool start(struct card *card, uint64_t now)
{
    const char *reason = create(card);

    if (reason != NULL) {
        if (reason != card->reported) {
            print("backend: the card can't be started yet: %s\n", reason);
            card->reported = reason;
        }
        card->failures++;
        card->state = card->net == NULL ? CARD_STOPPED : CARD_STOPPING;
        pause_until(card, now);
        return false;
    }
    card->state = CARD_RUNNING;
    card->starts++;
    card->reported = NULL;
    card->started = now;
    card->watched = now;
    card->is_full = false;
    (void)virtio_net_interrupt(card->net); /* those from before the connection */
    if ((virtio_net_features(card->net) & VIRTIO_NET_F_CTRL_RX) != 0) {
        (void)virtio_net_set_receive_mode(card->net, VIRTIO_NET_PROMISCUOUS, true);
    }
    if (card->failures != 0) {
        print("backend: the card was restarted\n");
    }
    return true;
}

static void collect(struct card *card)
{
    struct virtio_net_packet *packet;

    while ((packet = virtio_net_transmitted(card->net)) != NULL) {
        card_put_packets(card, packet);
    }
}

/* Frees the driver once the device has confirmed its reset: it owns its buffers until then. */
static void stop(struct card *card, uint64_t now)
{
    if (!virtio_network_restore(&card->device) || !virtio_net_stop(card->net)) {
        pause_until(card, now);
        return;
    }
    collect(card);
    virtio_net_free(card->net);
    card->net = NULL;
    card->state = CARD_STOPPED;
    card->attempt = now;
}

static void watch(struct card *card, uint64_t now)
{
    if (now - card->watched >= WATCH) {
        card->watched = now;
        virtio_net_watch(card->net);
    }
    if (virtio_net_broken(card->net) == NULL) {
        return;
    }
    print("backend: the card has failed: %s\n", virtio_net_broken(card->net));
    (void)virtio_network_connect(&card->device, NULL);
    card->failures++;
    card->state = CARD_STOPPING;
    card->attempt = now;
    if (now - card->started >= HEALTHY) {
        card->pause = PAUSE_MIN;
    } else {
        pause_until(card, now);
    }
}

bool card_tend(struct card *card, uint64_t now)
{
    if (card->state == CARD_RUNNING) {
        watch(card, now);
    }
    if (card->state == CARD_STOPPING && now >= card->attempt) {
        stop(card, now);
    }
    return card->state == CARD_STOPPED && now >= card->attempt && start(card, now);
}

uint64_t card_due(const struct card *card)
{
    switch (card->state) {
    case CARD_RUNNING:
        return card->watched + WATCH;
    case CARD_STOPPED:
    case CARD_STOPPING:
        return card->attempt;
    case CARD_ABSENT:
    default:
        return DEADLINE_NONE;
    }
}

struct network_card card_abilities(const struct card *card)
{
    struct network_card abilities = {.is_open = card->state == CARD_RUNNING};

    if (abilities.is_open) {
        abilities.completes_checksums = (virtio_net_features(card->net) & VIRTIO_NET_F_CSUM) != 0;
        abilities.segments_tcpv4 = virtio_net_offers_gso(card->net, VIRTIO_NET_GSO_TCPV4);
        abilities.segments_tcpv6 = virtio_net_offers_gso(card->net, VIRTIO_NET_GSO_TCPV6);
    }
    return abilities;
}

bool card_link_changed(struct card *card, bool *is_up)
{
    if (card->state != CARD_RUNNING || !virtio_net_link_changed(card->net) ||
        virtio_net_broken(card->net) != NULL) {
        return false;
    }
    *is_up = virtio_net_link_up(card->net);
    return true;
}

bool card_sleep(struct card *card)
{
    bool has_work;

    if (card->state != CARD_RUNNING) {
        return true;
    }
    collect(card);
    has_work = virtio_net_bottom_half(card->net);
    virtio_network_rearm(&card->device);
    return !has_work && virtio_net_broken(card->net) == NULL;
}

bool card_has_room(struct card *card, uint64_t now)
{
    const unsigned need = (DEVICE_NET_FRAME_MAX + CARD_PACKET_BYTES - 1) / CARD_PACKET_BYTES + 1;

    if (card->state != CARD_RUNNING || card->free_packet_count >= need) {
        card->is_full = false;
        return true;
    }
    collect(card);
    if (card->free_packet_count >= need) {
        card->is_full = false;
        return true;
    }
    if (!card->is_full) {
        card->is_full = true;
        card->full_since = now;
    }
    return now - card->full_since > FULL_MAX;
}
