/* SPDX-License-Identifier: BSD-2-Clause */
/* See virtio_lwip.h. */
#include "core_lock.h"
#include "discovery.h"
#include "heap.h"
#include "lwip/dhcp.h"
#include "lwip/tcpip.h"
#include "random.h"
#include "virtio_lwip.h"
#include <rtems/counter.h>
#include <unistd.h>

#define RECEIVE_BUFFERS      8u
#define RECEIVE_BUFFERS_MAX  32u
#define RECEIVE_POOL         (TCP_WND / TCP_MSS + 18u)
#define BOTTOM_HALF_PRIORITY 100 /* where RTEMS's own network stacks have theirs */

/* Owned by virtio_lwip_start(). */
static struct virtio_network_device device;
static struct virtio_netif *interface;

static bool parse_addresses(const struct virtio_lwip_configuration *configuration,
                            ip4_addr_t *address, ip4_addr_t *netmask, ip4_addr_t *gateway)
{
    ip4_addr_set_zero(gateway);
    return configuration->netmask != NULL && ip4addr_aton(configuration->address, address) &&
           ip4addr_aton(configuration->netmask, netmask) && ip4_addr_netmask_valid(netmask->addr) &&
           (configuration->gateway == NULL || ip4addr_aton(configuration->gateway, gateway));
}

static void lwip_started(void *started)
{
    sys_sem_signal(started);
}

static void start_lwip(void)
{
    rtems_counter_ticks ticks = rtems_counter_read();
    uint8_t entropy[16];
    sys_sem_t started;

    if (getentropy(entropy, sizeof(entropy)) == 0) {
        network_random_seed(entropy, sizeof(entropy));
    }
    network_random_seed(&ticks, sizeof(ticks));
    network_random_seed(&device, sizeof(device));
    network_heap_init();
    (void)sys_sem_new(&started, 0);
    tcpip_init(lwip_started, &started);
    (void)sys_sem_wait(&started);
    sys_sem_free(&started);
}

static struct virtio_netif *create_interface(const struct virtio_lwip_configuration *configuration,
                                             const char **reason)
{
    struct virtio_netif_parameters parameters = {
        .driver = configuration->driver,
        .rx_pool = configuration->rx_pool == 0 ? RECEIVE_POOL : configuration->rx_pool,
        .priority = BOTTOM_HALF_PRIORITY,
    };

    if (parameters.driver.rx_buffers == 0) {
        parameters.driver.rx_buffers = RECEIVE_BUFFERS;
        parameters.driver.rx_buffers_max = RECEIVE_BUFFERS_MAX;
    }
    return virtio_netif_create(&device, &parameters, reason);
}

struct virtio_netif *virtio_lwip_start(const struct virtio_lwip_configuration *configuration,
                                       const char **reason)
{
    ip4_addr_t address;
    ip4_addr_t netmask;
    ip4_addr_t gateway;
    struct netif *netif;
    bool started = true;

    *reason = "the address, netmask or gateway is not like 10.0.2.15, 255.255.255.0, 10.0.2.2";
    if (configuration->address != NULL &&
        !parse_addresses(configuration, &address, &netmask, &gateway)) {
        return NULL;
    }
    *reason = "the board has no virtio network device";
    if (!virtio_find_network(configuration->board, configuration->device, &device)) {
        return NULL;
    }
    start_lwip();
    interface = create_interface(configuration, reason);
    if (interface == NULL) {
        return NULL;
    }
    netif = virtio_netif_interface(interface);
    network_lock();
    netif_set_default(netif);
    netif_set_up(netif);
    netif_create_ip6_linklocal_address(netif, 1);
    netif_set_ip6_autoconfig_enabled(netif, 1);
    if (configuration->address != NULL) {
        netif_set_addr(netif, &address, &netmask, &gateway);
    } else {
        started = dhcp_start(netif) == ERR_OK;
    }
    network_unlock();
    *reason = "DHCP cannot be started";
    return started ? interface : NULL;
}

struct virtio_netif *virtio_lwip_interface(void)
{
    return interface;
}
