/* SPDX-License-Identifier: BSD-2-Clause */
/* The interface: start, bottom half, link, restart of a failed device (see virtio_netif.h). */
#include "core_lock.h"
#include "lwip/etharp.h"
#include "lwip/ethip6.h"
#include "lwip/timeouts.h"
#include "netif/ethernet.h"
#include "netif_private.h"
#include "network_system.h"
#include "receive_window.h"
#include "virtio_netif.h"
#include <string.h>
#include <virtio/network_device.h>

/* Maximum number of frames received while the network lock is held once. */
#define BATCH_FRAMES 64u

/* Number of received frames after which the answers are sent. By then a sender of full segments has
 * used up its window. A smaller number costs more than it gains, because a device with 8 buffers
 * fills them and stalls while it is notified of the answers. */
#define FLUSH_FRAMES LWIP_MIN(TCP_WND / TCP_MSS, BATCH_FRAMES)

#define BOTTOM_HALF_STACK_BYTES 8192u

/* Minimum and maximum number of buffers exposed to the device (virtio/net/adapt.c). */
#define RECEIVE_BUFFERS     8u
#define RECEIVE_BUFFERS_MAX 64u

_Static_assert(RECEIVE_BUFFERS_MAX *RECEIVE_BLOCK_ROOM >= VIRTIO_NET_LARGE_RECEIVE_BYTES,
               "a device whose MTU is larger than that of a block's frame has enough blocks");

/* Blocks in addition to those that the device has: a TCP window of full segments, and frames that
 * lwIP is processing. */
#define RECEIVE_POOL_SPARE 18u
#define RECEIVE_POOL       (TCP_WND / TCP_MSS + RECEIVE_POOL_SPARE)

/* Period of the checks of the device's status: a device that was reset from outside, or removed,
 * does not interrupt. */
#define WATCH_MILLISECONDS 1000u

/* Time between two attempts to restart a device, doubled after each failure. A device that has run
 * for HEALTHY_NANOSECONDS before it failed starts at the minimum again. */
#define RETRY_MILLISECONDS_MIN 10u
#define RETRY_MILLISECONDS_MAX 10000u
#define HEALTHY_NANOSECONDS    UINT64_C(10000000000)

/* Default period of the polled driver. */
#define POLL_NANOSECONDS UINT64_C(1000000)

static void wake_bottom_half(void *context)
{
    struct virtio_netif *interface = context;

    sys_sem_signal(&interface->wake);
}

static const struct virtio_net_operations operations = {
    .receive_buffer = receive_buffer_take,
    .return_buffer = receive_buffer_return,
    .signal = wake_bottom_half,
};

/* A timer function of lwIP: called in lwIP's thread, with the network lock held. */
static void request_watch(void *context)
{
    struct virtio_netif *interface = context;

    received_add_up();
    interface->watch_due = true;
    wake_bottom_half(interface);
    sys_timeout(WATCH_MILLISECONDS, request_watch, interface);
}

static struct virtio_net *start_driver(struct virtio_netif *interface, const char **reason)
{
    SYS_ARCH_DECL_PROTECT(level);
    struct virtio_net *net =
        virtio_net_create(virtio_network_transport(interface->device),
                          &interface->parameters.driver, &operations, interface, reason);

    if (net == NULL) {
        return NULL;
    }
    if (!virtio_network_connect(interface->device, net)) {
        *reason = "its interrupt cannot be attached";
        (void)virtio_net_stop(net);
        virtio_net_free(net);
        return NULL;
    }
    /* Handle and acknowledge interrupts from before the handler was connected. An edge-triggered
     * line that is already high would never rise again. */
    SYS_ARCH_PROTECT(level);
    (void)virtio_net_interrupt(net);
    SYS_ARCH_UNPROTECT(level);
    interface->started = virtio_platform_now();
    return net;
}

/* Reports an MTU of the device that is not used. A restart does not repeat the report. */
static void report_mtu(struct virtio_netif *interface)
{
    uint16_t offered;
    const char *reason = virtio_net_mtu_unused(interface->net, &offered);

    if (reason != NULL && reason != interface->mtu_unused) {
        virtio_platform_log("net: MTU %u of the device is used as %u: %s", offered,
                            interface->netif.mtu, reason);
    }
    interface->mtu_unused = reason;
}

