/* SPDX-License-Identifier: BSD-2-Clause */
/* See status.h. Times are nanoseconds, sizes bytes. */
#include "status.h"
#include "heap.h"
#include "json.h"
#include "kernel/connection.h"
#include "kernel/memory.h"
#include "kernel/network.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "lwip/ip4_addr.h"
#include "lwip/ip6_addr.h"
#include "lwip/netif.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/stats.h"
#include "services.h"
#include "status_vcpus.h"
#include "virtio_netif.h"
#include <stdio.h>

#define THREADS_MAX     24u
#define CONNECTIONS_MAX 16u

static void write_driver(struct json *json, const struct virtio_net_statistics *driver)
{
    json_object(json, "driver");
    json_number(json, "rx_frames", driver->rx_frames);
    json_number(json, "rx_bytes", driver->rx_bytes);
    json_number(json, "rx_exposed", driver->rx_exposed);
    json_number(json, "rx_queued", driver->rx_queued);
    json_number(json, "rx_buffers_taken", driver->rx_buffers_taken);
    json_number(json, "rx_buffers_returned", driver->rx_buffers_returned);
    json_number(json, "rx_refill_failures", driver->rx_refill_failures);
    json_number(json, "rx_target", driver->rx_target);
    json_number(json, "rx_dry", driver->rx_dry);
    json_number(json, "rx_target_changes", driver->rx_target_changes);
    json_number(json, "rx_bad", driver->rx_bad);
    json_number(json, "tx_frames", driver->tx_frames);
    json_number(json, "tx_bytes", driver->tx_bytes);
    json_number(json, "tx_in_flight", driver->tx_in_flight);
    json_number(json, "tx_queued", driver->tx_queued);
    json_number(json, "tx_finished", driver->tx_finished);
    json_number(json, "tx_refused", driver->tx_refused);
    json_number(json, "tx_accepted", driver->tx_accepted);
    json_number(json, "tx_returned", driver->tx_returned);
    json_number(json, "interrupts", driver->interrupts);
    json_number(json, "interrupts_spurious", driver->interrupts_spurious);
    json_number(json, "signals", driver->signals);
    json_number(json, "notifications_rx", driver->notifications_rx);
    json_number(json, "notifications_tx", driver->notifications_tx);
    json_number(json, "descriptors_moved", driver->descriptors_moved);
    json_number(json, "descriptors_moved_max", driver->descriptors_moved_max);
    json_number(json, "budget_exhausted", driver->budget_exhausted);
    json_number(json, "handler_instructions_max", driver->handler_instructions_max);
    json_number(json, "interrupts_masked", driver->interrupts_masked);
    json_number(json, "broken", driver->broken);
    json_number(json, "queue_resets", driver->queue_resets);
    json_end_object(json);
}

/* Writes the counts of fates from `first` to the one before `end`. */
static void write_fates(struct json *json, const char *name,
                        const struct virtio_netif_received *received, unsigned first, unsigned end)
{
    json_object(json, name);
    for (unsigned i = first; i < end; i++) {
        json_number(json, virtio_netif_fate_name(i), received->fate[i]);
    }
    json_end_object(json);
}

static void write_received(struct json *json, const struct virtio_netif_received *received)
{
    json_object(json, "received");
    json_number(json, "frames", received->frames);
    json_number(json, "reassembled", received->reassembled);
    write_fates(json, "delivered", received, 0, VIRTIO_NETIF_DROPPED);
    write_fates(json, "dropped", received, VIRTIO_NETIF_DROPPED, VIRTIO_NETIF_FATES);
    json_end_object(json);
}

/* Writes the address with lower-case letters, as RFC 5952, 4.3 requires; lwIP writes capitals. */
static const char *ipv6_text(const ip6_addr_t *address, char *text, size_t capacity)
{
    (void)ip6addr_ntoa_r(address, text, (int)capacity);
    for (char *letter = text; *letter != '\0'; letter++) {
        if (*letter >= 'A' && *letter <= 'F') {
            *letter = (char)(*letter - 'A' + 'a');
        }
    }
    return text;
}

static void write_addresses(struct json *json, const struct netif *netif)
{
    char text[IP6ADDR_STRLEN_MAX];

    json_text(json, "ipv4", ip4addr_ntoa_r(netif_ip4_addr(netif), text, sizeof(text)));
    json_text(json, "ipv4_gateway", ip4addr_ntoa_r(netif_ip4_gw(netif), text, sizeof(text)));
    json_array(json, "ipv6");
    for (unsigned i = 0; i < LWIP_IPV6_NUM_ADDRESSES; i++) {
        if (ip6_addr_isvalid(netif_ip6_addr_state(netif, i))) {
            json_text(json, NULL, ipv6_text(netif_ip6_addr(netif, i), text, sizeof(text)));
        }
    }
    json_end_array(json);
}

