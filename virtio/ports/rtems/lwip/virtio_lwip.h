/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwIP on RTEMS, over a virtio network device. Applications use lwIP's headers: lwip/sockets.h
 * declares the POSIX names.
 *
 * The application's configuration (rtems/confdefs.h) must have room for 2 more tasks and for their
 * stacks of about 12 KiB each; CONFIGURE_UNLIMITED_OBJECTS suffices. It must include the clock
 * driver.
 */
#ifndef VIRTIO_RTEMS_LWIP_H
#define VIRTIO_RTEMS_LWIP_H

#include "board.h"
#include "lwip/netif.h"
#include "virtio_netif.h"

struct virtio_lwip_configuration {
    const struct virtio_rtems_board *board;
    unsigned device;   /* index of the board's network device; 0: the first */
    ip_addr_t address; /* IPADDR4_INIT_BYTES(10, 77, 0, 10); 0: address, netmask, gateway by DHCP */
    ip_addr_t netmask;
    ip_addr_t gateway;
    struct virtio_netif_parameters interface; /* virtio_netif.h; priority 0: 100 */
};

/*
 * Starts lwIP, the driver and the interface. Returns NULL on failure; *reason is then a static
 * text. Call it once, in task context. If the address comes from DHCP, it arrives after the return,
 * and lwIP calls the netif's status callback.
 */
struct virtio_netif *virtio_lwip_start(const struct virtio_lwip_configuration *configuration,
                                       const char **reason);

#endif
