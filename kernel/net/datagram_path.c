/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends and receives datagrams, through lwIP and bypassing it (kernel/datagram.h). */
#include "core_lock.h"
#include "kernel/interrupt.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "net/datagram_private.h"
#include "net/service.h"
#include <string.h>

/* The device interrupts only when it has sent many frames (virtio/net.h). A thread that waits for
 * one buffer polls the device at this interval. */
#define BUFFER_PAUSE (200 * NANOSECONDS_PER_MICROSECOND)

/* Maximum time that datagram_close() waits for the device. A working device sends everything much
 * sooner. */
#define DRAIN_TIME (100 * NANOSECONDS_PER_MILLISECOND)

/* The endpoint for which lwIP sends a datagram now. Protected by the network's lock. */
static struct datagram *learning;

static void observe_output(const uint8_t *frame, size_t bytes)
{
    struct datagram *datagram = learning;

    if (datagram != NULL &&
        datagram_headers_learn(&datagram->headers, frame, bytes, datagram->pcb->local_port,
                               datagram->pcb->remote_port)) {
        datagram->headers_stale = false;
    }
}

static void release_arrival(const struct arrival *arrival)
{
    if (arrival->pbuf != NULL) {
        pbuf_free(arrival->pbuf);
    } else {
        virtio_netif_release(arrival->buffer);
    }
}

static void enqueue(struct datagram *datagram, const struct arrival *arrival)
{
    interrupt_state state = interrupts_save();
    bool room = datagram->end_of_arrivals - datagram->first_arrival < datagram->receive_buffers;

    if (room) {
        datagram->arrivals[datagram->end_of_arrivals++ & datagram->arrivals_mask] = *arrival;
        virtio_netif_reserve(datagram->interface, -1);
        if (datagram->receiving) {
            datagram->receiving = false;
            (void)semaphore_post(&datagram->arrived);
        }
    }
    interrupts_restore(state);
    if (!room) {
        datagram->statistics.dropped++;
        release_arrival(arrival);
    }
}

static bool dequeue(struct datagram *datagram, struct arrival *arrival)
{
    interrupt_state state = interrupts_save();
    bool found = datagram->end_of_arrivals != datagram->first_arrival;

    if (found) {
        *arrival = datagram->arrivals[datagram->first_arrival++ & datagram->arrivals_mask];
        virtio_netif_reserve(datagram->interface, 1);
    }
    datagram->receiving = !found;
    interrupts_restore(state);
    return found;
}

/* Called with each received frame before lwIP gets it. Takes the frame and returns true if it
 * belongs to an endpoint. */
static bool deliver_to_endpoint(struct virtio_net_buffer *buffer, const uint8_t *frame,
                                size_t bytes)
{
    for (struct datagram *datagram = datagram_first(); datagram != NULL;
         datagram = datagram->next) {
        size_t payload_bytes;
        const uint8_t *payload =
            datagram->key_stale ? NULL
                                : datagram_key_match(&datagram->key, frame, bytes, &payload_bytes);

        if (payload != NULL) {
            enqueue(datagram,
                    &(struct arrival){.buffer = buffer,
                                      .payload = payload,
                                      .bytes = payload_bytes,
                                      .checked = buffer->checksum != VIRTIO_NET_CHECKSUM_UNKNOWN});
            return true;
        }
    }
    return false;
}

const struct virtio_netif_bypass datagram_bypass = {.input = deliver_to_endpoint,
                                                    .output = observe_output};

void datagram_received_by_stack(void *argument, struct udp_pcb *pcb, struct pbuf *payload,
                                const ip_addr_t *address, u16_t port)
{
    struct datagram *datagram = argument;
    const ip_addr_t *own = ip_current_dest_addr();

    if (IP_IS_V6(address)) {
        datagram_key_set(&datagram->key, ip_2_ip6(address)->addr, ip_2_ip6(own)->addr, 16, port,
                         pcb->local_port);
    } else {
        datagram_key_set(&datagram->key, &ip_2_ip4(address)->addr, &ip_2_ip4(own)->addr, 4, port,
                         pcb->local_port);
    }
    datagram->key_stale = false;
    datagram->statistics.received_by_stack++;
    enqueue(datagram, &(struct arrival){.pbuf = payload, .bytes = payload->tot_len});
}

enum result datagram_result(err_t error)
{
    switch (error) {
    case ERR_OK:
        return RESULT_OK;
    case ERR_MEM:
    case ERR_BUF:
        return RESULT_NO_MEMORY;
    case ERR_RTE:
    case ERR_IF:
        return RESULT_NOT_FOUND;
    case ERR_USE:
        return RESULT_BUSY;
    default:
        return RESULT_INVALID;
    }
}

static enum result send_by_stack(struct datagram *datagram, const void *data, size_t bytes)
{
    err_t error = ERR_MEM;
    struct pbuf *pbuf;

    network_lock();
    pbuf = pbuf_alloc(PBUF_TRANSPORT, (u16_t)bytes, PBUF_RAM);
    if (pbuf != NULL) {
        memcpy(pbuf->payload, data, bytes);
        learning = datagram;
        error = udp_send(datagram->pcb, pbuf);
        learning = NULL;
        pbuf_free(pbuf);
    }
    network_unlock();
    if (error == ERR_OK) {
        datagram->statistics.sent++;
        datagram->statistics.sent_by_stack++;
    }
    return datagram_result(error);
}

