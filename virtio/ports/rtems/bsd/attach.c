/* SPDX-License-Identifier: BSD-2-Clause */
/* The interface in the stack: configuration, attach, detach (virtio_bsdnet.h). */
#include "bsdnet_private.h"
#include <netinet/in_systm.h>
#include <netinet/ip.h>
#include <netinet/ip_var.h>
#include <rtems/bspIo.h>

/* tcp_input() and udp_input() overlay the IP header with a structure that has two pointers. With
 * pointers wider than 32 bits they find every checksum wrong, and only ICMP works. */
_Static_assert(sizeof(struct ipovly) == sizeof(struct ip),
               "the legacy stack needs an ABI with 32-bit pointers, such as BSP a53_ilp32_qemu");

#define TX_RING 64u

#define RECEIVE_BUFFERS     8u
#define RECEIVE_BUFFERS_MAX 32u
#define CLUSTERS_SHARE      16u /* expose at most one of this many of the stack's clusters */
#define SET_ASIDE           12u /* clusters for frames that arrive before the task provides new ones */

/*
 * The stack supports neither offloads nor frames in several buffers. So the interface's MTU is at
 * most 1500: MTU_MAX is that of frames in one buffer, and the stack's own SIOCSIFMTU allows no
 * larger one (ETHERMTU).
 */
#define MTU_MAX ETHERMTU

_Static_assert(VIRTIO_NET_HEADER_BYTES + sizeof(struct ether_header) + MTU_MAX <=
                   VIRTIO_NET_RECEIVE_BYTES,
               "a receive buffer holds a frame of the largest MTU");

#define FEATURES_OFF                                                              \
    (VIRTIO_NET_F_CSUM | VIRTIO_NET_F_GUEST_CSUM | VIRTIO_NET_F_HOST_TSO4 |       \
     VIRTIO_NET_F_HOST_TSO6 | VIRTIO_NET_F_GUEST_TSO4 | VIRTIO_NET_F_GUEST_TSO6 | \
     VIRTIO_NET_F_MRG_RXBUF)

static struct virtio_bsdnet *interfaces; /* never removed; network semaphore */

/* The interface's if_init function. */
static void init(void *argument)
{
    (void)device_start(argument);
}

static bool find_device(struct virtio_bsdnet *interface, const struct rtems_bsdnet_ifconfig *config,
                        int unit)
{
    const struct virtio_rtems_board *board =
        config->drv_ctrl == NULL ? &virtio_rtems_qemu_virt : config->drv_ctrl;

    if (unit < 1 || !virtio_find_network(board, (unsigned)unit - 1, &interface->device)) {
        printk("vtn: no device for %s\n", config->name);
        return false;
    }
    return true;
}

/* Sets the number of exposed buffers. If none is configured, the number starts at 8 and follows the
 * device's need, as far as the stack has clusters. */
static void set_receive_buffers(struct virtio_bsdnet *interface, int count)
{
    uint16_t most = (uint16_t)min(max(mbstat.m_clusters / CLUSTERS_SHARE, RECEIVE_BUFFERS),
                                  RECEIVE_BUFFERS_MAX);

    interface->parameters.rx_buffers = count > 0 ? (uint16_t)count : RECEIVE_BUFFERS;
    interface->parameters.rx_buffers_max = count > 0 ? (uint16_t)count : most;
    interface->set_aside =
        SET_ASIDE + min(interface->parameters.rx_buffers_max, RECEIVE_BUFFERS_MAX);
}

