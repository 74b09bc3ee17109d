/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwIP on RTEMS, over a virtio network device. Applications use lwIP's headers: lwip/sockets.h has
 * the standard's names.
 *
 * The application's configuration (rtems/confdefs.h) has room for 2 tasks more, and for their
 * stacks of some 12 KiB each; CONFIGURE_UNLIMITED_OBJECTS will do. Its clock runs.
 */
#ifndef VIRTIO_RTEMS_LWIP_H
#define VIRTIO_RTEMS_LWIP_H

#include "board.h"
#include "lwip/netif.h"
#include "virtio_netif.h"

struct virtio_lwip_configuration {
    const struct virtio_rtems_board *board;
    unsigned device;   /* the board's network device: 0, the first */
    ip_addr_t address; /* IPADDR4_INIT_BYTES(10, 77, 0, 10); 0: all three by DHCP */
    ip_addr_t netmask;
    ip_addr_t gateway;
    struct virtio_netif_parameters interface; /* virtio_netif.h; priority 0: 100 */
};

/*
 * Starts lwIP, the driver and the interface. NULL: *reason is a static text that says why not.
 * Once, task context; an address by DHCP comes later (netif's status callback).
 */
struct virtio_netif *virtio_lwip_start(const struct virtio_lwip_configuration *configuration,
                                       const char **reason);

#endif
