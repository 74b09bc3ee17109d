/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A station on QEMU's network device: the driver, its owner, and the far end of the wire, which is
 * a socket. The test fails if a buffer or packet of the owner is lost, returned twice, or accessed
 * while another party holds it. Frames carry a number and a pattern computed from it, and arrive in
 * order.
 *
 * The driver is called as on a real system: its interrupt handler only after the device raised an
 * interrupt, its bottom half only after a signal. Therefore a lost interrupt leads to a timeout.
 *
 * Each queue pair is a station of its own, in an array. The functions below concern the device and
 * take the first station, unless their names contain "pair". The frames of a pair are a flow. The
 * far end answers a flow on the pair that last sent a frame of it (Linux's tap with several
 * queues). A frame that arrives on another pair counts for its flow anyway.
 */
#ifndef TESTS_DEVICE_STATION_H
#define TESTS_DEVICE_STATION_H

#include "frames.h"
#include "setting.h"
#include "virtio/mmio.h"
#include "virtio/net_control.h"
#include "virtio/pci.h"

/* cmocka.h needs these headers before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define STATION_PAIRS_MAX    4u /* maximum number of queue pairs */
#define STATION_BUFFERS      64u
#define STATION_BUFFER_BYTES ((size_t)2048)
#define STATION_PACKETS      512u
#define STATION_LARGE        8u /* packets under way that are larger than a frame */
#define STATION_LARGE_BYTES  ((size_t)66048)
#define STATION_FRAME_BYTES  65664u
#define STATION_FRAME_MIN    60u
#define STATION_FRAME_MAX    1514u
#define STATION_PATIENCE     (UINT64_C(20) * 1000000000u) /* ns */

/* after the Ethernet and IPv4 headers: Linux's tap accepts no smaller value */
#define STATION_CHECKSUM_START  34u
#define STATION_CHECKSUM_OFFSET 6u

#define STATION_PACKET_MEMORY (STATION_PACKETS * (size_t)2048 + STATION_LARGE * STATION_LARGE_BYTES)
#define STATION_PIECES_MAX    24u
#define STATION_TCP_CHECKSUM  16u /* offset in the TCP header */

/* Linux's struct virtio_net_hdr as used by a packet socket: legacy, in the host's byte order. */
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
    uint8_t flow; /* flow of its frames; 0: plain frames */
    struct virtio_mmio mmio;
    struct virtio_pci pci;
    struct virtio_pci_function *function;
    struct virtio_transport *transport;
    unsigned line; /* number of its interrupt line */
    struct virtio_net *net;
    struct virtio_net_parameters parameters;
    bool signalled;

    struct station_buffer buffers[STATION_BUFFERS];
    unsigned buffers_usable;
    uint8_t *buffer_memory;
    struct station_packet packets[STATION_PACKETS];
    uint8_t
        *packet_memory; /* STATION_PACKETS of 2048 bytes, STATION_LARGE of STATION_LARGE_BYTES */
    struct station_packet *large[STATION_LARGE]; /* packet that used the memory last */
    unsigned next_large;

    uint32_t sent;           /* number of frames transmitted */
    uint32_t arrived;        /* number of frames arrived at the far end */
    uint32_t returned;       /* number of packets returned */
    uint32_t injected;       /* number of frames sent by the far end */
    uint32_t received;       /* number of frames received by the station */
    uint32_t stale_arrivals; /* frames with lower numbers are older than station_clear_wire() */
    uint32_t stale_frames;
    uint32_t link_changes;
    uint32_t announcements;            /* number of announcements that the device requested */
    uint32_t frame_bytes;              /* length of the last frame received */
    uint16_t frame_buffers;            /* number of its buffers */
    enum virtio_net_checksum checksum; /* state of its checksum */
    uint16_t checksum_start;           /* start of its checksummed part */
    uint16_t checksum_offset;          /* offset of its checksum */
    struct frame_kind frame_kind;      /* its kind */
    uint32_t steered;                  /* frames that arrived on the pair of their flow */
    uint32_t send_up_to;               /* limit used by station_exchange() */
    uint32_t inject_up_to;

    /* With setting->vnet: headers of the last frame to and the next frame from the far end. */
    struct station_header far_got;
    struct station_header far_sends;
    /* The device computes the checksum from STATION_CHECKSUM_START on, and stores it
     * STATION_CHECKSUM_OFFSET bytes after that. */
    bool leave_checksum;
};

/* Attaches to the machine and finds the device. The test fails if there is none. */
void station_open(struct station *station, const struct setting *setting);
/* Takes all buffers back and checks that none is missing and that the counters balance. */
void station_close(struct station *station);

/* Creates the driver. Returns NULL, or the reason for a failure. */
const char *station_try_start(struct station *station);
/* Creates the driver, which must succeed with exactly the expected features. */
void station_start(struct station *station);
/* Stops and frees the driver. Frames under way are discarded. */
void station_stop(struct station *station);

/* Returns the number of stations that have a pair, according to the settings. */
unsigned station_pairs(const struct station *station);
/* Returns the pair of a flow. Plain frames belong to the first pair. */
struct station *station_of_flow(struct station *station, uint8_t flow);

/* Sends a frame on this pair in `segments` pieces. Returns false if the driver refuses it. */
bool station_send(struct station *station, uint32_t bytes, unsigned segments);
/* Sends a TCP segment in `segments` pieces, which the device is to cut into frames with `gso_bytes`
 * of data. */
bool station_send_large(struct station *station, uint32_t bytes, unsigned segments,
                        enum virtio_net_gso type, uint16_t gso_bytes);
/* At the far end: receives and checks the next frame if there is one; sends a frame of this pair's
 * flow. */
bool station_arrive(struct station *station);
bool station_inject(struct station *station, uint32_t bytes);
/* Sends a frame with a tag for this VLAN. */
bool station_inject_tagged(struct station *station, uint32_t bytes, uint16_t vlan);
/* Sends a frame with TCP headers. far_sends describes its offloads. */
bool station_inject_large(struct station *station, uint32_t bytes, enum virtio_net_gso type);
/* Discards the frames on the wire. Both sides count from here; older frames may still arrive. */
void station_clear_wire(struct station *station);

/* Takes interrupts and runs their handlers and bottom halves. With `drain` the far end also
 * receives its frames. Waits a little if there is nothing to do. */
void station_serve(struct station *station, bool drain);
/* Does the same for one pair. */
void station_check_balance(struct station *station);
struct virtio_net_statistics station_statistics(struct station *station);

/* Prints the state of all counters, for a failure report. */
void station_describe(struct station *station);

/* Serves the station until `condition` holds. The test fails if that takes too long. */
#define station_until(station, condition)                                     \
    do {                                                                      \
        uint64_t station_started = virtio_platform_now();                     \
        while (!(condition)) {                                                \
            if (virtio_platform_now() - station_started > STATION_PATIENCE) { \
                station_describe(station);                                    \
                fail_msg("timeout while waiting for: %s", #condition);        \
            }                                                                 \
            station_serve(station, true);                                     \
        }                                                                     \
    } while (0)

/* Exchanges `count` frames of many sizes both ways on each pair, in 1 to `segments` pieces. All of
 * them arrive. */
void station_exchange(struct station *station, unsigned count, unsigned segments);

#endif