/* Copies MTU, address and checksum offload of the device to lwIP's structure. */
static void describe_device(struct virtio_netif *interface)
{
    struct netif *netif = &interface->netif;

    netif->chksum_flags = NETIF_CHECKSUM_ENABLE_ALL;
    interface->checksum_offered = (virtio_net_features(interface->net) & VIRTIO_NET_F_CSUM) != 0;
    if (interface->checksum_offered) {
        netif->chksum_flags &= (u16_t)~NETIF_CHECKSUM_GEN_TCP;
    }
    netif->mtu = virtio_net_mtu(interface->net);
    netif->mtu6 = netif->mtu;
    report_mtu(interface);
    (void)virtio_net_mac(interface->net, netif->hwaddr);
}

static void update_link(struct virtio_netif *interface)
{
    if (virtio_net_link_up(interface->net)) {
        netif_set_link_up(&interface->netif);
    } else {
        netif_set_link_down(&interface->netif);
    }
}

void netif_pause(struct virtio_netif *interface)
{
    sys_msleep(interface->retry);
    interface->retry = LWIP_MIN(2 * interface->retry, RETRY_MILLISECONDS_MAX);
}

void netif_pause_if_ill(struct virtio_netif *interface)
{
    if (virtio_platform_now() - interface->started >= HEALTHY_NANOSECONDS) {
        interface->retry = RETRY_MILLISECONDS_MIN;
    } else {
        netif_pause(interface);
    }
}

/* Takes the link down and detaches the driver, so that no other thread uses it. Returns the driver.
 */
static struct virtio_net *detach_driver(struct virtio_netif *interface)
{
    struct virtio_net *net = interface->net;

    network_lock();
    netif_set_link_down(&interface->netif);
    transmit_release(interface); /* passes held frames to the driver, which refuses them */
    interface->net = NULL;       /* before the driver is stopped: see bypass.c */
    network_unlock();
    (void)virtio_network_connect(interface->device, NULL);
    netif_pause_if_ill(interface);
    return net;
}

/* Stops and frees the driver. Repeats until the device confirms the reset, because it owns its
 * buffers until then (VIRTIO 1.3, 2.4.1). That can take long, so the network lock is not held. */
static void release_driver(struct virtio_netif *interface, struct virtio_net *net)
{
    while (!virtio_network_restore(interface->device) || !virtio_net_stop(net)) {
        netif_pause(interface);
    }
    network_lock();
    transmit_take_back(net);
    network_unlock();
    virtio_net_free(net);
}

static void record_failure(struct virtio_netif *interface, uint64_t worked)
{
    virtio_choice_failed(&interface->choice, virtio_platform_now(), worked);
}

/* The end of an attempt to restart the device. */
enum attempt {
    ATTEMPT_FAILED,    /* it cannot be started now */
    ATTEMPT_SUCCEEDED, /* the ordinary driver runs */
    ATTEMPT_ENDED,     /* the polled driver ran, and has been stopped */
};

static enum attempt start_ordinary(struct virtio_netif *interface, const char **reason)
{
    struct virtio_net *net = start_driver(interface, reason);

    if (net == NULL) {
        record_failure(interface, 0);
        return ATTEMPT_FAILED;
    }
    network_lock();
    interface->net = net;
    describe_device(interface);
    filter_restart(interface);
    update_link(interface);
    network_unlock();
    filter_update(interface);
    return ATTEMPT_SUCCEEDED;
}

/* Starts the device with the driver that is chosen. If it cannot be started, *reason is a static
 * text, or NULL if it is another device. */
static enum attempt try_restart(struct virtio_netif *interface, const char **reason)
{
    interface->restarts++;
    if (!virtio_network_restore(interface->device)) {
        *reason = "it is gone";
        return ATTEMPT_FAILED;
    }
    if (!virtio_network_probe(interface->device, reason)) {
        return ATTEMPT_FAILED;
    }
    if (virtio_choice_is_polled(&interface->choice)) {
        return alternative_run(interface, reason) ? ATTEMPT_ENDED : ATTEMPT_FAILED;
    }
    return start_ordinary(interface, reason);
}

/* Resets a failed device and starts it again. Repeats this until the ordinary driver runs.
 * Bottom-half thread. Apart and cold, so that the bottom half's loop keeps its registers. */
static __attribute__((cold, noinline)) void restart(struct virtio_netif *interface)
{
    const char *reported = NULL;
    const char *reason = NULL;
    enum attempt attempt;

    record_failure(interface, virtio_platform_now() - interface->started);
    release_driver(interface, detach_driver(interface));
    while ((attempt = try_restart(interface, &reason)) != ATTEMPT_SUCCEEDED) {
        if (attempt == ATTEMPT_ENDED) {
            continue;
        }
        if (reason != reported) {
            virtio_platform_log("net: the device cannot be restarted yet: %s",
                                reason == NULL ? "it is another one" : reason);
            reported = reason;
        }
        netif_pause(interface);
    }
    virtio_platform_log("net: the device was restarted");
}

