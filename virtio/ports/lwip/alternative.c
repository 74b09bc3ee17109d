/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface with the polled driver (virtio/net_polled.h), in place of the ordinary one. While
 * it runs, interface->net is NULL, so that nothing uses the ordinary driver, and lwIP sends through
 * output_frame(). A thread of its own polls, so that a system can give it a budget of processor
 * time; the bottom half waits for its end.
 *
 * The bypass (bypass.c) calls the driver without the network lock, so each call of it that moves a
 * frame is made in a critical section (SYS_ARCH_PROTECT()).
 */
#include "core_lock.h"
#include "netif_private.h"
#include "network_system.h"
#include "virtio/net_polled.h"
#include "virtio/network_device.h"
#include <string.h>

#define POLL_STACK_BYTES  8192u
#define WATCH_NANOSECONDS UINT64_C(1000000000)
#define PIECES_MAX        16u /* of a frame; a frame of more pieces is made one piece first */

static struct virtio_net_buffer *take_block(struct virtio_netif *interface)
{
    virtio_lock_state state = virtio_platform_lock();
    struct virtio_net_buffer *buffer = receive_buffer_take(interface);

    virtio_platform_unlock(state);
    return buffer;
}

/* Copies a received frame to a free block, and passes it to lwIP. Returns false if there is no
 * frame or no block. Network lock held. */
static bool receive_one(struct virtio_netif *interface)
{
    struct virtio_net_buffer *buffer = take_block(interface);
    SYS_ARCH_DECL_PROTECT(level);

    if (buffer == NULL) {
        return false;
    }
    SYS_ARCH_PROTECT(level);
    buffer->frame_bytes =
        virtio_polled_receive(interface->polled, buffer->memory + VIRTIO_NET_HEADER_BYTES,
                              buffer->capacity - VIRTIO_NET_HEADER_BYTES);
    SYS_ARCH_UNPROTECT(level);
    if (buffer->frame_bytes == 0) {
        virtio_netif_release(buffer);
        return false;
    }
    buffer->buffers = 1;
    buffer->rest = NULL;
    buffer->checksum = VIRTIO_NET_CHECKSUM_UNKNOWN;
    receive_deliver_copy(interface, buffer);
    return true;
}

/* Describes the pieces of a frame. Returns their number; 0 if there are more than PIECES_MAX. */
static unsigned describe(const struct pbuf *frame, struct virtio_net_segment pieces[PIECES_MAX])
{
    unsigned count = 0;

    for (const struct pbuf *piece = frame; piece != NULL; piece = piece->next) {
        if (piece->len == 0) {
            continue;
        }
        if (count == PIECES_MAX) {
            return 0;
        }
        pieces[count++] =
            (struct virtio_net_segment){.memory = piece->payload, .bytes = piece->len};
    }
    return count;
}

static bool send(struct virtio_netif *interface, const struct virtio_net_segment *pieces,
                 unsigned count)
{
    bool accepted;
    SYS_ARCH_DECL_PROTECT(level);

    SYS_ARCH_PROTECT(level);
    accepted = virtio_polled_transmit(interface->polled, pieces, count);
    SYS_ARCH_UNPROTECT(level);
    return accepted;
}

/* lwIP's linkoutput function. */
static err_t output_frame(struct netif *netif, struct pbuf *frame)
{
    struct virtio_netif *interface = netif->state;
    struct virtio_net_segment pieces[PIECES_MAX];
    struct pbuf *whole = NULL;
    unsigned count = describe(frame, pieces);
    bool accepted;

    if (interface->bypass != NULL) {
        interface->bypass->output(frame->payload, frame->len);
    }
    if (count == 0) {
        whole = pbuf_clone(PBUF_RAW, PBUF_RAM, frame);
        if (whole == NULL) {
            interface->transmit_dropped++;
            return ERR_MEM;
        }
        interface->transmit_copied++;
        count = describe(whole, pieces);
    }
    accepted = send(interface, pieces, count);
    if (whole != NULL) {
        pbuf_free(whole);
    }
    interface->transmit_dropped += accepted ? 0 : 1;
    return accepted ? ERR_OK : ERR_BUF;
}

/* Called in a critical section. */
bool alternative_transmit(struct virtio_netif *interface, const struct virtio_net_packet *packet)
{
    if (!interface->polled_runs || packet->rest != NULL || packet->checksum_partial ||
        packet->gso_type != VIRTIO_NET_GSO_NONE ||
        !virtio_polled_transmit(interface->polled, packet->segment, packet->segment_count)) {
        return false;
    }
    virtio_polled_flush(interface->polled);
    return true;
}

/* Called by network_unlock(). */
static void release(void *context)
{
    struct virtio_netif *interface = context;
    SYS_ARCH_DECL_PROTECT(level);

    SYS_ARCH_PROTECT(level);
    virtio_polled_flush(interface->polled);
    SYS_ARCH_UNPROTECT(level);
}

static void update_link(struct virtio_netif *interface)
{
    if (virtio_polled_link_up(interface->polled)) {
        netif_set_link_up(&interface->netif);
    } else {
        netif_set_link_down(&interface->netif);
    }
}

