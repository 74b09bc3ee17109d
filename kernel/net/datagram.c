/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens and closes UDP endpoints, and makes them learn their headers again every second
 * (kernel/datagram.h). */
#include "core_lock.h"
#include "kernel/interrupt.h"
#include "kernel/network.h"
#include "kernel/time.h"
#include "lwip/timeouts.h"
#include "net/datagram_private.h"
#include <string.h>

#define BUFFERS_DEFAULT 16u

/* Time for which headers and keys learnt from lwIP are used. */
#define LEARNT_MILLISECONDS 1000u

/* Protected by the network's lock. */
static struct {
    struct datagram *first;
    bool started;
} datagrams;

struct datagram *datagram_first(void)
{
    return datagrams.first;
}

/* Marks the learnt headers and keys of all endpoints as stale, so that the next datagram in each
 * direction goes through lwIP. */
static void mark_stale(void *unused)
{
    (void)unused;
    for (struct datagram *datagram = datagrams.first; datagram != NULL; datagram = datagram->next) {
        datagram->headers_stale = true;
        datagram->key_stale = true;
    }
    sys_timeout(LEARNT_MILLISECONDS, mark_stale, NULL);
}

size_t datagram_bytes_max(const struct datagram *datagram)
{
    return datagram->bytes_max;
}

void datagram_statistics(const struct datagram *datagram, struct datagram_statistics *statistics)
{
    *statistics = datagram->statistics;
}

/* Allocates the endpoint's buffers. Returns false if memory or receive blocks are short. */
static bool allocate_buffers(struct datagram *datagram,
                             const struct datagram_parameters *parameters)
{
    uint16_t send = parameters->send_buffers != 0 ? parameters->send_buffers : BUFFERS_DEFAULT;
    uint16_t receive =
        parameters->receive_buffers != 0 ? parameters->receive_buffers : BUFFERS_DEFAULT;
    uint32_t ring = 1;
    size_t block = (sizeof(struct send_buffer) + datagram->bytes_max + 15u) & ~(size_t)15u;

    if (!virtio_netif_reserve(datagram->interface, receive)) {
        return false;
    }
    datagram->receive_buffers = receive; /* 0 until they are reserved */
    datagram->send_pages = (send * block + PAGE_BYTES - 1) / PAGE_BYTES;
    datagram->send_memory = page_allocate(datagram->send_pages, PAGE_BYTES);
    while (ring < receive) {
        ring *= 2;
    }
    datagram->arrivals_mask = ring - 1;
    datagram->arrivals = heap_allocate(ring * sizeof(struct arrival));
    if (datagram->send_memory == NULL || datagram->arrivals == NULL) {
        return false;
    }
    semaphore_init(&datagram->returned, 0, 1);
    semaphore_init(&datagram->arrived, 0, 1);
    return pool_init(&datagram->send_buffers, datagram->send_memory, block, send) == RESULT_OK;
}

void datagram_free(struct datagram *datagram)
{
    if (datagram->send_memory != NULL) {
        page_free(datagram->send_memory, datagram->send_pages);
    }
    heap_free(datagram->arrivals);
    heap_free(datagram);
}

/* Creates and connects lwIP's part of the endpoint. Network lock held. */
static enum result connect_endpoint(struct datagram *datagram,
                                    const struct datagram_parameters *parameters)
{
    err_t error;

    datagram->pcb = udp_new_ip_type(IP_GET_TYPE(&parameters->peer));
    if (datagram->pcb == NULL) {
        return RESULT_NO_MEMORY;
    }
    error = udp_bind(datagram->pcb, IP46_ADDR_ANY(IP_GET_TYPE(&parameters->peer)),
                     parameters->local_port);
    if (error == ERR_OK) {
        error = udp_connect(datagram->pcb, &parameters->peer, parameters->peer_port);
    }
    if (error != ERR_OK) {
        udp_remove(datagram->pcb);
        return datagram_result(error);
    }
    udp_recv(datagram->pcb, datagram_received_by_stack, datagram);
    datagram->next = datagrams.first;
    datagrams.first = datagram;
    virtio_netif_set_bypass(datagram->interface, &datagram_bypass);
    if (!datagrams.started) {
        datagrams.started = true;
        sys_timeout(LEARNT_MILLISECONDS, mark_stale, NULL);
    }
    return RESULT_OK;
}

enum result datagram_open(struct datagram **datagram, const struct datagram_parameters *parameters)
{
    struct virtio_netif *interface = network_interface();
    struct datagram *made;
    enum result result = RESULT_NO_MEMORY;

    if (interface == NULL) {
        return RESULT_NOT_FOUND;
    }
    if (parameters->peer_port == 0 || ip_addr_isany(&parameters->peer)) {
        return RESULT_INVALID;
    }
    made = heap_allocate(sizeof(*made));
    if (made == NULL) {
        return RESULT_NO_MEMORY;
    }
    memset(made, 0, sizeof(*made));
    made->interface = interface;
    made->ipv6 = IP_IS_V6(&parameters->peer);
    made->headers_stale = true;
    made->key_stale = true;
    made->bytes_max = virtio_netif_interface(interface)->mtu - (made->ipv6 ? 48u : 28u);
    if (allocate_buffers(made, parameters)) {
        network_lock();
        result = connect_endpoint(made, parameters);
        network_unlock();
    }
    if (result != RESULT_OK) {
        virtio_netif_reserve(interface, -(int)made->receive_buffers);
        datagram_free(made);
        return result;
    }
    *datagram = made;
    return RESULT_OK;
}

void datagram_close(struct datagram *datagram)
{
    interrupt_state state;
    bool all_returned;

    network_lock();
    for (struct datagram **link = &datagrams.first; *link != NULL; link = &(*link)->next) {
        if (*link == datagram) {
            *link = datagram->next;
            break;
        }
    }
    udp_remove(datagram->pcb);
    network_unlock();
    datagram_drain(datagram);
    virtio_netif_reserve(datagram->interface, -(int)datagram->receive_buffers);
    state = interrupts_save();
    all_returned = datagram->send_buffers.free_count == datagram->send_buffers.capacity;
    datagram->closed = true;
    interrupts_restore(state);
    /* A device that was removed, or does not confirm its reset, may still read the other buffers
     * (VIRTIO 1.3, 2.4.1). datagram_path.c frees the endpoint when the last buffer is returned. */
    if (all_returned) {
        datagram_free(datagram);
    }
}