/*
 * Receives up to a batch of frames. Returns false if there may be more. Polls the ring between the
 * frames, so that the device gets new buffers: a device with only 8 buffers would otherwise stall
 * while the bottom half works.
 */
static bool receive_batch(struct virtio_netif *interface)
{
    struct virtio_net_buffer *buffer = NULL;
    bool changed;

    network_lock();
    receive_relieve(interface);
    for (unsigned taken = 1; taken <= BATCH_FRAMES; taken++) {
        buffer = virtio_net_receive(interface->net);
        if (buffer == NULL) {
            break;
        }
        receive_deliver(interface, buffer);
        interface->streak++;
        network_step_begins();
        (void)virtio_net_poll(interface->net);
        if (taken % FLUSH_FRAMES == 0) {
            receive_finish(interface);
            transmit_release(interface);
        }
    }
    receive_finish(interface);
    changed = virtio_net_link_changed(interface->net) && virtio_net_broken(interface->net) == NULL;
    if (changed) {
        update_link(interface);
    }
    network_unlock(); /* notifies the device of the answers, and reclaims sent packets */
    if (changed) {
        filter_announce(interface);
    }
    return buffer == NULL;
}

static void bottom_half(void *argument)
{
    struct virtio_netif *interface = argument;

    network_bottom_half_begins();
    for (;;) {
        network_step_begins();
        (void)sys_sem_wait(&interface->wake);
        stream_begin(interface);
        if (interface->watch_due) {
            interface->watch_due = false;
            virtio_net_watch(interface->net);
        }
        filter_update(interface);
        do {
            while (!receive_batch(interface)) {
                network_step_begins();
                network_yield();
            }
            receive_grow(interface);
            stream_await(interface);
            network_step_begins();
        } while (virtio_net_bottom_half(interface->net));
        virtio_network_rearm(interface->device);
        if (virtio_net_broken(interface->net) != NULL) {
            restart(interface);
        }
    }
}

/* lwIP's init function for the interface. */
static err_t init_interface(struct netif *netif)
{
    struct virtio_netif *interface = netif->state;
    uint32_t words[2] = {LWIP_RAND(), LWIP_RAND()};

    netif->name[0] = 'e';
    netif->name[1] = 'n';
    netif->hostname = "bulkhead";
    netif->output = etharp_output;
    netif->output_ip6 = ethip6_output;
    netif->linkoutput = transmit_frame;
    netif->hwaddr_len = ETH_HWADDR_LEN;
    netif->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET | NETIF_FLAG_MLD6;
    /* A random address, locally administered and individual, in case the device has none. */
    memcpy(netif->hwaddr, words, ETH_HWADDR_LEN);
    netif->hwaddr[0] = (u8_t)((netif->hwaddr[0] & 0xfc) | 0x02);
    describe_device(interface);
    return ERR_OK;
}

static bool add_interface(struct virtio_netif *interface)
{
    bool added;

    network_lock();
    added = netif_add_noaddr(&interface->netif, interface, init_interface, ethernet_input) != NULL;
    if (added) {
        filter_init(interface);
        network_set_release(transmit_release, interface);
        update_link(interface);
        sys_timeout(WATCH_MILLISECONDS, request_watch, interface);
        network_window_share(
            (LWIP_MAX(interface->parameters.rx_pool, RECEIVE_POOL_SPARE) - RECEIVE_POOL_SPARE) *
            TCP_MSS);
    }
    network_unlock();
    return added;
}

/* Undoes add_interface(), before any frame was sent or received. */
static void remove_interface(struct virtio_netif *interface)
{
    network_lock();
    sys_untimeout(request_watch, interface);
    network_set_release(NULL, NULL);
    network_window_share(0);
    netif_remove(&interface->netif);
    network_unlock();
}

/* The bottom half runs once without a signal, to handle interrupts that came before it existed
 * (virtio/net.h) and to write the device's filters. */
static bool start_bottom_half(struct virtio_netif *interface)
{
    wake_bottom_half(interface);
    return sys_thread_new("net-bottom-half", bottom_half, interface, BOTTOM_HALF_STACK_BYTES,
                          interface->parameters.priority) != 0;
}

/* Fills in defaults. If the number of buffers is given, it is fixed, unless an upper bound is given
 * too. */
