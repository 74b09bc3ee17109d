/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The back-end of shared network devices: it serves the drivers of up to 16 clients, and connects
 * them with each other and with a card. It reads what a driver has set up from the page of its
 * device (arch/shared_device.h), serves the queues (virtio/device_net.h), and lets the switch
 * decide (backend/frame_switch.h, backend/fair_queue.h).
 *
 * A program owns the card, the doorbells and the clock. It executes rounds, in one thread:
 *
 *   network_begin()     looks for drivers that have started or stopped, and executes commands
 *   network_deliver()   for frames from the card that wait, a bounded number
 *   network_receive()   for further ones, a bounded number
 *   network_service()   moves frames of clients
 *   network_end()       publishes all of that, with at most one interrupt for each client
 *
 * A client's rings and buffers are accessed between network_begin() and network_end(), and in
 * network_sleep() and network_wake(). When nothing is left, network_sleep() asks the drivers to
 * notify, and the program waits for a doorbell.
 *
 * The drivers are not trusted. One that breaks a rule is reported to fail() and not served any more
 * until it resets its device; the others notice nothing. A frame that a client sends is on its way
 * until it has left from all ports, and a card without room lets senders wait. A frame from the
 * card for one client that has too few buffers waits for them, in the card's memory, for a bounded
 * time; other frames for a client without buffers are lost.
 *
 * Lives. A program that begins again serves the same drivers from where their used indices stand. A
 * frame that was not finished then is sent once more; none is lost.
 *
 * Times are nanoseconds of a monotonic clock. No function waits, and each has a bound: a number of
 * frames, commands or clients. The caller serialises all calls. Any context.
 */
#ifndef BACKEND_NETWORK_H
#define BACKEND_NETWORK_H

#include "backend/client_page.h"
#include "backend/fair_queue.h"
#include "backend/frame_mirror.h"
#include "backend/frame_switch.h"
#include "virtio/device_net.h"
#include <stdbool.h>
#include <stdint.h>

#define NETWORK_CLIENTS_MAX FRAME_SWITCH_CLIENTS_MAX

/* The largest frame without its tag: with a tag, a card that segments still takes it
 * (VIRTIO 1.3, 5.1.6.3.1). */
#define NETWORK_FRAME_BYTES_MAX (DEVICE_NET_FRAME_MAX - 1u - FRAME_TAG_BYTES)

/* A client's device, as the system file describes it. */
struct network_client_setup {
    const struct shared_device_page *page; /* outlives the network, as does: */
    struct device_memory memory;           /* of the client */
    uint64_t features;                     /* offered */
    struct frame_switch_rules rules;
    struct fair_share share;
    uint16_t mtu;
    uint8_t mac[6]; /* of the configuration */
};

/* The work that the card does on frames of send(). */
struct network_card {
    bool is_open;             /* it takes frames; others are lost */
    bool completes_checksums; /* takes checksum_partial */
    bool segments_tcpv4;      /* takes DEVICE_NET_GSO_TCPV4, with completes_checksums */
    bool segments_tcpv6;
};

/* The program's part. The functions call none of this library's for the same network. `client`: by
 * its place in the setup. */
struct network_operations {
    /* CALL_SHARED_DEVICE_ACKNOWLEDGE: the client's queues before `generation` are not accessed any
     * more. */
    void (*acknowledge)(void *context, unsigned client, uint32_t generation);
    /* CALL_SHARED_DEVICE_INTERRUPT, because of used buffers. */
    void (*interrupt)(void *context, unsigned client);
    /* CALL_SHARED_DEVICE_CONFIGURE of the status field (VIRTIO 1.3, 5.1.4). */
    void (*configure)(void *context, unsigned client, uint16_t status);
    /* CALL_SHARED_DEVICE_FAIL. `reason`: a static text. */
    void (*fail)(void *context, unsigned client, const char *reason);
    /* Returns true if the card has room for any frame. */
    bool (*has_room)(void *context);
    /* Copies a frame for the card (backend/frame_copy.h); has_room() has returned true. Returns
     * false if the card does not take it, because of its length for example. */
    bool (*send)(void *context, const struct device_net_frame *frame);
    /* Describes a frame that waits, as network_receive() got it; its segments stay as they are
     * until the next call. Both may be NULL if no frame may wait. */
    void (*describe)(void *context, void *token, struct device_net_frame *frame);
    /* A frame that waited is done. */
    void (*release)(void *context, void *token);
};

/* Private to network/, and visible so that its owner can allocate it and read counters: */

/* A frame on its way to several ports. */
struct network_transfer {
    struct device_net_frame frame; /* as it came */
    struct frame_decision decision;
    uint32_t ports;                                          /* that it has not left from */
    uint32_t copied;                                         /* bytes of `first` */
    uint8_t first[FRAME_HEADER_BYTES_MAX];                   /* copy of its first bytes */
    bool may_wait;                                           /* for a client's buffers */
    bool is_divided;                                         /* for the first of `ports` */
    uint32_t skipped;                                        /* segments that left before */
    uint32_t sent;                                           /* segments, with those */
    uint8_t start[FRAME_HEADER_BYTES_MAX + FRAME_TAG_BYTES]; /* as it leaves */
    struct device_segment segments[1 + DEVICE_QUEUE_SIZE_MAX];
    struct device_net_segmentation segmentation;
};

enum network_client_state {
    NETWORK_CLIENT_STOPPED, /* its driver has not started */
    NETWORK_CLIENT_RUNNING,
    NETWORK_CLIENT_FAILED, /* until the driver resets the device */
};

