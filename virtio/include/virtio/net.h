/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Network device driver (VIRTIO 1.3, 5.1), after "Design and Implementation of virtio-net for
 * RTEMS", section 3: the interrupt handler only moves descriptors between the virtqueues and two
 * software queues, then sends one signal; a bottom-half thread does the rest. At most `rx_buffers`
 * buffers are exposed to the device however large its ring is (the "empty ring").
 *
 * Life of a receive buffer:
 *     owner, receive_buffer(), driver and device, virtio_net_receive(), owner
 * Life of a transmit packet:
 *     owner, virtio_net_transmit(), driver and device, virtio_net_transmitted(), owner
 *
 * Nothing is copied, unless the transport has a pool (virtio/pool.h): then the driver copies
 * received frames from the pool before it reads them, and packets into it, and the memory of the
 * owner's buffers and packets need not be shared with the device. The numbers of buffers, and of
 * pairs, are limited by the pool; each pair needs VIRTIO_POOL_BYTES_MIN. The counters in
 * virtio_net_statistics balance: every buffer and packet that the driver took was returned or is in
 * one of its queues.
 *
 * Pairs. A `struct virtio_net` is one pair of a receive and a transmit queue, with buffers,
 * counters and a bottom half of its own. A device can have several pairs
 * (VIRTIO_NET_F_MQ, 5.1.6.5.6), for example one for each processor: parameters.queue_pairs asks for
 * them, virtio_net_pair() returns them, and functions that move frames work on the given pair.
 * Pairs share no memory that is written while frames move. Address, MTU, link and the
 * configuration's interrupt exist once for a device: they are the same for all pairs, and changes
 * are reported to pair 0. All pairs start and stop together. A device that breaks the protocol is
 * broken for all pairs: the driver signals each bottom half, and all of them must have stopped
 * before virtio_net_stop().
 *
 * Interrupts. transport->vectors determines how they arrive. The table has the function that each
 * interrupt's handler calls, and the pair; p is the number of pairs in use:
 *   0            one line                     virtio_net_interrupt(), pair 0
 *   1            vector 0 for everything      virtio_net_interrupt(), pair 0
 *   2 to p       vector 0 configuration       virtio_net_configuration_interrupt()
 *                vector 1 all queues          virtio_net_interrupt(), pair 0
 *   p+1 to 2p    vector 0 configuration       virtio_net_configuration_interrupt()
 *                vector 1+i both queues       virtio_net_interrupt(), pair i
 *   2p+1 or more vector 0 configuration       virtio_net_configuration_interrupt()
 *                vectors 1+2i, 2+2i receive, transmit queue   virtio_net_interrupt(), pair i
 * So with one pair: 2 vectors for configuration and queues, 3 for configuration and each queue. The
 * handler of an interrupt that all pairs share serves all of them: then all pairs must be used on
 * one processor, or virtio_platform_lock() must be one lock for all processors.
 *
 * The bottom half is one thread that waits for operations->signal and then runs
 *     do {
 *         fetch by virtio_net_receive() and virtio_net_transmitted() until they return NULL;
 *         if virtio_net_link_changed(): check virtio_net_link_up() and virtio_net_broken();
 *     } while (virtio_net_bottom_half(net));
 * It also runs this once after the handlers were connected, without a signal, because a
 * message-signalled interrupt that was raised after virtio_net_create() and before that is lost.
 *
 * Transmit completions normally cause no interrupt. The driver collects finished packets when a
 * frame is received, in virtio_net_transmitted(), which reads the ring, and in each transmission
 * while a quarter of the ring (at least 16 packets, at most half the ring) or more is with the
 * device. An interrupt is enabled only in that case, or while frames wait in the send queue. So up
 * to that many finished packets can stay in the ring while nothing else happens: a sender that
 * needs them (for a retransmission timer, or because its pool is empty) calls
 * virtio_net_transmitted().
 */
#ifndef VIRTIO_NET_H
#define VIRTIO_NET_H

#include "virtio/platform.h"
#include "virtio/transport.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes in front of each frame for struct virtio_net_hdr with num_buffers (VIRTIO 1.3, 5.1.6). The
 * header ends where the frame begins; a legacy device may use only the last 10 bytes. */
#define VIRTIO_NET_HEADER_BYTES 12u

/* The smallest receive buffer without mergeable buffers and large receive offloads (5.1.6.3.1):
 * header, Ethernet header and 1500 bytes. */
#define VIRTIO_NET_RECEIVE_BYTES 1526u