static void write_network(struct json *json)
{
    struct virtio_netif *interface = network_interface();
    struct netif *netif = virtio_netif_interface(interface);
    struct virtio_netif_statistics statistics;
    bool full_duplex = false;
    char text[24];

    virtio_netif_statistics(interface, &statistics);
    json_object(json, "network");
    (void)snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", netif->hwaddr[0],
                   netif->hwaddr[1], netif->hwaddr[2], netif->hwaddr[3], netif->hwaddr[4],
                   netif->hwaddr[5]);
    json_text(json, "mac", text);
    json_text(json, "bus", network_bus());
    json_text(json, "interrupts", network_interrupts());
    (void)snprintf(text, sizeof(text), "0x%llx",
                   (unsigned long long)virtio_netif_features(interface));
    json_text(json, "features", text);
    json_text(json, "driver_name", virtio_netif_driver(interface));
    json_boolean(json, "link", netif_is_link_up(netif));
    json_number(json, "speed_mbps", virtio_netif_speed(interface, &full_duplex));
    json_boolean(json, "full_duplex", full_duplex);
    json_number(json, "mtu", netif->mtu);
    write_addresses(json, netif);
    write_driver(json, &statistics.driver);
    write_received(json, &statistics.received);
    json_object(json, "rx_pool");
    json_number(json, "blocks", statistics.rx_pool_blocks);
    json_number(json, "free", statistics.rx_pool_free);
    json_number(json, "lowest_free", statistics.rx_pool_lowest);
    json_number(json, "copied", statistics.rx_copied);
    json_number(json, "copies_bytes", statistics.rx_copies_bytes);
    json_number(json, "dropped", statistics.rx_dropped);
    json_end_object(json);
    json_object(json, "tx");
    json_number(json, "copied", statistics.tx_copied);
    json_number(json, "dropped", statistics.tx_dropped);
    json_number(json, "packets_free", statistics.tx_packets_free);
    json_number(json, "checksums_offloaded", statistics.tx_checksums);
    json_number(json, "segments_joined", statistics.tx_joined);
    json_end_object(json);
    json_number(json, "restarts", statistics.restarts);
    json_number(json, "replacements", statistics.replacements);
    json_end_object(json);
}