struct network_client_statistics {
    uint64_t starts;  /* of its driver */
    uint64_t resumed; /* of these, continued from an earlier life of this program */
    uint64_t failures;
    uint64_t bad_chains;    /* of earlier starts: what its driver sent was no frame */
    uint64_t bad_checksums; /* frames dropped: the checksum's place is in the Ethernet header */
    uint64_t interrupts;
    uint64_t interrupts_delayed; /* of which some were not needed any more */
};

/* The interrupt of a client: at once, or delayed (network/interrupt.c). */
struct network_interrupt {
    bool is_owed; /* for this round, or for an earlier life of this program */
    bool is_delayed;
    bool has_published;                /* this round */
    uint64_t due;                      /* a delayed one is decided then */
    uint64_t published;                /* time of the last round that published */
    unsigned unwanted;                 /* grows with rounds that published, and owed none */
    uint16_t since[DEVICE_NET_QUEUES]; /* used indices before the round that owed the delayed one */
};

#define NETWORK_WAITING_MAX 64u

/* A frame from the card that waits for buffers of one client. */
struct network_waiting {
    void *token;
    struct frame_decision decision;
    uint32_t bytes; /* of the program's memory */
    uint32_t sent;  /* its segments that have left */
    uint64_t since;
};

/* The frames that wait for a client, a ring. */
struct network_backlog {
    struct network_waiting frames[NETWORK_WAITING_MAX];
    unsigned first;
    unsigned count;
    uint32_t bytes;
    uint16_t seen; /* available index when the client had too few buffers for the first frame */
    bool is_short; /* it has too few, unless the index has changed */
};

struct network_client {
    struct network_client_setup setup;
    enum network_client_state state;
    const char *failure; /* the last reason, or NULL */
    struct network_client_statistics statistics;
    struct device_net net;
    struct device_chain chain; /* of the transfer */
    struct network_transfer transfer;
    bool has_transfer; /* a frame was taken, and not finished */
    bool is_charged;   /* and has begun to leave */
    struct network_interrupt interrupt;
    struct network_backlog backlog;
    struct client_page page;
    uint32_t ready; /* a bit a queue: those that are served */
};

struct network {
    const struct network_operations *operations;
    void *context;
    struct network_client *clients;
    unsigned count;
    struct frame_switch bridge;
    struct fair_queue queue;
    struct network_card card;
    struct network_transfer from_card;
    struct network_waiting arrival; /* of from_card; no token: it must not wait */
    struct network_transfer from_backlog;
    uint32_t backlog_bytes;     /* of each client, at most */
    struct frame_mirror mirror; /* of the switch's ports; the program initialises it, if it wants */
    uint64_t now;
    uint64_t moved; /* frames taken from clients and from the card, and further segments of them */
    bool is_link_up;
};

/*
 * Initialises a network for `count` clients, whose memory the caller provides in `clients`: the
 * client `i` is the port i + 1 of the switch. `secret`: a random number (backend/address_table.h).
 * The card is closed, and the links are down. Returns NULL, or a static text that says which part
 * of the setup can't be used.
 */
const char *network_init(struct network *network, struct network_client *clients,
                         const struct network_client_setup *setups, unsigned count,
                         const struct network_operations *operations, void *context,
                         uint64_t secret, uint64_t now);

/* Changes what the card takes, between rounds or in one. */
void network_set_card(struct network *network, const struct network_card *card);
/* Changes the state of all clients' links, and tells their drivers. The first call always does, so
 * that the configuration is right after an earlier life. */
void network_set_link(struct network *network, bool is_up);

/* Begins a round. */
void network_begin(struct network *network, uint64_t now);

/* Lets each client's frames wait in so many bytes of the program's memory; 0, as in the beginning:
 * none waits. */
void network_set_backlog(struct network *network, uint32_t bytes);
/* Moves frames that wait: at most `budget` frames or segments. */
void network_deliver(struct network *network, unsigned budget);

enum network_reception {
    NETWORK_RECEIVED, /* the frame is done */
    NETWORK_PARTLY,   /* frame->segments stay as they are until network_receive_more() has returned
                         another value; there is no other network_receive() before */
    NETWORK_WAITS,    /* the frame's memory stays as it is until release() */
};

/* Passes a frame from the card on to a client, or the first of its segments if the client does not
 * take it whole. `token`: describe() gets it if the frame waits; NULL: it must not. `bytes`: of the
 * memory that it then keeps. */
enum network_reception network_receive(struct network *network,
                                       const struct device_net_frame *frame, void *token,
                                       uint32_t bytes);
/* Passes the same frame on to the next client, or its next segment. */
enum network_reception network_receive_more(struct network *network);

enum network_answer {
    NETWORK_MORE,    /* `budget` is used up */
    NETWORK_NO_ROOM, /* until the card has room */
    NETWORK_WAIT,    /* the clients with frames are held back by their limits until *time */
    NETWORK_IDLE,
};

/* Moves frames of the clients: at most `budget` leave, or are looked at. */
enum network_answer network_service(struct network *network, unsigned budget, uint64_t *time);
/* Ends a round. */
void network_end(struct network *network);

/* Returns when there is a round to execute at the latest, also while the program sleeps: a delayed
 * interrupt, or a frame that has waited for too long. UINT64_MAX: neither. */
uint64_t network_due(const struct network *network);
/* Asks the drivers to notify. Returns false if there is work already: the caller executes a round,
 * and tries again. Not in a round. */
bool network_sleep(struct network *network);
/* Asks the drivers not to notify, because rounds follow. */
void network_wake(struct network *network);

#endif