/* The largest number of pairs: the control queue is numbered after them. */
#define VIRTIO_NET_PAIRS_MAX ((VIRTIO_QUEUES_MAX - 1) / 2)

#define VIRTIO_NET_SEGMENTS_MAX       8u  /* of one packet */
#define VIRTIO_NET_FRAME_SEGMENTS_MAX 64u /* of a frame in several packets */

/* The largest frame that a device segments: an IP packet of 65535 bytes. */
#define VIRTIO_NET_GSO_FRAME_MAX (65535u + 14u)

struct virtio_net; /* opaque */

/* The size of the largest frame that a device makes of several TCP segments (5.1.6.3.1).
 * GUEST_TSO4, GUEST_TSO6 and MRG_RXBUF are accepted if the exposed buffers, rx_buffers of
 * receive_bytes, hold such a frame. With less room a device could wait for ever. */
#define VIRTIO_NET_LARGE_RECEIVE_BYTES 65562u

/* The transport checksum of a received frame (5.1.6.4). The values other than UNKNOWN need
 * VIRTIO_NET_F_GUEST_CSUM. */
enum virtio_net_checksum {
    /* The owner verifies it. */
    VIRTIO_NET_CHECKSUM_UNKNOWN,
    /* NEEDS_CSUM: the frame never left this machine and needs no verification. Its checksum field
     * holds only the sum of the pseudo header: an owner that forwards the frame completes it, or
     * leaves that to the next device with checksum_start and checksum_offset. */
    VIRTIO_NET_CHECKSUM_PARTIAL,
    /* DATA_VALID: the device has verified it. */
    VIRTIO_NET_CHECKSUM_VALID,
};

/* Frames of several TCP segments, which the device divides into frames of the MTU, or has made of
 * them (5.1.6). The values are the standard's. */
enum virtio_net_gso {
    VIRTIO_NET_GSO_NONE = 0,
    VIRTIO_NET_GSO_TCPV4 = 1,
    VIRTIO_NET_GSO_TCPV6 = 4,
};

/* A receive buffer. The owner embeds it beside the memory it describes. */
struct virtio_net_buffer {
    struct virtio_net_buffer *next; /* for lists of the driver or of the owner */
    struct virtio_net_buffer *rest; /* result: the next buffer of the same frame, or NULL */
    uint8_t *memory;                /* for header and frame */
    uint32_t capacity;              /* bytes, >= parameters.receive_bytes */
    /* Results, when the buffer is returned: */
    uint32_t frame_bytes;     /* bytes of the frame in this buffer. They begin at memory +
                                 VIRTIO_NET_HEADER_BYTES, in `rest` at memory */
    uint16_t buffers;         /* number of buffers of the frame; undefined in `rest` */
    uint16_t checksum_start;  /* with VIRTIO_NET_CHECKSUM_PARTIAL: as in struct */
    uint16_t checksum_offset; /* virtio_net_packet; both lie inside the frame */
    uint16_t gso_bytes; /* with VIRTIO_NET_CHECKSUM_PARTIAL: gso_size, not 0 unless gso_type */
    enum virtio_net_gso gso_type; /* is NONE. For an owner that passes the frame on */
    enum virtio_net_checksum checksum;
};

/* One contiguous part of a frame. */
struct virtio_net_segment {
    uint8_t *memory;
    uint32_t bytes; /* > 0 */
};

/*
 * A frame to transmit. segment[0].memory points to the frame's first byte; the driver uses the
 * VIRTIO_NET_HEADER_BYTES in front of it until the packet is returned. A frame with more segments
 * continues in `rest`. Of those packets the driver uses only the segments and `rest`, and it
 * returns them with the first one, still linked to it.
 */
struct virtio_net_packet {
    struct virtio_net_packet *next; /* for lists of the driver or of the sender */
    struct virtio_net_packet *rest; /* the frame's next packet, or NULL */
    void *owner;                    /* for the sender */
    enum virtio_net_gso gso_type;   /* requires virtio_net_offers_gso() and checksum_partial */
    uint16_t gso_bytes;             /* gso_size: bytes of data in each resulting frame, > 0 */
    uint16_t header_bytes;          /* hdr_len: bytes of headers in each resulting frame */
    uint16_t segment_count;         /* 1..VIRTIO_NET_SEGMENTS_MAX */
    bool checksum_partial;          /* the device completes a ones' complement checksum; requires
                                       VIRTIO_NET_F_CSUM */
    uint16_t checksum_start;  /* csum_start: where the sum begins, from the frame's first byte */
    uint16_t checksum_offset; /* csum_offset: where the checksum is stored, from checksum_start; it
                                 contains the sum of the pseudo header */
    struct virtio_net_segment segment[VIRTIO_NET_SEGMENTS_MAX];
};

