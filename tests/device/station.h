/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A station on QEMU's network device: the driver with an owner whose buffers and packets are
 * followed (one that is lost, returned twice or touched while somebody else has it fails the test),
 * and the far end of the wire, which is a socket. Frames carry a number and a pattern made from it,
 * and arrive in order.
 *
 * The driver is called as on a real system: its interrupt handler only when the device raised an
 * interrupt, its bottom half only when it was signalled. So an interrupt that gets lost ends in a
 * time-out.
 *
 * With several queue pairs each is a station of its own, in an array; the functions below are about
 * the device, and take the first, unless they say "pair". The frames of a pair are a flow, which
 * the far end answers on the pair that last sent something of it (Linux's tap with several queues);
 * one that comes in on another is counted for its flow all the same.
 */
#ifndef TESTS_DEVICE_STATION_H
#define TESTS_DEVICE_STATION_H

#include "frames.h"
#include "setting.h"
#include "virtio/mmio.h"
#include "virtio/net_control.h"
#include "virtio/pci.h"

/* cmocka wants these in front of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define STATION_PAIRS_MAX    4u /* of queues */
#define STATION_BUFFERS      64u
#define STATION_BUFFER_BYTES ((size_t)2048)
#define STATION_PACKETS      512u
#define STATION_LARGE        8u /* packets under way of more than a frame's bytes */
#define STATION_LARGE_BYTES  ((size_t)66048)
#define STATION_FRAME_BYTES  65664u
#define STATION_FRAME_MIN    60u
#define STATION_FRAME_MAX    1514u
#define STATION_PATIENCE     (UINT64_C(20) * 1000000000u) /* ns */

/* Behind Ethernet and IPv4 headers: Linux's tap takes no less. */
#define STATION_CHECKSUM_START  34u
#define STATION_CHECKSUM_OFFSET 6u

#define STATION_PACKET_MEMORY (STATION_PACKETS * (size_t)2048 + STATION_LARGE * STATION_LARGE_BYTES)
#define STATION_PIECES_MAX    24u
#define STATION_TCP_CHECKSUM  16u /* in the TCP header */

/* Linux's struct virtio_net_hdr, as a packet socket has it: legacy, in the host's byte order. */
struct station_header {
    uint8_t flags;
    uint8_t gso_type;
    uint16_t header_bytes;
    uint16_t gso_bytes;
    uint16_t checksum_start;
    uint16_t checksum_offset;
};

struct station_buffer {
    struct virtio_net_buffer buffer;
    bool with_driver;
};

struct station_packet {
    struct virtio_net_packet packet;
    struct virtio_net_packet rest[STATION_PIECES_MAX / VIRTIO_NET_SEGMENTS_MAX];
    uint8_t *memory; /* header and frame */
    size_t bytes;
    bool with_driver;
};

struct station {
    const struct setting *setting;
    unsigned pair;
    uint8_t flow; /* of its frames; 0: they are plain ones */
    struct virtio_mmio mmio;
    struct virtio_pci pci;
    struct virtio_pci_function *function;
    struct virtio_transport *transport;
    unsigned line; /* its interrupt line */
    struct virtio_net *net;
    struct virtio_net_parameters parameters;
    bool signalled;

    struct station_buffer buffers[STATION_BUFFERS];
    unsigned buffers_usable;
    uint8_t *buffer_memory;
    struct station_packet packets[STATION_PACKETS];
    uint8_t
        *packet_memory; /* STATION_PACKETS of 2048 bytes, STATION_LARGE of STATION_LARGE_BYTES */
    struct station_packet *large[STATION_LARGE]; /* who had the memory last */
    unsigned next_large;

    uint32_t sent;           /* numbers given out to frames transmitted */
    uint32_t arrived;        /* seen at the far end */
    uint32_t returned;       /* packets that came back */
    uint32_t injected;       /* numbers given out at the far end */
    uint32_t received;       /* seen by the station */
    uint32_t stale_arrivals; /* numbers below are of before station_clear_wire() */
    uint32_t stale_frames;
    uint32_t link_changes;
    uint32_t announcements;            /* asked for by the device */
    uint32_t frame_bytes;              /* of the last frame received */
    uint16_t frame_buffers;            /* the same */
    enum virtio_net_checksum checksum; /* the same */
    uint16_t checksum_start;           /* the same */
    uint16_t checksum_offset;          /* the same */
    struct frame_kind frame_kind;      /* the same */
    uint32_t steered;                  /* frames that came in on the pair of their flow */
    uint32_t send_up_to;               /* in station_exchange() */
    uint32_t inject_up_to;

    /* With setting->vnet: what the far end got with the last frame, and sends with the next. */
    struct station_header far_got;
    struct station_header far_sends;
    bool leave_checksum; /* to the device: it is to be stored STATION_CHECKSUM_OFFSET bytes after */
                         /* STATION_CHECKSUM_START, from where it counts */
};

/* Attaches to the machine, finds the device; fails the test if there is none. */
void station_open(struct station *station, const struct setting *setting);
/* Fetches everything back, checks that nothing is missing and the counters balance. */
void station_close(struct station *station);

/* Creates the driver; NULL, or the reason why it could not be. */
const char *station_try_start(struct station *station);
/* The same, which must work, with exactly the features the setting expects. */
void station_start(struct station *station);
/* Stops and frees the driver; frames under way are forgotten. */
void station_stop(struct station *station);

/* How many of the stations have a pair, as far as the setting goes. */
unsigned station_pairs(const struct station *station);
/* The pair of this flow; no flow is the first's. */
struct station *station_of_flow(struct station *station, uint8_t flow);

/* A frame of this pair in `segments` pieces. False: the driver refuses it. */
bool station_send(struct station *station, uint32_t bytes, unsigned segments);
/* A TCP segment for the device to cut into frames with `gso_bytes` of data, in `segments` pieces.
 */
bool station_send_large(struct station *station, uint32_t bytes, unsigned segments,
                        enum virtio_net_gso type, uint16_t gso_bytes);
/* The far end: takes the next frame, if one has come, and checks it; sends one of this pair's flow.
 */
bool station_arrive(struct station *station);
bool station_inject(struct station *station, uint32_t bytes);
/* The same, with a tag for this VLAN. */
bool station_inject_tagged(struct station *station, uint32_t bytes, uint16_t vlan);
/* The same, with TCP's headers; far_sends says what is to be done with it. */
bool station_inject_large(struct station *station, uint32_t bytes, enum virtio_net_gso type);
/* Forgets what is on the wire: both sides count from here, and older frames may still come. */
void station_clear_wire(struct station *station);

/* Takes in interrupts and runs what they cause; the far end takes its frames if `drain`. Waits a
 * little if there is nothing. */
void station_serve(struct station *station, bool drain);
/* The pair's. */
void station_check_balance(struct station *station);
struct virtio_net_statistics station_statistics(struct station *station);

/* Writes where everything stands, for a failure's report. */
void station_describe(struct station *station);

/* Serves until `condition` holds; the test fails if that takes long. */
#define station_until(station, condition)                                     \
    do {                                                                      \
        uint64_t station_started = virtio_platform_now();                     \
        while (!(condition)) {                                                \
            if (virtio_platform_now() - station_started > STATION_PATIENCE) { \
                station_describe(station);                                    \
                fail_msg("waited in vain for: %s", #condition);               \
            }                                                                 \
            station_serve(station, true);                                     \
        }                                                                     \
    } while (0)

/* Both ways at once on each pair: `count` frames of many sizes, in 1 to `segments` pieces.
 * Everything arrives. */
void station_exchange(struct station *station, unsigned count, unsigned segments);

#endif
