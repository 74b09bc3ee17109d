/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device's side of a network device with one pair of queues (VIRTIO 1.3, 5.1), for a device in
 * software that serves a driver in another partition or process. It moves frames between the
 * driver's buffers and the caller, who connects devices with each other or with a network.
 *
 * A frame is a list of segments, which may be in the memory of another driver: nothing is copied
 * but by device_net_deliver(), into the buffers of the driver that receives the frame. A driver may
 * change a frame's content until its chain is finished, so the caller copies what it decides by.
 *
 * The driver is not trusted. A bad frame or command is dropped and counted. If a queue can't go on
 * (virtio/device_queue.h), its `broken` has the reason, and it moves nothing any more until the
 * driver resets the device.
 *
 * Publishing. Functions below finish chains, and do not publish them: the caller does so with
 * device_queue_publish() for net->receive, transmit or control, once for a batch, and interrupts
 * the driver if that returns true. The caller also uses device_queue_suppress() and _enable() of
 * these queues.
 *
 * The caller serialises all calls for one device. No function waits. Any context.
 */
#ifndef VIRTIO_DEVICE_NET_H
#define VIRTIO_DEVICE_NET_H

#include "virtio/device_queue.h"
#include "virtio/features.h"
#include <stdbool.h>
#include <stdint.h>

/* Bytes of struct virtio_net_hdr (5.1.6). */
#define DEVICE_NET_HEADER_BYTES 12u
/* The smallest frame is an Ethernet header. The largest is made of several TCP segments
 * (5.1.6.3.1). */
#define DEVICE_NET_FRAME_MIN 14u
#define DEVICE_NET_FRAME_MAX 65550u

/*
 * Features that the device supports. CTRL_MAC_ADDR is not among them, because the address is part
 * of the registers, which a device here only reads; nor is CTRL_VLAN, because frames of all VLANs
 * are delivered.
 */
#define DEVICE_NET_FEATURES                                                                 \
    (VIRTIO_F_VERSION_1 | VIRTIO_F_EVENT_IDX | VIRTIO_F_INDIRECT_DESC | VIRTIO_F_IN_ORDER | \
     VIRTIO_F_ACCESS_PLATFORM | VIRTIO_NET_F_MAC | VIRTIO_NET_F_STATUS | VIRTIO_NET_F_MTU | \
     VIRTIO_NET_F_CSUM | VIRTIO_NET_F_GUEST_CSUM | VIRTIO_NET_F_HOST_TSO4 |                 \
     VIRTIO_NET_F_HOST_TSO6 | VIRTIO_NET_F_GUEST_TSO4 | VIRTIO_NET_F_GUEST_TSO6 |           \
     VIRTIO_NET_F_MRG_RXBUF | VIRTIO_NET_F_CTRL_VQ | VIRTIO_NET_F_CTRL_RX |                 \
     VIRTIO_NET_F_CTRL_RX_EXTRA | VIRTIO_NET_F_GUEST_ANNOUNCE)

/* Checks the features that a driver has accepted: VERSION_1, only `offered` ones, and those on
 * which others depend (5.1.3.1). Returns NULL, or a static text that says why the device clears
 * FEATURES_OK (3.1.1, 2.2.2). */
const char *device_net_check_features(uint64_t offered, uint64_t accepted);

/* How a frame has to be segmented (5.1.6). The values are the standard's. */
enum device_net_gso {
    DEVICE_NET_GSO_NONE = 0,
    DEVICE_NET_GSO_TCPV4 = 1,
    DEVICE_NET_GSO_TCPV6 = 4,
};

struct device_net_frame {
    const struct device_segment *segments;
    unsigned count;           /* of segments */
    uint32_t bytes;           /* of all segments; DEVICE_NET_FRAME_MIN to DEVICE_NET_FRAME_MAX */
    enum device_net_gso gso;  /* not NONE: implies checksum_partial */
    uint16_t gso_bytes;       /* gso_size: bytes of data in each resulting frame, > 0 */
    uint16_t header_bytes;    /* hdr_len: bytes of headers, a hint */
    bool checksum_valid;      /* the caller has verified the checksum; not with checksum_partial */
    bool checksum_partial;    /* the checksum is incomplete: */
    uint16_t checksum_start;  /* csum_start: the frame's byte where the sum begins */
    uint16_t checksum_offset; /* csum_offset: place of the checksum from there on; it contains the
                                 sum of the pseudo header. Both bytes are inside of the frame */
};

