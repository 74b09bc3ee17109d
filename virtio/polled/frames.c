/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moves frames. Each buffer is either with the device or with the driver; `has` says which, and
 * only give() and take() change it.
 */
#include "polled_private.h"
#include "virtio/barrier.h"
#include <string.h>

#define NONE ENTRIES /* no buffer */

static void stop_broken(struct virtio_polled *polled, const char *reason)
{
    polled->running = false;
    polled->broken = reason;
    polled->statistics.broken++;
    virtio_platform_log("virtio-net polled: device stopped: %s", reason);
}

static void barrier(const struct virtio_polled *polled, enum virtio_barrier kind)
{
    virtio_barrier(kind, (polled->features & VIRTIO_F_ORDER_PLATFORM) != 0);
}

/* Makes buffer `id` available, which the driver has. */
static void give(struct virtio_polled *polled, struct polled_queue *queue, unsigned id)
{
    uint16_t place = (uint16_t)(queue->available & (queue->size - 1u));

    virtio_shared_store16(&queue->ring->available.id[place], (uint16_t)id);
    queue->has[id] = true;
    queue->with_device++;
    queue->available++;
    /* 2.7.13.3.1: descriptor and entry are visible before the index. */
    barrier(polled, VIRTIO_BARRIER_PUBLISH);
    virtio_shared_store16(&queue->ring->available.index, queue->available);
    queue->unnotified = true;
}

/* Takes the next buffer that the device has used, with the length that it reports, which the caller
 * checks. Returns NONE if there is none, or if the device breaks the protocol. */
static unsigned take(struct virtio_polled *polled, struct polled_queue *queue, uint32_t *bytes)
{
    uint16_t finished = (uint16_t)(virtio_shared_load16(&queue->ring->used.index) - queue->used);
    uint16_t place = (uint16_t)(queue->used & (queue->size - 1u));
    uint32_t id;

    if (finished == 0) {
        return NONE;
    }
    if (finished > queue->with_device) {
        stop_broken(polled, "its used index counts buffers that it does not have");
        return NONE;
    }
    /* 2.7.14: the element is read after the index that announces it. */
    barrier(polled, VIRTIO_BARRIER_OBSERVE);
    id = virtio_shared_load32(&queue->ring->used.element[place].id);
    *bytes = virtio_shared_load32(&queue->ring->used.element[place].bytes);
    if (id >= queue->size || !queue->has[id]) {
        stop_broken(polled, "it returns a buffer that it does not have");
        return NONE;
    }
    queue->has[id] = false;
    queue->with_device--;
    queue->used++;
    return id;
}

static void expose(struct virtio_polled *polled, unsigned id)
{
    polled->statistics.rx_buffers_taken++;
    give(polled, &polled->receive, id);
}

/* Exposes all buffers of the receive ring. Called once, before the first frame. */
void polled_expose_all(struct virtio_polled *polled)
{
    for (unsigned id = 0; id < polled->receive.size; id++) {
        expose(polled, id);
    }
}

/* Copies the frame of `bytes` bytes, header included, from buffer `id`. Returns the frame's bytes,
 * or 0 if it is too short or too long. */
static uint32_t copy_received(struct virtio_polled *polled, unsigned id, uint32_t bytes,
                              uint8_t *frame, uint32_t capacity)
{
    const uint8_t *buffer = polled->receive.ring->buffer[id];

    if (bytes < VIRTIO_NET_HEADER_BYTES + ETHERNET_HEADER ||
        bytes - VIRTIO_NET_HEADER_BYTES > capacity) {
        polled->statistics.rx_bad++;
        return 0;
    }
    /* The header has no meaning without offloads (5.1.6.4.1). The device may change the bytes while
     * they are copied: then it sends another frame. */
    bytes -= VIRTIO_NET_HEADER_BYTES;
    memcpy(frame, buffer + VIRTIO_NET_HEADER_BYTES, bytes);
    polled->statistics.rx_frames++;
    polled->statistics.rx_bytes += bytes;
    return bytes;
}

uint32_t virtio_polled_receive(struct virtio_polled *polled, uint8_t *frame, uint32_t capacity)
{
    /* A device that fills the ring with bad frames again and again holds the caller for one lap. */
    for (unsigned tries = 0; tries < ENTRIES && polled->running; tries++) {
        uint32_t bytes;
        unsigned id = take(polled, &polled->receive, &bytes);

        if (id == NONE) {
            break;
        }
        polled->statistics.rx_buffers_returned++;
        if (bytes > BUFFER_BYTES) {
            stop_broken(polled, "it reports more bytes than the buffer has");
            break;
        }
        bytes = copy_received(polled, id, bytes, frame, capacity);
        expose(polled, id);
        if (bytes != 0) {
            return bytes;
        }
    }
    return 0;
}

/* Takes back the buffers whose frames the device has sent. Their length has no meaning, because the
 * device writes nothing (2.7.8.1). */