static const char *state_name(enum thread_state state)
{
    static const char *const names[] = {[THREAD_READY] = "ready",
                                        [THREAD_RUNNING] = "running",
                                        [THREAD_BLOCKED] = "blocked",
                                        [THREAD_FINISHED] = "finished"};

    return (size_t)state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

static void write_threads(struct json *json, const struct thread_statistics *threads, size_t count)
{
    json_array(json, "threads");
    for (size_t i = 0; i < count; i++) {
        json_object(json, NULL);
        json_text(json, "name", threads[i].name);
        json_text(json, "state", state_name(threads[i].state));
        json_number(json, "priority", threads[i].base_priority);
        json_number(json, "effective_priority", threads[i].effective_priority);
        json_number(json, "run_ns", threads[i].run_nanoseconds);
        json_number(json, "switches", threads[i].switches);
        json_number(json, "stack", threads[i].stack_bytes);
        json_number(json, "stack_used", threads[i].stack_used_bytes);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_scheduler(struct json *json)
{
    struct thread_statistics *threads = heap_allocate(THREADS_MAX * sizeof(*threads));
    struct scheduler_statistics scheduler;
    size_t count;

    scheduler_statistics(&scheduler);
    json_object(json, "scheduler");
    json_number(json, "context_switches", scheduler.context_switches);
    json_number(json, "interrupts", scheduler.interrupts);
    json_number(json, "idle_ns", scheduler.idle_nanoseconds);
    if (threads != NULL) {
        count = thread_statistics(threads, THREADS_MAX);
        json_number(json, "thread_count", count);
        write_threads(json, threads, count < THREADS_MAX ? count : THREADS_MAX);
        heap_free(threads);
    }
    json_end_object(json);
}

static void write_memory(struct json *json)
{
    struct network_heap_statistics heap;
    struct memory_statistics memory;

    memory_statistics(&memory);
    network_heap_statistics(&heap);
    json_object(json, "memory");
    json_number(json, "ram", memory.ram_bytes);
    json_number(json, "image", memory.image_bytes);
    json_number(json, "in_use", memory.image_bytes + memory.page_used_bytes);
    json_number(json, "pages_used", memory.page_used_bytes);
    json_number(json, "pages_free", memory.page_free_bytes);
    json_number(json, "heap", memory.heap_total_bytes);
    json_number(json, "heap_used", memory.heap_used_bytes);
    json_number(json, "heap_peak", memory.heap_peak_bytes);
    json_number(json, "heap_failures", memory.heap_failures);
    json_object(json, "network_heap");
    json_number(json, "limit", heap.limit_bytes);
    json_number(json, "used", heap.used_bytes);
    json_number(json, "peak", heap.peak_bytes);
    json_number(json, "failures", heap.failures);
    json_number(json, "packets", heap.packets);
    json_number(json, "packets_free", heap.packets_free);
    json_end_object(json);
    json_end_object(json);
}

static unsigned count_connections(const struct tcp_pcb *list, bool half_open)
{
    unsigned count = 0;

    for (const struct tcp_pcb *pcb = list; pcb != NULL; pcb = pcb->next) {
        count += half_open == (pcb->state == SYN_RCVD) ? 1u : 0u;
    }
    return count;
}

static void write_connection(struct json *json, const struct tcp_pcb *pcb)
{
    char remote[IPADDR_STRLEN_MAX];

    (void)ipaddr_ntoa_r(&pcb->remote_ip, remote, sizeof(remote));
    json_object(json, NULL);
    json_number(json, "port", pcb->local_port);
    json_text(json, "peer", remote);
    json_number(json, "peer_port", pcb->remote_port);
    json_text(json, "state", tcp_debug_state_str(pcb->state));
    json_number(json, "unread", TCP_WND_MAX(pcb) - pcb->rcv_wnd);
    json_number(json, "unsent", TCP_SND_BUF - pcb->snd_buf);
    json_end_object(json);
}

static void write_tcp(struct json *json)
{
    unsigned listed = 0;

    json_object(json, "tcp");
    json_number(json, "open", count_connections(tcp_active_pcbs, false));
    json_number(json, "half_open", count_connections(tcp_active_pcbs, true));
    json_number(json, "time_wait", count_connections(tcp_tw_pcbs, false));
    json_number(json, "segments_received", lwip_stats.tcp.recv);
    json_number(json, "segments_sent", lwip_stats.tcp.xmit);
    json_number(json, "dropped", lwip_stats.tcp.drop);
    json_number(json, "bad_checksums", lwip_stats.tcp.chkerr);
    json_number(json, "bad_lengths", lwip_stats.tcp.lenerr);
    json_number(json, "no_memory", lwip_stats.tcp.memerr);
    json_array(json, "connections");
    for (const struct tcp_pcb *pcb = tcp_active_pcbs; pcb != NULL && listed < CONNECTIONS_MAX;
         pcb = pcb->next, listed++) {
        write_connection(json, pcb);
    }
    json_end_array(json);
    json_end_object(json);
}

static void write_services(struct json *json)
{
    struct service_statistics services[SERVICE_COUNT];

    services_statistics(services);
    json_array(json, "services");
    for (unsigned i = 0; i < SERVICE_COUNT; i++) {
        json_object(json, NULL);
        json_text(json, "name", services[i].name);
        json_number(json, "port", services[i].port);
        json_number(json, "open", services[i].open);
        json_number(json, "accepted", services[i].accepted);
        json_number(json, "refused", services[i].refused);
        json_number(json, "bytes", services[i].bytes);
        json_end_object(json);
    }
    json_end_array(json);
}

/* Connections that survive a restart (kernel/connection.h). */
static void write_kept(struct json *json)
{
    struct connection_statistics kept;

    connection_statistics(&kept);
    json_object(json, "kept_connections");
    json_number(json, "slots", kept.slots);
    json_number(json, "open", kept.kept);
    json_number(json, "restored", kept.restored);
    json_number(json, "dropped", kept.dropped);
    json_number(json, "not_kept", kept.ordinary);
    json_end_object(json);
}

size_t status_write(char *text, size_t capacity)
{
    struct json json;

    json_init(&json, text, capacity);
    json_object(&json, NULL);
    json_number(&json, "uptime_ns", time_now());
    write_network(&json);
    write_scheduler(&json);
    status_write_vcpus(&json);
    write_memory(&json);
    write_tcp(&json);
    write_services(&json);
    write_kept(&json);
    json_end_object(&json);
    return json.overflow ? 0 : json.length;
}