struct virtio_net_operations {
    /* Returns a free receive buffer, or NULL if there is none now; the owner then calls
     * virtio_net_refill() when it has buffers again. Interrupt or thread context, driver lock held:
     * must be short and must not call the driver. */
    struct virtio_net_buffer *(*receive_buffer)(void *context);
    /* Takes back a buffer that the driver does not need any more (stop, reset). Same context. */
    void (*return_buffer)(void *context, struct virtio_net_buffer *buffer);
    /* Wakes the bottom-half thread (see above). A signal while it is running must not be lost.
     * Interrupt or thread context, driver lock not held. */
    void (*signal)(void *context);
};

struct virtio_net_parameters {
    uint16_t rx_buffers;     /* exposed to the device; 0: 8. At most the ring size */
    uint16_t rx_buffers_max; /* if > rx_buffers: upper bound for the number of exposed buffers, see
                                virtio/net/adapt.c; else rx_buffers are always exposed */
    uint16_t tx_ring;        /* requested ring size; 0: 256. Reduced to the device's maximum */
    uint16_t send_queue;     /* frames that may wait for the ring; 0: 64 */
    uint16_t interrupt_budget; /* maximum of descriptors in a run of the handler; 0: 64 */
    bool deferred;             /* the handler moves none, it only wakes the bottom half, which moves
                                  interrupt_budget of them again and again. It releases the platform
                                  lock between its steps: take used chains (16 at most), expose
                                  buffers (16 at most), notify the device. Always so with a pool,
                                  because the handler must not copy frames */
    uint32_t receive_bytes;    /* minimum capacity of a receive buffer; 0: VIRTIO_NET_RECEIVE_BYTES.
                                  A device's MTU is accepted only if its frames fit into a buffer,
                                  or MRG_RXBUF is accepted too */
    uint16_t mtu_max;          /* the largest MTU that the owner uses, >= 1500; 0: that of frames
                                  that fit into a buffer. If it is larger and the device's MTU too,
                                  rx_buffers is raised, within rx_buffers_max, until MRG_RXBUF can
                                  be accepted (VIRTIO_NET_LARGE_RECEIVE_BYTES) */
    uint64_t features_off;     /* feature bits not to accept, for tests and comparisons */
    uint16_t queue_pairs;      /* maximum number of pairs to use; 0: 1 */
    void *const *contexts;     /* contexts of the operations, one for each of the queue_pairs; NULL:
                                  `context` for all. Not needed after creation */
    bool vlan_filter;          /* accept VIRTIO_NET_F_CTRL_VLAN, see virtio/net_control.h */
    bool polling;              /* frames are moved by virtio/net_burst.h only, without interrupts;
                                  not with a pool */
};

/*
 * Counters since virtio_net_create(), and gauges (`now`). At any time
 *     rx_buffers_taken == rx_buffers_returned + rx_exposed + rx_queued
 *     tx_accepted == tx_returned + tx_in_flight + tx_queued + tx_finished
 */
struct virtio_net_statistics {
    uint64_t rx_frames, rx_bytes;
    uint64_t rx_exposed;          /* buffers exposed to the device, now */
    uint64_t rx_target;           /* number of buffers to expose, now */
    uint64_t rx_dry;              /* times that all exposed buffers were found used */
    uint64_t rx_target_changes;   /* changes of rx_target */
    uint64_t rx_queued;           /* frames moved, not yet fetched, now */
    uint64_t rx_buffers_taken;    /* from receive_buffer() */
    uint64_t rx_buffers_returned; /* delivered or returned */
    uint64_t rx_refill_failures;  /* receive_buffer() returned NULL */
    uint64_t rx_bad;              /* used buffers with too few bytes for a frame; exposed again */
    uint64_t tx_frames, tx_bytes; /* put into the ring */
    uint64_t tx_in_flight;        /* packets with the device, now */
    uint64_t tx_queued;           /* packets in the send queue, now */
    uint64_t tx_finished;         /* packets sent, not yet fetched, now */
    uint64_t tx_refused;          /* packets refused: queue full, not running, or invalid */
    uint64_t tx_accepted;         /* packets taken by virtio_net_transmit() */
    uint64_t tx_returned;         /* packets returned to the sender */
    uint64_t interrupts;          /* runs of virtio_net_interrupt() */
    uint64_t interrupts_spurious; /* handler runs that found nothing */
    uint64_t signals;             /* bottom-half wake-ups */
    uint64_t notifications_rx;    /* kicks */
    uint64_t notifications_tx;
    uint64_t descriptors_moved;        /* total in interrupt context */
    uint64_t descriptors_moved_max;    /* in one handler run */
    uint64_t budget_exhausted;         /* handler runs that left work to the bottom half */
    uint64_t handler_instructions_max; /* of the longest handler run; 0: not counted */
    uint64_t interrupts_masked;        /* times a handler requested it: too many came */
    uint64_t queue_resets;             /* resets of a single broken queue */
    uint64_t broken;                   /* times the device broke the protocol and was stopped */
};

