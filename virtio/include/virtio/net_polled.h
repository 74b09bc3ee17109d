/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The alternative network driver: it takes the place of the ordinary one (virtio/net.h) for a
 * device that the ordinary one fails with. It shares no code with it but the access to the device's
 * registers (virtio/transport.h), and is simple enough to be reviewed by reading virtio/polled/:
 *   - split rings of at most VIRTIO_POLLED_ENTRIES entries, without INDIRECT_DESC, EVENT_IDX and
 *     IN_ORDER; each frame in one descriptor; no offload, no control queue, an MTU of 1500;
 *   - no interrupt: the owner polls;
 *   - entry i of a ring always describes buffer i of the driver, which never leaves it. Frames are
 *     copied. So the device can access no memory but the driver's, and the driver lends nothing
 * that a device could keep;
 *   - each word that the device writes is read once and checked. After a violation the driver
 * stops.
 *
 * A driver is created once, which allocates all its memory, and then started and stopped as often
 * as the device is replaced or fails. It drives devices of VIRTIO 1.0 and newer, no legacy devices.
 *
 * The owner serialises the calls for one driver. Any context, except where the comment says thread
 * context. No call waits, except where the comment says so.
 */
#ifndef VIRTIO_NET_POLLED_H
#define VIRTIO_NET_POLLED_H

#include "virtio/net.h"

#define VIRTIO_POLLED_ENTRIES   32u   /* of each ring; fewer if the device allows only fewer */
#define VIRTIO_POLLED_MTU       1500u /* bytes */
#define VIRTIO_POLLED_FRAME_MAX 1518u /* bytes: Ethernet header, VLAN tag, and the MTU */

struct virtio_polled; /* opaque */

/*
 * Allocates a driver: about 100 KiB, almost all shared with the device. `pool`: of the transport
 * that it will be started with, NULL if that has none. The shared memory is taken from a pool only
 * from virtio_polled_start() to virtio_polled_stop(), because the ordinary driver needs it at other
 * times. Returns NULL if memory is exhausted. Thread context.
 */
struct virtio_polled *virtio_polled_create(struct virtio_pool *pool);
/* Frees a driver that was never started, or for which virtio_polled_stop() returned true. Thread
 * context. */
void virtio_polled_destroy(struct virtio_polled *polled);

/*
 * Resets the device, negotiates features, enables the queues and sets DRIVER_OK
 * (VIRTIO 1.3, 3.1.1), with all buffers of the receive ring exposed. The driver is stopped before
 * the call, and an ordinary driver of the device freed. The transport must live until
 * virtio_polled_stop() returns true. Returns false on failure, with a static text in *reason; the
 * owner then calls virtio_polled_stop(). Waits up to a second for the reset. Thread context.
 */
bool virtio_polled_start(struct virtio_polled *polled, struct virtio_transport *transport,
                         const char **reason);
/* Resets the device, broken or not; frames that it has not sent are lost. Returns false if the
 * device does not confirm the reset (2.4.1): it may still access the driver's memory, so that the
 * driver can be neither started nor freed, and the function is called again. Waits up to a second.
 * Thread context. */
bool virtio_polled_stop(struct virtio_polled *polled);

/* Copies the next received frame to `frame`, and exposes its buffer again. Frames that do not fit
 * into `capacity` bytes are dropped (rx_bad). Returns the frame's bytes, 14 or more, or 0 if there
 * is none, or the driver is not running. */
uint32_t virtio_polled_receive(struct virtio_polled *polled, uint8_t *frame, uint32_t capacity);
/*
 * Copies a frame of `count` segments to a buffer of the transmit ring. It has 14 bytes up to the
 * MTU and its Ethernet header, 4 more with a VLAN tag. Returns false if the frame has another
 * length, all buffers are with the device, or the driver is not running. The device is notified by
 * virtio_polled_flush().
 */
bool virtio_polled_transmit(struct virtio_polled *polled, const struct virtio_net_segment *segments,
                            unsigned count);
/* Takes back the buffers whose frames the device has sent, and notifies it of new frames and of
 * buffers exposed again, if there are any and the device wants that. Call it after each burst of
 * either function above, and at each poll. */
void virtio_polled_flush(struct virtio_polled *polled);

/*
 * Reads the device's status and link. A device that needs a reset (2.1.2), was reset by another
 * agent, is gone, or has finished no frame for VIRTIO_POLLED_STUCK nanoseconds although it has
 * some, becomes broken. Also acknowledges an interrupt that the device may have raised on a line.
 * Call it about once a second. It moves no frames: it may be interrupted by calls of the functions
 * above. Thread context.
 */
void virtio_polled_watch(struct virtio_polled *polled);
#define VIRTIO_POLLED_STUCK UINT64_C(5000000000)

/* Returns a static text that says why the device is broken, or NULL if it is not. */
const char *virtio_polled_broken(const struct virtio_polled *polled);
/* Returns true if the link was up when it was last read, or the device has no link status. */
bool virtio_polled_link_up(const struct virtio_polled *polled);
/* As virtio_net_mac(). */
bool virtio_polled_mac(const struct virtio_polled *polled, uint8_t mac[6]);
uint64_t virtio_polled_features(const struct virtio_polled *polled); /* negotiated */
/* The counters since the start, as of the ordinary driver. A buffer is taken when it is exposed,
 * and returned when its frame was copied; a packet is accepted when its frame was copied, and
 * returned when the device has finished it. Those of interrupts are 0. */
void virtio_polled_statistics(const struct virtio_polled *polled,
                              struct virtio_net_statistics *statistics);

#endif
