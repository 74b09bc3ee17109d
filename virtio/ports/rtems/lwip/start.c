/* SPDX-License-Identifier: BSD-2-Clause */
/* See virtio_lwip.h. */
#include "core_lock.h"
#include "discovery.h"
#include "lwip/dhcp.h"
#include "random.h"
#include "virtio_lwip.h"
#include <unistd.h>

#define BOTTOM_HALF_PRIORITY 100 /* the priority of RTEMS's own network stacks */

static struct virtio_network_device device; /* the device that virtio_lwip_start() found */

static void seed_random(void)
{
    uint8_t entropy[16] = {0};

    (void)getentropy(
        entropy, sizeof(entropy)); /* the BSP's entropy source; at least the processor's counter */
    network_random_seed(entropy, sizeof(entropy));
    network_random_seed(&device, sizeof(device));
}

/* lwIP solicits routers on its loopback interface, too, where nobody answers, and would count these
 * packets as received frames (virtio_netif.h). Network lock held. */
static void stop_solicitations_on_loopback(void)
{
    struct netif *loopback = netif_find("lo0");

    if (loopback != NULL) {
        loopback->rs_count = 0;
    }
}

static void set_up(struct virtio_netif *interface,
                   const struct virtio_lwip_configuration *configuration)
{
    struct netif *netif = virtio_netif_interface(interface);

    network_lock();
    stop_solicitations_on_loopback();
    virtio_netif_set_up(interface);
    if (!ip_addr_isany_val(configuration->address)) {
        netif_set_addr(netif, ip_2_ip4(&configuration->address), ip_2_ip4(&configuration->netmask),
                       ip_2_ip4(&configuration->gateway));
    } else if (dhcp_start(netif) != ERR_OK) {
        virtio_platform_log("DHCP cannot be started");
    }
    network_unlock();
}

struct virtio_netif *virtio_lwip_start(const struct virtio_lwip_configuration *configuration,
                                       const char **reason)
{
    struct virtio_netif_parameters parameters = configuration->interface;
    struct virtio_netif *interface;

    *reason = "the board has no virtio network device";
    if (!virtio_find_network(configuration->board, configuration->device, &device)) {
        return NULL;
    }
    if (parameters.priority == 0) {
        parameters.priority = BOTTOM_HALF_PRIORITY;
    }
    seed_random();
    virtio_netif_start_lwip();
    interface = virtio_netif_create(&device, &parameters, reason);
    if (interface != NULL) {
        set_up(interface, configuration);
    }
    return interface;
}