/*
 * Creates a driver: resets the device, negotiates features, enables the queues and sets DRIVER_OK
 * (3.1.1), then exposes the first receive buffers. The transport must outlive the driver. Returns
 * pair 0, or NULL on failure, with a static text in *reason (`reason` may be NULL). The device is
 * then reset or FAILED. If it does not confirm the reset, buffers and rings that it may still write
 * to are never freed (2.4.1). Thread context.
 */
struct virtio_net *virtio_net_create(struct virtio_transport *transport,
                                     const struct virtio_net_parameters *parameters,
                                     const struct virtio_net_operations *operations, void *context,
                                     const char **reason);
/* Returns the pair `index` of a device, or NULL if that is not in use. Any context. */
struct virtio_net *virtio_net_pair(struct virtio_net *net, unsigned index);
/*
 * Stops all pairs of a device, broken or not: resets the device and returns all receive buffers by
 * return_buffer(). Then the owner fetches the packets that were in flight by
 * virtio_net_transmitted() until it returns NULL, and calls virtio_net_free(). Returns false if the
 * device does not confirm the reset: it may still write to its buffers (2.4.1), which the driver
 * keeps; all others are returned, and the function may be called again. Thread context, no bottom
 * half running.
 */
bool virtio_net_stop(struct virtio_net *net);
/* Frees the driver, after virtio_net_stop() returned true and virtio_net_transmitted() NULL, and no
 * call of virtio_net_transmit() is running: with a pool it releases the lock. Thread context. */
void virtio_net_free(struct virtio_net *net);

/*
 * Interrupt handler for the line or a queue's vector. Moves at most interrupt_budget descriptors,
 * or none if `deferred`. Returns true if the device continues to interrupt although its interrupts
 * are suppressed, or does not lower its line. The caller then masks the interrupt, and unmasks it
 * after virtio_net_bottom_half(), for which the bottom half has been signalled; otherwise the
 * device could keep all threads from running. Other devices on a shared line may interrupt up to
 * 10,000 times a second.
 *
 * On several processors the bottom half can run before the caller masks the interrupt. So the
 * caller, when this function has returned true, enters virtio_platform_lock(), and masks the
 * interrupt only if virtio_net_mask_requested() returns true. It unmasks in a critical section of
 * its own.
 */
bool virtio_net_interrupt(struct virtio_net *net);
/* Interrupt handler for the configuration's own vector. The return value is as above, for pair 0.
 */
bool virtio_net_configuration_interrupt(struct virtio_net *net);
/* Returns true if one of these handlers has returned true and the bottom half has not run since.
 * `net`: the pair given to the handler; for the configuration's vector pair 0. Any context,
 * platform lock held. */
bool virtio_net_mask_requested(const struct virtio_net *net);

/*
 * Moves descriptors that the handler left, at most interrupt_budget, exposes buffers, and enables
 * interrupts if none is left (with the re-check of 2.7.7). Returns true if there is more work: the
 * caller fetches frames and calls again. Bottom-half thread.
 */
bool virtio_net_bottom_half(struct virtio_net *net);

/*
 * Moves frames received meanwhile, at most interrupt_budget, and exposes buffers; does not change
 * interrupt suppression or the send queue. Call it after each frame, so that a device with few
 * buffers gets new ones while it is still receiving. While there are frames to fetch the ring is
 * read only after every quarter of the exposed buffers. Returns true if there are frames to fetch.
 * Bottom-half thread, before the virtio_net_bottom_half() that returns false.
 */
bool virtio_net_poll(struct virtio_net *net);