static bool configure(struct virtio_bsdnet *interface, const struct rtems_bsdnet_ifconfig *config)
{
    uint16_t ring = config->xbuf_count > 0 ? (uint16_t)config->xbuf_count : TX_RING;

    set_receive_buffers(interface, config->rbuf_count);
    interface->parameters.tx_ring = ring;
    interface->parameters.send_queue = ring; /* room for all packets */
    interface->parameters.features_off = FEATURES_OFF;
    interface->parameters.mtu_max = MTU_MAX;
    interface->ignore_broadcast = config->ignore_broadcast != 0;
    if (config->hardware_address != NULL) {
        memcpy(interface->arpcom.ac_enaddr, config->hardware_address, ETHER_ADDR_LEN);
    }
    interface->packets = virtio_platform_allocate(ring * sizeof(struct transmit));
    if (interface->packets == NULL) {
        printk("vtn: out of memory\n");
        return false;
    }
    for (uint16_t i = 0; i < ring; i++) {
        struct transmit *transmit = &interface->packets[i];

        transmit->packet.owner = transmit;
        transmit->next = interface->free;
        interface->free = transmit;
    }
    return true;
}

static void add_interface(struct virtio_bsdnet *interface,
                          const struct rtems_bsdnet_ifconfig *config, char *name)
{
    struct ifnet *ifp = &interface->arpcom.ac_if;
    int mtu = (int)virtio_net_mtu(interface->net);
    uint16_t offered;
    const char *reason = virtio_net_mtu_unused(interface->net, &offered);

    if (reason != NULL) {
        printk("vtn%d: MTU %u of the device is used as %d: %s\n", ifp->if_unit, offered, mtu,
               reason);
    }
    ifp->if_softc = interface;
    ifp->if_name = name;
    ifp->if_init = init;
    ifp->if_start = transmit_start;
    ifp->if_ioctl = control_command;
    ifp->if_output = ether_output;
    ifp->if_flags |= IFF_BROADCAST | IFF_SIMPLEX | IFF_MULTICAST;
    ifp->if_snd.ifq_maxlen = ifqmaxlen;
    if_attach(ifp);
    ether_ifattach(ifp);
    ifp->if_mtu = (u_long)(config->mtu > 0 && config->mtu < mtu ? config->mtu : mtu);
    interface->next = interfaces;
    interfaces = interface;
    bottom_half_start(interface);
}

static struct virtio_bsdnet *create(const struct rtems_bsdnet_ifconfig *config, char *name,
                                    int unit)
{
    struct virtio_bsdnet *interface = virtio_platform_allocate(sizeof(*interface));

    if (interface == NULL) {
        printk("vtn: out of memory\n");
        return NULL;
    }
    interface->arpcom.ac_if.if_unit = (short)unit;
    if (find_device(interface, config, unit) && configure(interface, config) &&
        device_start(interface)) {
        add_interface(interface, config, name);
        return interface;
    }
    receive_empty(interface); /* the clusters that were provided for the start */
    virtio_platform_free(interface->packets, 0);
    virtio_platform_free(interface, sizeof(*interface));
    return NULL;
}

static struct virtio_bsdnet *find(int unit)
{
    struct virtio_bsdnet *interface = interfaces;

    while (interface != NULL && interface->arpcom.ac_if.if_unit != unit) {
        interface = interface->next;
    }
    return interface;
}

int virtio_bsdnet_attach(struct rtems_bsdnet_ifconfig *config, int attaching)
{
    char *name;
    int unit = rtems_bsdnet_parse_driver_name(config, &name);
    struct virtio_bsdnet *interface = find(unit);

    if (interface == NULL && attaching && unit >= 0) {
        interface = create(config, name, unit);
    }
    if (interface == NULL) {
        return 0;
    }
    interface->attached = attaching != 0;
    if (!attaching) {
        if_down(&interface->arpcom.ac_if);
        if (interface->running) {
            (void)device_stop(interface); /* the bottom half repeats it if it fails */
        }
        bottom_half_wake(interface);
    }
    return 1;
}

bool virtio_bsdnet_statistics(int unit, struct virtio_net_statistics *statistics,
                              uint32_t *restarts)
{
    struct virtio_bsdnet *interface;
    bool running;

    rtems_bsdnet_semaphore_obtain();
    interface = find(unit);
    running = interface != NULL && interface->running;
    if (running) {
        virtio_net_statistics(interface->net, statistics);
        *restarts = interface->restarts;
    }
    rtems_bsdnet_semaphore_release();
    return running;
}
