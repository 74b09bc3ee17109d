/* SPDX-License-Identifier: BSD-2-Clause */
/* See virtio_lwip.h. */
#include "discovery.h"
#include "kernel/sync.h"
#include "kernel/time.h"
#include "lwip/dhcp.h"
#include "lwip/tcpip.h"
#include "net/core_lock.h"
#include "net/heap.h"
#include "net/random.h"
#include "virtio_lwip.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECEIVE_BUFFERS      8u
#define RECEIVE_BUFFERS_MAX  32u
#define RECEIVE_POOL         (TCP_WND / TCP_MSS + 18u)
#define BOTTOM_HALF_PRIORITY 48u
#define PREFIX_BITS          32

/* Owned by virtio_lwip_start(). */
static struct virtio_network_device device;
static struct virtio_netif *interface;

struct addresses {
    ip4_addr_t address;
    ip4_addr_t mask;
    ip4_addr_t gateway;
};

static bool parse_addresses(const struct virtio_lwip_configuration *configuration,
                            struct addresses *addresses)
{
    char text[IP4ADDR_STRLEN_MAX] = "";
    const char *slash = strchr(configuration->address, '/');
    char *end = NULL;
    unsigned long bits;

    if (slash == NULL || (size_t)(slash - configuration->address) >= sizeof(text)) {
        return false;
    }
    memcpy(text, configuration->address, (size_t)(slash - configuration->address));
    bits = strtoul(slash + 1, &end, 10);
    ip4_addr_set_zero(&addresses->gateway);
    if (bits == 0 || bits > PREFIX_BITS || *end != '\0' ||
        ip4addr_aton(text, &addresses->address) == 0 ||
        (configuration->gateway != NULL &&
         ip4addr_aton(configuration->gateway, &addresses->gateway) == 0)) {
        return false;
    }
    ip4_addr_set_u32(&addresses->mask, lwip_htonl(UINT32_MAX << (PREFIX_BITS - bits)));
    return true;
}

static void seed_random(void)
{
    uint8_t seed[16];

    if (getentropy(seed, sizeof(seed)) == 0) {
        network_random_seed(seed, sizeof(seed));
    }
    network_random_seed(&device, sizeof(device));
}

static void lwip_started(void *started)
{
    (void)semaphore_post(started);
}

static void start_lwip(void)
{
    struct semaphore started;

    seed_random();
    network_heap_init();
    semaphore_init(&started, 0, 1);
    tcpip_init(lwip_started, &started);
    (void)semaphore_wait(&started, DEADLINE_NONE);
}

static void read_parameters(const struct virtio_lwip_configuration *configuration,
                            struct virtio_netif_parameters *parameters)
{
    struct virtio_net_parameters *driver = &parameters->driver;

    *parameters = (struct virtio_netif_parameters){.driver = configuration->driver,
                                                   .rx_pool = configuration->rx_pool,
                                                   .priority = BOTTOM_HALF_PRIORITY};
    if (driver->rx_buffers == 0) {
        driver->rx_buffers = RECEIVE_BUFFERS;
        driver->rx_buffers_max = RECEIVE_BUFFERS_MAX;
    }
    if (parameters->rx_pool == 0) {
        parameters->rx_pool = RECEIVE_POOL;
    }
}

static bool start_addresses(struct netif *netif, const struct addresses *addresses)
{
    bool started = true;

    network_lock();
    netif_set_default(netif);
    netif_set_up(netif);
    netif_create_ip6_linklocal_address(netif, 1);
    netif_set_ip6_autoconfig_enabled(netif, 1);
    if (addresses != NULL) {
        netif_set_addr(netif, &addresses->address, &addresses->mask, &addresses->gateway);
    } else {
        started = dhcp_start(netif) == ERR_OK;
    }
    network_unlock();
    return started;
}

struct virtio_netif *virtio_lwip_start(const struct virtio_lwip_configuration *configuration,
                                       const char **reason)
{
    struct virtio_netif_parameters parameters;
    struct addresses addresses;

    *reason = "the address is not like 10.0.2.15/24, or the gateway not like 10.0.2.2";
    if (configuration->address != NULL && !parse_addresses(configuration, &addresses)) {
        return NULL;
    }
    *reason = "the board has no virtio network device";
    if (virtio_find_network(configuration->board, configuration->device, &device) != RESULT_OK) {
        return NULL;
    }
    start_lwip();
    read_parameters(configuration, &parameters);
    interface = virtio_netif_create(&device, &parameters, reason);
    if (interface == NULL) {
        return NULL;
    }
    *reason = "DHCP cannot be started";
    if (!start_addresses(virtio_netif_interface(interface),
                         configuration->address == NULL ? NULL : &addresses)) {
        return NULL;
    }
    return interface;
}

struct virtio_netif *virtio_lwip_interface(void)
{
    return interface;
}