/* Returns the next received frame, in order, or NULL. Bottom-half thread. */
struct virtio_net_buffer *virtio_net_receive(struct virtio_net *net);
/* Exposes buffers up to the target; for an owner that has buffers again. Any context, not from an
 * operation. */
void virtio_net_refill(struct virtio_net *net);

/*
 * Queues a frame for transmission. It has 14 bytes up to virtio_net_mtu() and its Ethernet header,
 * 4 more with a VLAN tag (IEEE 802.1Q), or, if the device segments it, up to
 * VIRTIO_NET_GSO_FRAME_MAX. Returns true if the driver accepts the packet, until
 * virtio_net_transmitted() returns it; false if the send queue is full, the driver is not running,
 * or the packet breaks a rule above. The device is notified by virtio_net_flush() at the latest, so
 * that several frames cost one notification. Any context.
 */
bool virtio_net_transmit(struct virtio_net *net, struct virtio_net_packet *packet);
void virtio_net_flush(struct virtio_net *net);
/* Returns a packet that the device has sent, or that a stop or a reset dropped, or NULL. Thread
 * context. */
struct virtio_net_packet *virtio_net_transmitted(struct virtio_net *net);
/* Returns the number of packets (polling: buffers) that were accepted and not yet returned. Any
 * context. */
unsigned virtio_net_transmitting(const struct virtio_net *net);

/* Reads the device's address. Returns false and leaves `mac` unchanged if the device has no valid
 * station address; the caller then chooses a locally administered one (5.1.5), which the device
 * need not know. */
bool virtio_net_mac(const struct virtio_net *net, uint8_t mac[6]);
/* Returns the MTU to use: the device's or parameters.mtu_max, whichever is less; 1500 if the device
 * has none, or one that was not accepted. */
uint16_t virtio_net_mtu(const struct virtio_net *net);
/* If virtio_net_mtu() is not the device's MTU, stores that in *offered (0: it cannot be read) and
 * returns a static text that says why it is not used, for a line at the start; else returns NULL.
 */
const char *virtio_net_mtu_unused(const struct virtio_net *net, uint16_t *offered);
/* Reads the link status from the configuration. Returns true if the link is up, or the device has
 * no link status. Thread context. */
bool virtio_net_link_up(struct virtio_net *net);
/*
 * Returns true once after the device announced a change of its configuration (link status, 5.1.4),
 * and then also does what virtio_net_watch() does. With a single vector every interrupt counts as a
 * change, because the driver can't tell the causes apart. Thread context.
 */
bool virtio_net_link_changed(struct virtio_net *net);
/*
 * Reads the device's status. A device that needs a reset (2.1.2), was reset by another agent, or is
 * gone, becomes broken. No interrupt announces the latter two, so this is called about once a
 * second. Bottom-half thread.
 */
void virtio_net_watch(struct virtio_net *net);
/* Returns true if VIRTIO_NET_F_HOST_TSO4 or _TSO6 was negotiated for this type. */
bool virtio_net_offers_gso(const struct virtio_net *net, enum virtio_net_gso type);
/* Returns the largest number of segments of a frame: VIRTIO_NET_FRAME_SEGMENTS_MAX, or fewer if the
 * ring is smaller. */
uint16_t virtio_net_segments_max(const struct virtio_net *net);
/* Reads the link's speed from the configuration (5.1.4). Returns Mb/s, or 0 if the device does not
 * report it; *full_duplex is then undefined. Requires VIRTIO_NET_F_SPEED_DUPLEX. Thread context. */
uint32_t virtio_net_speed(const struct virtio_net *net, bool *full_duplex);
uint64_t virtio_net_features(const struct virtio_net *net); /* negotiated */
/* Returns true if an interrupt costs accesses to registers that a hypervisor emulates, so that a
 * driver gains when it looks at the rings for a while before it enables interrupts. */
bool virtio_net_interrupt_traps(const struct virtio_net *net);
/* Returns a static text that says why the device is broken, or NULL if it is not. */
const char *virtio_net_broken(const struct virtio_net *net);
/* Returns the number of receive buffers that the driver wants to expose now, between rx_buffers and
 * rx_buffers_max, for an owner that allocates them on demand. Any context. */
uint16_t virtio_net_receive_target(const struct virtio_net *net);
/* Returns the number of bytes of the frames that were received and sent. Any context. */
uint64_t virtio_net_moved_bytes(const struct virtio_net *net);
void virtio_net_statistics(struct virtio_net *net, struct virtio_net_statistics *statistics);

#endif
