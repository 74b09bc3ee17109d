/* SPDX-License-Identifier: BSD-2-Clause */
/* The start of lwIP, the same on every system (virtio_netif.h). */
#include "heap.h"
#include "lwip/sys.h"
#include "lwip/tcpip.h"
#include "receive_window.h"
#include "virtio_netif.h"

/* Called in lwIP's thread, with the network lock held. */
static void finish_start(void *started)
{
    network_window_init();
    sys_sem_signal(started);
}

void virtio_netif_start_lwip(void)
{
    sys_sem_t started;

    network_heap_init();
    (void)sys_sem_new(&started, 0);
    tcpip_init(finish_start, &started);
    (void)sys_sem_wait(&started);
    sys_sem_free(&started);
}

void virtio_netif_set_up(struct virtio_netif *interface)
{
    struct netif *netif = virtio_netif_interface(interface);

    netif_set_default(netif);
    netif_set_up(netif);
    netif_create_ip6_linklocal_address(netif, 1);
    netif_set_ip6_autoconfig_enabled(netif, 1);
}