struct device_net_statistics {
    uint64_t transmitted;          /* frames that device_net_take() returned */
    uint64_t transmit_bad;         /* chains dropped: no valid frame */
    uint64_t transmit_descriptors; /* that device_net_take() has read, for both */
    uint64_t received;             /* frames delivered */
    uint64_t receive_dropped;      /* frames refused, for each reason of device_net_deliver() */
    uint64_t commands;             /* commands of the control queue that were executed */
    uint64_t commands_refused;     /* answered with VIRTIO_NET_ERR, or without room for an answer */
};

#define DEVICE_NET_FILTER_MAX 64u /* addresses; with more, all frames pass (5.1.6.5.2) */

/* Frames that the driver wants (5.1.6.5.1, 5.1.6.5.2). */
struct device_net_filter {
    bool modes[6];  /* by the number of the command: promiscuous, all multicast, all unicast, no
                       multicast, no unicast, no broadcast */
    bool overflow;  /* the driver has set more addresses than the table has room for */
    uint16_t count; /* of addresses */
    uint8_t address[DEVICE_NET_FILTER_MAX][6];
};

/* Queues in the order of the standard (5.1.2). */
enum { DEVICE_NET_RECEIVE, DEVICE_NET_TRANSMIT, DEVICE_NET_CONTROL, DEVICE_NET_QUEUES };

struct device_net_setup {
    /* A queue that the driver has not enabled has size 0. The features of a queue are not used. */
    struct device_queue_setup queues[DEVICE_NET_QUEUES];
    uint64_t features; /* that the driver has accepted; device_net_check_features() returned NULL */
    uint16_t mtu;      /* of the configuration, 68 to 65535; used if MTU was accepted */
    uint16_t status;   /* of the configuration: DEVICE_NET_LINK_UP, DEVICE_NET_ANNOUNCE */
    uint8_t mac[6];    /* of the configuration */
};

#define DEVICE_NET_LINK_UP  0x1u /* VIRTIO_NET_S_LINK_UP */
#define DEVICE_NET_ANNOUNCE 0x2u /* VIRTIO_NET_S_ANNOUNCE */

struct device_net {
    struct device_queue receive;
    struct device_queue transmit;
    struct device_queue control;
    struct device_net_statistics statistics; /* since device_net_start() */

    /* Private to device/. */
    uint64_t features;
    uint16_t mtu; /* UINT16_MAX: no limit */
    uint16_t status;
    uint8_t mac[6];
    struct device_net_filter filter;
    bool transmit_bad[DEVICE_QUEUE_SIZE_MAX];        /* chains in flight without a valid frame */
    uint32_t receive_written[DEVICE_QUEUE_SIZE_MAX]; /* of the chains of one frame */
    struct device_chain chain;                       /* being filled, or a command */
};

/*
 * Starts to serve a driver that has set DRIVER_OK. `memory` must outlive the device. `resumed`: an
 * earlier life has served the same driver. Chains that it has finished and published are neither
 * served again nor lost; those that it only took are served again, so a frame that it sent without
 * finishing its chain is sent twice. Filters of the earlier life are lost: all frames pass. The
 * caller interrupts the driver once, because the earlier life may have ended before it did.
 * Returns NULL, or a static text that says why a queue can't be used: then that one is broken.
 */
const char *device_net_start(struct device_net *net, const struct device_memory *memory,
                             const struct device_net_setup *setup, bool resumed);

#define DEVICE_NET_BAD_CHAINS_MAX 16u

/*
 * Takes the driver's next frame to send. Its segments are in `chain`, and chain and driver's memory
 * stay as they are until device_net_finish() for this frame. Frames are finished in the order in
 * which they were taken; several may be in flight. Chains without a valid frame are dropped: with
 * writable segments, too short or too long, or with a header that the driver may not write with the
 * features that it has accepted (5.1.6.2). Returns false if there is no frame, or after
 * DEVICE_NET_BAD_CHAINS_MAX bad chains.
 */
bool device_net_take(struct device_net *net, struct device_chain *chain,
                     struct device_net_frame *frame);
/* Finishes the frame that was taken first of those in flight. There is one. */
void device_net_finish(struct device_net *net);
/* Gives the frame that was taken last, and not finished, back: device_net_take() returns it again.
 */