/* Leads lwIP's frames to the polled driver, which has just been started. */
static void attach(struct virtio_netif *interface)
{
    struct netif *netif = &interface->netif;

    network_lock();
    interface->polled_runs = true;
    interface->replacements++;
    interface->checksum_offered = false;
    netif->chksum_flags = NETIF_CHECKSUM_ENABLE_ALL;
    netif->mtu = VIRTIO_POLLED_MTU;
    netif->mtu6 = VIRTIO_POLLED_MTU;
    netif->linkoutput = output_frame;
    (void)virtio_polled_mac(interface->polled, netif->hwaddr);
    network_set_release(release, interface);
    update_link(interface);
    network_unlock();
}

static void detach(struct virtio_netif *interface)
{
    SYS_ARCH_DECL_PROTECT(level);

    network_lock();
    netif_set_link_down(&interface->netif);
    interface->netif.linkoutput = transmit_frame;
    network_set_release(transmit_release, interface);
    SYS_ARCH_PROTECT(level);
    interface->polled_runs = false;
    SYS_ARCH_UNPROTECT(level);
    network_unlock();
}

static uint64_t worked(const struct virtio_netif *interface)
{
    return virtio_platform_now() - interface->started;
}

/* Receives at most a ring of frames, so that a poll takes a bounded time. Returns false if the
 * polled driver is to be stopped. */
static bool poll(struct virtio_netif *interface, uint64_t *next_watch)
{
    network_lock();
    receive_relieve(interface);
    for (unsigned i = 0; i < VIRTIO_POLLED_ENTRIES && receive_one(interface); i++) {
    }
    if (virtio_platform_now() >= *next_watch) {
        *next_watch = virtio_platform_now() + WATCH_NANOSECONDS;
        virtio_polled_watch(interface->polled);
        if (virtio_polled_link_up(interface->polled) != netif_is_link_up(&interface->netif)) {
            update_link(interface);
        }
    }
    network_unlock(); /* notifies the device of answers, and of buffers exposed again */
    return virtio_polled_broken(interface->polled) == NULL &&
           !virtio_choice_return_due(&interface->choice, worked(interface));
}

static void poll_until_end(struct virtio_netif *interface)
{
    uint64_t period = interface->parameters.alternative.period;
    uint64_t next = virtio_platform_now();
    uint64_t next_watch = next + WATCH_NANOSECONDS;

    while (poll(interface, &next_watch)) {
        uint64_t now = virtio_platform_now();

        next = next + period > now ? next + period : now + period; /* polls missed are left out */
        network_sleep_until(next);
    }
}

/* The thread that polls. */
static void poll_thread(void *argument)
{
    struct virtio_netif *interface = argument;

    for (;;) {
        network_wait(&interface->polled_begin);
        poll_until_end(interface);
        sys_sem_signal(&interface->polled_end);
    }
}

static bool allocate(struct virtio_netif *interface)
{
    interface->polled = virtio_polled_create(virtio_network_transport(interface->device)->pool);
    return interface->polled != NULL && sys_sem_new(&interface->polled_begin, 0) == ERR_OK &&
           sys_sem_new(&interface->polled_end, 0) == ERR_OK &&
           sys_thread_new("net-polled", poll_thread, interface, POLL_STACK_BYTES,
                          interface->parameters.priority) != 0;
}

void alternative_prepare(struct virtio_netif *interface)
{
    const struct virtio_netif_alternative *alternative = &interface->parameters.alternative;
    SYS_ARCH_DECL_PROTECT(level);

    if (alternative->failures == 0) {
        return;
    }
    if (!allocate(interface)) {
        virtio_platform_log("net: no memory for the polled driver: a device that fails keeps the "
                            "ordinary one");
        return;
    }
    interface->choice.window = alternative->window;
    interface->choice.retry = alternative->retry;
    SYS_ARCH_PROTECT(level); /* last, because the bottom half may read it already */
    interface->choice.failures = LWIP_MIN(alternative->failures, VIRTIO_FAILURES_MAX);
    SYS_ARCH_UNPROTECT(level);
}

/* Reports why the polled driver ends, and records it. */
static void record_end(struct virtio_netif *interface)
{
    uint64_t time = worked(interface);

    if (virtio_polled_broken(interface->polled) != NULL) {
        virtio_choice_failed(&interface->choice, virtio_platform_now(), time);
    } else {
        virtio_platform_log("net: the polled driver has worked for %llu s; the ordinary one is "
                            "tried again",
                            (unsigned long long)(time / WATCH_NANOSECONDS));
        virtio_choice_return(&interface->choice);
    }
}

/* Stops the polled driver. Repeats until the device confirms the reset, because it may use the
 * driver's memory until then (VIRTIO 1.3, 2.4.1). */
static void stop(struct virtio_netif *interface)
{
    while (!virtio_network_restore(interface->device) || !virtio_polled_stop(interface->polled)) {
        netif_pause(interface);
    }
}

bool alternative_run(struct virtio_netif *interface, const char **reason)
{
    if (!virtio_polled_start(interface->polled, virtio_network_transport(interface->device),
                             reason)) {
        stop(interface);
        virtio_choice_failed(&interface->choice, virtio_platform_now(), 0);
        return false;
    }
    interface->started = virtio_platform_now();
    attach(interface);
    virtio_platform_log("net: the device was restarted with the polled driver, every %u us",
                        (unsigned)(interface->parameters.alternative.period / 1000u));
    sys_sem_signal(&interface->polled_begin);
    network_wait(&interface->polled_end);
    detach(interface);
    record_end(interface);
    netif_pause_if_ill(interface);
    stop(interface);
    return true;
}