/* Takes back a buffer that the device has sent, or that the driver returns after a reset. Thread
 * context, any thread. Interrupts are masked because datagram_close() frees the endpoint as soon as
 * all buffers are returned. */
static void release_send_buffer(struct virtio_netif_packet *packet)
{
    struct send_buffer *buffer = CONTAINER_OF(packet, struct send_buffer, packet);
    struct datagram *datagram = buffer->datagram;
    interrupt_state state = interrupts_save();
    bool last;

    pool_free(&datagram->send_buffers, buffer);
    last = datagram->closed && datagram->send_buffers.free_count == datagram->send_buffers.capacity;
    if (datagram->waiting) {
        datagram->waiting = false;
        (void)semaphore_post(&datagram->returned);
    }
    interrupts_restore(state);
    if (last) {
        datagram_free(datagram);
    }
}

/* Waits for a free send buffer. Returns false if none was free by the deadline. */
static bool wait_for_send_buffer(struct datagram *datagram, uint64_t deadline)
{
    virtio_netif_reclaim(datagram->interface);
    while (datagram->send_buffers.free_count == 0) {
        uint64_t look = time_after(BUFFER_PAUSE);

        if (deadline == DEADLINE_POLL || time_now() >= deadline) {
            return false;
        }
        datagram->waiting = true;
        (void)network_semaphore_wait(&datagram->returned, look < deadline ? look : deadline);
        virtio_netif_reclaim(datagram->interface);
    }
    return true;
}

static void describe(struct send_buffer *buffer, size_t headers, size_t bytes, bool partial)
{
    struct virtio_net_packet *packet = &buffer->packet.packet;

    buffer->packet.release = release_send_buffer;
    packet->owner = &buffer->packet;
    packet->rest = NULL;
    packet->gso_type = VIRTIO_NET_GSO_NONE;
    packet->checksum_partial = partial;
    packet->checksum_start = (uint16_t)(headers - 8u);
    packet->checksum_offset = 6;
    packet->segment_count = 1;
    packet->segment[0].memory = buffer->payload - headers;
    packet->segment[0].bytes = (uint32_t)(headers + bytes);
}

enum result datagram_send(struct datagram *datagram, const void *data, size_t bytes,
                          uint64_t deadline)
{
    bool partial = virtio_netif_offers_checksum(datagram->interface);
    struct send_buffer *buffer;

    if (bytes > datagram->bytes_max) {
        return RESULT_OVERFLOW;
    }
    if (datagram->headers_stale) {
        return send_by_stack(datagram, data, bytes);
    }
    if (datagram->send_buffers.free_count == 0 && !wait_for_send_buffer(datagram, deadline)) {
        return RESULT_TIMED_OUT;
    }
    buffer = pool_allocate(&datagram->send_buffers);
    buffer->datagram = datagram;
    datagram_write(&datagram->headers, buffer->payload, data, bytes, partial);
    describe(buffer, datagram->headers.bytes, bytes, partial);
    if (!virtio_netif_transmit(datagram->interface, &buffer->packet) &&
        !virtio_netif_transmit_copy(datagram->interface, &buffer->packet)) {
        pool_free(&datagram->send_buffers, buffer);
        return RESULT_NOT_FOUND;
    }
    datagram->statistics.sent++;
    return RESULT_OK;
}

/* Copies the payload. Returns false if the UDP checksum is wrong. */
static bool copy_out(const struct datagram *datagram, const struct arrival *arrival, void *data,
                     size_t bytes)
{
    if (arrival->pbuf != NULL) {
        (void)pbuf_copy_partial(arrival->pbuf, data, (u16_t)bytes, 0);
    } else if (arrival->checked) {
        memcpy(data, arrival->payload, bytes);
    } else {
        return datagram_read(arrival->payload, arrival->bytes, datagram->ipv6, data, bytes);
    }
    return true;
}

enum result datagram_receive(struct datagram *datagram, void *data, size_t capacity, size_t *bytes,
                             uint64_t deadline)
{
    for (;;) {
        struct arrival arrival;
        bool good;

        while (!dequeue(datagram, &arrival)) {
            if (network_semaphore_wait(&datagram->arrived, deadline) != RESULT_OK) {
                return RESULT_TIMED_OUT;
            }
        }
        *bytes = arrival.bytes < capacity ? arrival.bytes : capacity;
        good = copy_out(datagram, &arrival, data, *bytes);
        release_arrival(&arrival);
        if (good) {
            datagram->statistics.received++;
            return RESULT_OK;
        }
        datagram->statistics.damaged++;
    }
}

void datagram_drain(struct datagram *datagram)
{
    uint64_t deadline = time_after(DRAIN_TIME);
    struct arrival arrival;

    while (dequeue(datagram, &arrival)) {
        release_arrival(&arrival);
    }
    virtio_netif_reclaim(datagram->interface);
    while (datagram->send_buffers.free_count < datagram->send_buffers.capacity &&
           time_now() < deadline) {
        thread_sleep_until(time_after(BUFFER_PAUSE));
        virtio_netif_reclaim(datagram->interface);
    }
}
