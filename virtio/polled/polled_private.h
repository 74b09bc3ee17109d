/* SPDX-License-Identifier: BSD-2-Clause */
/* Private to the polled driver. Its own description of a split ring (VIRTIO 1.3, 2.7), so that an
 * error in that of virtqueue/ is not repeated here. */
#ifndef VIRTIO_POLLED_PRIVATE_H
#define VIRTIO_POLLED_PRIVATE_H

#include "virtio/net_polled.h"
#include "virtio/pool.h"

#define ENTRIES         VIRTIO_POLLED_ENTRIES
#define BUFFER_BYTES    1536u /* header and VIRTIO_POLLED_FRAME_MAX, in whole cache lines */
#define RING_ALIGNMENT  64u
#define ETHERNET_HEADER 14u

_Static_assert(VIRTIO_NET_HEADER_BYTES + VIRTIO_POLLED_FRAME_MAX <= BUFFER_BYTES,
               "a frame fits into a buffer");
_Static_assert(BUFFER_BYTES >= VIRTIO_NET_RECEIVE_BYTES, "5.1.6.3.1");

/* Memory shared with the device; all fields are little-endian. The device and the driver write to
 * different cache lines. */
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order of the standard */
struct polled_ring {
    struct {
        uint64_t address;
        uint32_t bytes;
        uint16_t flags;
        uint16_t next;
    } descriptor[ENTRIES]; /* 2.7.5 */
    struct {
        uint16_t flags;
        uint16_t index;
        uint16_t id[ENTRIES];
        uint16_t used_event; /* without EVENT_IDX unused */
    } available;             /* 2.7.6 */
    _Alignas(RING_ALIGNMENT) struct {
        uint16_t flags;
        uint16_t index;
        struct {
            uint32_t id;
            uint32_t bytes;
        } element[ENTRIES];
        uint16_t available_event; /* without EVENT_IDX unused */
    } used;                       /* 2.7.8 */
    _Alignas(RING_ALIGNMENT) uint8_t buffer[ENTRIES][BUFFER_BYTES];
};

#define DESCRIPTOR_FOR_DEVICE_TO_WRITE 0x2u /* VIRTQ_DESC_F_WRITE */
#define AVAILABLE_NO_INTERRUPT         0x1u /* VIRTQ_AVAIL_F_NO_INTERRUPT */
#define USED_NO_NOTIFY                 0x1u /* VIRTQ_USED_F_NO_NOTIFY */

/* The driver's own record of a ring: nothing of it is read back from shared memory. */
struct polled_queue {
    struct polled_ring *ring;
    virtio_address address; /* of `ring`, as the device sees it */
    uint16_t size;          /* entries: a power of two, at most ENTRIES */
    uint16_t available;     /* the available index (2.7.6) */
    uint16_t used;          /* the used index up to which buffers were taken */
    uint16_t with_device;   /* number of buffers with the device */
    bool has[ENTRIES];      /* the device has buffer i */
    bool unnotified;        /* buffers were made available since the last flush */
    struct virtio_notification notification;
    uint64_t notifications;
};

struct virtio_polled {
    struct virtio_transport *transport;
    struct virtio_pool *pool; /* NULL: none. With one, the queues have a ring from start to stop */
    struct polled_queue receive;
    struct polled_queue transmit;
    bool running;
    bool memory_with_device; /* a queue was enabled, and no reset was confirmed since */
    bool link_up;
    bool has_mac;
    uint8_t mac[6];
    uint64_t features;
    const char *broken; /* reason, a static text; NULL: not broken */
    uint64_t progress;  /* last time at which the device had no frame, or finished one; ns */
    struct virtio_net_statistics statistics; /* gauges are filled in when they are read */
};

/* start.c: reads the link status of the configuration (5.1.4). frames.c: exposes all buffers. */
void polled_read_link(struct virtio_polled *polled);
void polled_expose_all(struct virtio_polled *polled);

#endif
