/* SPDX-License-Identifier: BSD-2-Clause */
/* See vnetstat.h. */
#include "vnetstat.h"
#include "core_lock.h"
#include "lwip/ip4_addr.h"
#include "virtio_netif.h"
#include <inttypes.h>
#include <rtems/shell.h>
#include <stdio.h>

static struct virtio_netif *interface; /* set by vnetstat_add() */

struct counter {
    const char *name;
    uint64_t value;
};

static void print_counter(const char *name, uint64_t value)
{
    printf("  %-22s %12" PRIu64 "\n", name, value);
}

static void print_counters(const char *title, const struct counter *counters, size_t count)
{
    printf("%s\n", title);
    for (size_t i = 0; i < count; i++) {
        print_counter(counters[i].name, counters[i].value);
    }
}

#define PRINT(title, counters) \
    print_counters(title, counters, sizeof(counters) / sizeof((counters)[0]))

static void print_driver(const struct virtio_net_statistics *net)
{
    const struct counter receive[] = {
        {"frames", net->rx_frames},
        {"bytes", net->rx_bytes},
        {"exposed now", net->rx_exposed},
        {"times all used", net->rx_dry},
        {"no buffer", net->rx_refill_failures},
        {"bad frames", net->rx_bad},
        {"notifications", net->notifications_rx},
    };
    const struct counter transmit[] = {
        {"frames", net->tx_frames},
        {"bytes", net->tx_bytes},
        {"in flight now", net->tx_in_flight},
        {"refused", net->tx_refused},
        {"notifications", net->notifications_tx},
    };
    const struct counter interrupts[] = {
        {"interrupts", net->interrupts},
        {"spurious", net->interrupts_spurious},
        {"signals", net->signals},
        {"most descriptors in one", net->descriptors_moved_max},
        {"budget used up", net->budget_exhausted},
        {"masked", net->interrupts_masked},
        {"queues reset", net->queue_resets},
    };

    PRINT("receive", receive);
    PRINT("transmit", transmit);
    PRINT("interrupt handler", interrupts);
}

/* Prints the fates that received frames had (virtio_netif.h). */
static void print_received(const struct virtio_netif_received *received)
{
    printf("received frames\n");
    for (unsigned fate = 0; fate < VIRTIO_NETIF_FATES; fate++) {
        if (received->fate[fate] != 0) {
            print_counter(virtio_netif_fate_name(fate), received->fate[fate]);
        }
    }
}

static void print_port(const struct virtio_netif_statistics *statistics)
{
    const struct counter port[] = {
        {"receive buffers", statistics->rx_pool_blocks},
        {"free now", statistics->rx_pool_free},
        {"fewest free", statistics->rx_pool_lowest},
        {"frames copied in", statistics->rx_copied},
        {"frames dropped", statistics->rx_dropped},
        {"frames copied out", statistics->tx_copied},
        {"not sent", statistics->tx_dropped},
        {"segments joined", statistics->tx_joined},
        {"device restarts", statistics->restarts},
    };

    PRINT("lwIP", port);
}

static int run(int count, char **words)
{
    struct virtio_netif_statistics statistics;
    char address[IP4ADDR_STRLEN_MAX];
    struct netif *netif;

    (void)count;
    (void)words;
    if (interface == NULL) {
        printf("vnetstat: the network has not been started\n");
        return 1;
    }
    netif = virtio_netif_interface(interface);
    network_lock();
    virtio_netif_statistics(interface, &statistics);
    (void)ip4addr_ntoa_r(netif_ip4_addr(netif), address, sizeof(address));
    network_unlock();
    printf("%02x:%02x:%02x:%02x:%02x:%02x %s MTU %u link %s\n", netif->hwaddr[0], netif->hwaddr[1],
           netif->hwaddr[2], netif->hwaddr[3], netif->hwaddr[4], netif->hwaddr[5], address,
           netif->mtu, netif_is_link_up(netif) ? "up" : "down");
    print_driver(&statistics.driver);
    print_received(&statistics.received);
    print_port(&statistics);
    return 0;
}

bool vnetstat_add(struct virtio_netif *which)
{
    interface = which;
    return rtems_shell_add_cmd("vnetstat", "net", "counters of the virtio network driver", run) !=
           NULL;
}