static void set_defaults(struct virtio_netif_parameters *parameters)
{
    struct virtio_net_parameters *driver = &parameters->driver;

    if (driver->rx_buffers == 0) {
        driver->rx_buffers = RECEIVE_BUFFERS;
        driver->rx_buffers_max =
            driver->rx_buffers_max == 0 ? RECEIVE_BUFFERS_MAX : driver->rx_buffers_max;
    }
    driver->receive_bytes = RECEIVE_BLOCK_ROOM;
    driver->mtu_max = NETIF_MTU_MAX;
    parameters->rx_pool = parameters->rx_pool == 0 ? RECEIVE_POOL : parameters->rx_pool;
    if (parameters->alternative.period == 0) {
        parameters->alternative.period = POLL_NANOSECONDS;
    }
}

/* After a failed start: disconnects the interrupt, resets the device and frees the driver. If the
 * device does not confirm the reset, the memory that it has is lost (VIRTIO 1.3, 2.4.1). */
static void stop_driver(struct virtio_netif *interface)
{
    struct virtio_net *net = interface->net;

    (void)virtio_network_connect(interface->device, NULL);
    interface->net = NULL;
    if (virtio_net_stop(net)) {
        transmit_take_back(net);
        virtio_net_free(net);
    }
}

/* Starts driver, interface and bottom half. Returns false and sets *reason if one of them fails;
 * the others are then stopped. */
static bool start(struct virtio_netif *interface, const char **reason)
{
    if (!receive_init(interface) || !transmit_init(interface)) {
        return false;
    }
    interface->net = start_driver(interface, reason);
    if (interface->net == NULL) {
        return false;
    }
    *reason = "lwIP does not take one more interface";
    if (add_interface(interface)) {
        *reason = "there is no thread for its bottom half";
        if (start_bottom_half(interface)) {
            alternative_prepare(interface);
            return true;
        }
        remove_interface(interface);
    }
    stop_driver(interface);
    return false;
}

struct virtio_netif *virtio_netif_create(struct virtio_network_device *device,
                                         const struct virtio_netif_parameters *parameters,
                                         const char **reason)
{
    struct virtio_netif *interface = network_memory_allocate(sizeof(*interface));

    *reason = "out of memory";
    if (interface == NULL) {
        return NULL;
    }
    memset(interface, 0, sizeof(*interface));
    interface->device = device;
    interface->parameters = *parameters;
    set_defaults(&interface->parameters);
    interface->retry = RETRY_MILLISECONDS_MIN;
    if (sys_sem_new(&interface->wake, 0) == ERR_OK) {
        if (start(interface, reason)) {
            return interface;
        }
        receive_destroy(interface);
        transmit_destroy(interface);
        sys_sem_free(&interface->wake);
    }
    network_memory_free(interface);
    return NULL;
}

struct netif *virtio_netif_interface(struct virtio_netif *interface)
{
    return &interface->netif;
}

const char *virtio_netif_driver(const struct virtio_netif *interface)
{
    return virtio_choice_is_polled(&interface->choice) ? "virtio-net polled" : "virtio-net";
}

uint64_t virtio_netif_features(const struct virtio_netif *interface)
{
    if (interface->polled_runs) {
        return virtio_polled_features(interface->polled);
    }
    return interface->net == NULL ? 0 : virtio_net_features(interface->net);
}

uint32_t virtio_netif_speed(const struct virtio_netif *interface, bool *full_duplex)
{
    return interface->net == NULL ? 0 : virtio_net_speed(interface->net, full_duplex);
}

void virtio_netif_statistics(struct virtio_netif *interface,
                             struct virtio_netif_statistics *statistics)
{
    memset(statistics, 0, sizeof(*statistics));
    if (interface->net != NULL) {
        virtio_net_statistics(interface->net, &statistics->driver);
    } else if (interface->polled_runs) {
        virtio_polled_statistics(interface->polled, &statistics->driver);
    }
    statistics->rx_pool_blocks = interface->blocks_count;
    if (interface->polled_runs) { /* its buffers are not blocks of the pool */
        statistics->rx_pool_blocks += (uint32_t)statistics->driver.rx_exposed;
    }
    statistics->rx_pool_free = interface->blocks_free;
    statistics->rx_pool_lowest = interface->blocks_lowest;
    statistics->rx_copied = interface->copied;
    statistics->rx_copies_bytes = interface->copies_bytes;
    statistics->rx_dropped = interface->dropped_no_memory + interface->dropped_too_long;
    received_read(interface, &statistics->received);
    statistics->tx_copied = interface->transmit_copied;
    statistics->tx_dropped = interface->transmit_dropped;
    statistics->tx_packets_free = interface->packets_free;
    statistics->tx_joined = interface->segmentation.joined;
    statistics->tx_checksums = interface->transmit_checksums;
    statistics->restarts = interface->restarts;
    statistics->replacements = interface->replacements;
}