static void collect_sent(struct virtio_polled *polled)
{
    uint32_t unused;

    while (polled->running && take(polled, &polled->transmit, &unused) != NONE) {
        polled->statistics.tx_returned++;
        polled->progress = virtio_platform_now();
    }
}

/* Returns true if the frame begins with a VLAN tag (IEEE 802.1Q), which is not part of the MTU. */
static bool has_tag(const struct virtio_net_segment *first)
{
    return first->bytes >= ETHERNET_HEADER && first->memory[12] == 0x81 && first->memory[13] == 0;
}

/* Returns true if the frame's length is valid (5.1.4.2). `bytes`: of all its segments, at least
 * one.
 */
static bool is_valid(const struct virtio_net_segment *segments, uint64_t bytes)
{
    return bytes >= ETHERNET_HEADER && (bytes <= ETHERNET_HEADER + VIRTIO_POLLED_MTU ||
                                        (bytes <= VIRTIO_POLLED_FRAME_MAX && has_tag(segments)));
}

static uint64_t sum_of_bytes(const struct virtio_net_segment *segments, unsigned count)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < count; i++) {
        sum += segments[i].bytes;
    }
    return sum;
}

/* Returns a buffer of the transmit ring that the device does not have, or NONE. */
static unsigned find_free(const struct polled_queue *queue)
{
    for (unsigned id = 0; id < queue->size; id++) {
        if (!queue->has[id]) {
            return id;
        }
    }
    return NONE;
}

/* Writes header and frame to buffer `id`, and the length to its descriptor. */
static void copy_to_transmit(struct virtio_polled *polled, unsigned id,
                             const struct virtio_net_segment *segments, unsigned count)
{
    struct polled_ring *ring = polled->transmit.ring;
    uint8_t *buffer = ring->buffer[id];
    uint32_t bytes = VIRTIO_NET_HEADER_BYTES;

    memset(buffer, 0, VIRTIO_NET_HEADER_BYTES); /* 5.1.6.2: no checksum, no segmentation */
    for (unsigned i = 0; i < count; i++) {
        memcpy(buffer + bytes, segments[i].memory, segments[i].bytes);
        bytes += segments[i].bytes;
    }
    virtio_shared_store32(&ring->descriptor[id].bytes, bytes);
}

bool virtio_polled_transmit(struct virtio_polled *polled, const struct virtio_net_segment *segments,
                            unsigned count)
{
    uint64_t bytes = sum_of_bytes(segments, count);
    unsigned id;

    collect_sent(polled);
    id = find_free(&polled->transmit);
    if (!polled->running || id == NONE || !is_valid(segments, bytes)) {
        polled->statistics.tx_refused++;
        return false;
    }
    if (polled->transmit.with_device == 0) {
        polled->progress = virtio_platform_now();
    }
    copy_to_transmit(polled, id, segments, count);
    give(polled, &polled->transmit, id);
    polled->statistics.tx_accepted++;
    polled->statistics.tx_frames++;
    polled->statistics.tx_bytes += bytes;
    return true;
}

static void notify(struct virtio_polled *polled, struct polled_queue *queue)
{
    if (!queue->unnotified) {
        return;
    }
    queue->unnotified = false;
    /* 2.7.13.4.1: the index is visible before the flag is read. */
    barrier(polled, VIRTIO_BARRIER_FULL);
    if ((virtio_shared_load16(&queue->ring->used.flags) & USED_NO_NOTIFY) == 0) {
        queue->notifications++;
        polled->transport->operations->notify(polled->transport, &queue->notification);
    }
}

void virtio_polled_flush(struct virtio_polled *polled)
{
    collect_sent(polled);
    if (polled->running) {
        notify(polled, &polled->transmit);
        notify(polled, &polled->receive);
    }
}

/* Returns the failure that the device's status shows (2.1), or NULL. */
static const char *failure(struct virtio_transport *transport)
{
    uint8_t status = transport->operations->status(transport);

    if (status == UINT8_MAX) { /* a bus without the device */
        return "it is gone";
    }
    if ((status & VIRTIO_STATUS_NEEDS_RESET) != 0) {
        return "it asks for a reset";
    }
    return (status & VIRTIO_STATUS_DRIVER_OK) == 0 ? "it was reset" : NULL;
}

void virtio_polled_watch(struct virtio_polled *polled)
{
    struct virtio_transport *transport = polled->transport;
    const char *reason;

    if (!polled->running) {
        return;
    }
    if (transport->vectors == 0) { /* a change of the configuration raises the line */
        (void)transport->operations->interrupt_cause(transport);
    }
    reason = failure(transport);
    if (reason != NULL) {
        stop_broken(polled, reason);
        return;
    }
    polled_read_link(polled);
    if (polled->transmit.with_device != 0 &&
        virtio_platform_now() - polled->progress > VIRTIO_POLLED_STUCK) {
        stop_broken(polled, "it does not send");
    }
}