void device_net_return(struct device_net *net);

enum device_net_delivery {
    DEVICE_NET_DELIVERED,
    /* The driver has exposed too few buffers, or none, or in too many descriptors
     * (DEVICE_NET_RECEIVE_DESCRIPTORS), or the queue is broken. */
    DEVICE_NET_NO_BUFFERS,
    /* The frame is larger than the driver's MTU (5.1.4.1), or, without MRG_RXBUF, than the next
     * buffer. */
    DEVICE_NET_TOO_LARGE,
    /* The driver does not take the frame unsegmented: device_net_needs_segmentation(). */
    DEVICE_NET_UNSEGMENTED,
};

/* A frame is received in at most so many descriptors, and one more for each so many bytes of it. In
 * buffers of one byte, a frame would take the time of a hundred. */
#define DEVICE_NET_RECEIVE_DESCRIPTORS 64u
#define DEVICE_NET_DESCRIPTOR_BYTES    128u

/* Copies a frame into the driver's buffers: with MRG_RXBUF into as many as it needs, otherwise into
 * one (5.1.6.3.1). Completes its checksum if the driver takes no partial ones (GUEST_CSUM). After a
 * failure the driver's buffers are exposed as before. */
enum device_net_delivery device_net_deliver(struct device_net *net,
                                            const struct device_net_frame *frame);
/* Returns true if the frame has to be segmented before device_net_deliver(), because the driver has
 * not accepted GUEST_TSO4, or GUEST_TSO6 (5.1.6.4.1). */
bool device_net_needs_segmentation(const struct device_net *net,
                                   const struct device_net_frame *frame);
/* Returns true if the driver's filters let frames to this address pass. */
bool device_net_wants(const struct device_net *net, const uint8_t destination[6]);

/* Returns the complete checksum of a frame with checksum_partial, for the two bytes at
 * checksum_start + checksum_offset, first byte in the upper half: the ones' complement sum from
 * checksum_start to the end. Never 0, which says "no checksum" in UDP (RFC 768). */
uint16_t device_net_checksum(const struct device_net_frame *frame);

/*
 * Executes the driver's next command (5.1.6.5), if there is one. One a call, because commands take
 * time that nobody pays for, and drivers wait for each. Returns true if device_net_status() has
 * changed: the caller changes the configuration, and publishes the command after that (5.1.6.5.4).
 */
bool device_net_control(struct device_net *net);

/* Returns the configuration's status field (5.1.4). */
uint16_t device_net_status(const struct device_net *net);
/* Changes the state of the link. Returns true if the status has changed: the caller changes the
 * configuration and interrupts the driver. */
bool device_net_set_link(struct device_net *net, bool is_up);
/* Asks the driver to announce its addresses to the network. Returns as device_net_set_link(): false
 * if GUEST_ANNOUNCE was not accepted, or if it is already asked to. */
bool device_net_announce(struct device_net *net);

#define DEVICE_NET_SEGMENT_HEADERS_MAX 256u

/* A frame of several TCP segments that is being divided. */
struct device_net_segmentation {
    struct device_net_frame frame;
    uint32_t headers; /* bytes of all headers */
    uint32_t done;    /* bytes of the frame */
    uint16_t number;  /* of the next segment */
    uint16_t network; /* where the IP header begins */
    uint8_t original[DEVICE_NET_SEGMENT_HEADERS_MAX];
    uint8_t copy[DEVICE_NET_SEGMENT_HEADERS_MAX];
    struct device_segment segments[1 + DEVICE_QUEUE_SIZE_MAX];
};

/*
 * Begins to divide a frame, with gso not NONE and at most DEVICE_QUEUE_SIZE_MAX segments. Returns
 * false if its headers are not those of a TCP segment of that type: the frame can't be divided.
 * Headers are copied; the frame's segments stay in use.
 */
bool device_net_segmentation_begin(struct device_net_segmentation *segmentation,
                                   const struct device_net_frame *frame);
/*
 * Makes the next segment: a frame of its own with checksum_partial, valid until the next call. The
 * driver chooses the number of segments, up to 65,000 of one byte: a caller that serves several
 * drivers bounds its time for one of them. Returns false if there is none.
 */
bool device_net_segmentation_next(struct device_net_segmentation *segmentation,
                                  struct device_net_frame *segment);

#endif
