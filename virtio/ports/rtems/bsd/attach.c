/* SPDX-License-Identifier: BSD-2-Clause */
/* The interface: attach, start, bottom half, restart of a device that failed (virtio_bsdnet.h). */
#include "bsdnet_private.h"
#include "virtio/net_control.h"
#include <netinet/in_systm.h>
#include <netinet/ip.h>
#include <netinet/ip_var.h>
#include <rtems/bspIo.h>

/* tcp_input() and udp_input() lay a structure with two pointers over the IP header. Where these are
 * wider than 32 bits they find no checksum right, and only ICMP works. */
_Static_assert(sizeof(struct ipovly) == sizeof(struct ip),
               "the legacy stack needs an ABI with 32-bit pointers, such as BSP a53_ilp32_qemu");

/* Of the task's system events; those of the stack are others. */
#define WAKE_EVENT RTEMS_EVENT_1

#define STACK_BYTES 8192
#define TX_RING     64u
#define RETRY_MAX   (10 * (rtems_interval)hz)
#define HEALTHY_TIME \
    UINT64_C(10000000000) /* a device that ran so long before it failed starts at once */

/* That stack has no use for offloads, nor for frames in several buffers. */
#define FEATURES_OFF                                                              \
    (VIRTIO_NET_F_CSUM | VIRTIO_NET_F_GUEST_CSUM | VIRTIO_NET_F_HOST_TSO4 |       \
     VIRTIO_NET_F_HOST_TSO6 | VIRTIO_NET_F_GUEST_TSO4 | VIRTIO_NET_F_GUEST_TSO6 | \
     VIRTIO_NET_F_MRG_RXBUF)

static struct virtio_bsdnet *interfaces; /* all there ever were; under the network's semaphore */

static void wake(void *context)
{
    struct virtio_bsdnet *interface = context;

    if (interface->bottom_half != 0) {
        (void)rtems_bsdnet_event_send(interface->bottom_half, WAKE_EVENT);
    }
}

static const struct virtio_net_operations operations = {
    .receive_buffer = receive_take,
    .return_buffer = receive_return,
    .signal = wake,
};

/* Addresses are announced when the device asks for it. */
static void announce(struct virtio_bsdnet *interface)
{
    struct ifaddr *address = interface->arpcom.ac_if.if_addrlist;

    for (; address != NULL; address = address->ifa_next) {
        if (address->ifa_addr->sa_family == AF_INET) {
            arp_ifinit(&interface->arpcom, address);
        }
    }
}

/* For the stack an interface without link does not run: its senders are told at once. */
static void set_link(struct ifnet *ifp, bool up)
{
    if (up != ((ifp->if_flags & IFF_RUNNING) != 0)) {
        ifp->if_flags ^= IFF_RUNNING;
        printk("vtn%d: link %s\n", ifp->if_unit, up ? "up" : "down");
    }
}

static void look_at_link(struct virtio_bsdnet *interface)
{
    bool up = virtio_net_link_up(interface->net);

    set_link(&interface->arpcom.ac_if, up);
    if (up && virtio_net_announce_asked(interface->net)) {
        announce(interface);
    }
}

/* What arrived before the interrupt was connected is taken in, and acknowledged: an edge-triggered
 * line that is high already would never rise again. */
static void catch_up(struct virtio_bsdnet *interface)
{
    uint64_t state = virtio_platform_lock();

    (void)virtio_net_interrupt(interface->net);
    virtio_platform_unlock(state);
    wake(interface);
}

static struct virtio_net *create_driver(struct virtio_bsdnet *interface, const char **reason)
{
    struct virtio_net *net;

    *reason = "it is gone";
    if (!virtio_network_restore(&interface->device) ||
        !virtio_network_probe(&interface->device, reason)) {
        return NULL;
    }
    receive_fill(interface, interface->parameters.rx_buffers);
    net = virtio_net_create(interface->device.transport, &interface->parameters, &operations,
                            interface, reason);
    if (net != NULL && !virtio_network_connect(&interface->device, net)) {
        *reason = "its interrupt cannot be attached";
        if (virtio_net_stop(net)) {
            virtio_net_free(net);
        }
        net = NULL;
    }
    return net;
}

/* An interface that was given none takes the device's address, or makes one up of the time. */
static void adopt_address(struct virtio_bsdnet *interface)
{
    static const uint8_t none[ETHER_ADDR_LEN];
    uint8_t *address = interface->arpcom.ac_enaddr;
    uint64_t now = virtio_platform_now();

    if (memcmp(address, none, sizeof(none)) == 0 && !virtio_net_mac(interface->net, address)) {
        memcpy(address, &now, sizeof(none));
        address[0] = 0x02; /* one station, of local making */
    }
}

bool bsdnet_start(struct virtio_bsdnet *interface)
{
    const char *reason = "it does not confirm a reset";

    if (interface->running) {
        return true;
    }
    if (interface->net == NULL || bsdnet_stop(interface)) {
        interface->net = create_driver(interface, &reason);
        interface->running = interface->net != NULL;
    }
    if (!interface->running) {
        if (reason != interface->reported) {
            printk("vtn: the device cannot be started: %s\n",
                   reason == NULL ? "it is another one" : reason);
        }
        interface->reported = reason;
        return false;
    }
    interface->reported = NULL;
    interface->started = virtio_platform_now();
    adopt_address(interface);
    control_filter(interface);
    look_at_link(interface);
    catch_up(interface);
    return true;
}

bool bsdnet_stop(struct virtio_bsdnet *interface)
{
    interface->running = false;
    set_link(&interface->arpcom.ac_if, false);
    interface->arpcom.ac_if.if_flags &= ~IFF_OACTIVE;
    (void)virtio_network_connect(&interface->device, NULL);
    /* What the device has is its own until it confirms a reset (VIRTIO 1.3, 2.4.1). */
    if (!virtio_network_restore(&interface->device) || !virtio_net_stop(interface->net)) {
        return false;
    }
    transmit_take_back(interface);
    virtio_net_free(interface->net);
    interface->net = NULL;
    receive_empty(interface);
    return true;
}

static void wait_longer(struct virtio_bsdnet *interface)
{
    interface->retry = min(2 * interface->retry, RETRY_MAX);
}

/* The device broke: it has to be stopped, and is started again after a pause. */
static void fail(struct virtio_bsdnet *interface)
{
    if (virtio_platform_now() - interface->started >= HEALTHY_TIME) {
        interface->retry = 1;
    } else {
        wait_longer(interface);
    }
    (void)bsdnet_stop(interface);
}

/* The stack's task, of the same priority, takes in what was delivered. */
static void let_others_run(void)
{
    rtems_bsdnet_semaphore_release();
    (void)rtems_task_wake_after(RTEMS_YIELD_PROCESSOR);
    rtems_bsdnet_semaphore_obtain();
}

/* Everything that the device and the interrupt handler have left to do. */
static void serve(struct virtio_bsdnet *interface)
{
    bool more;

    do {
        receive_batch(interface);
        transmit_start(&interface->arpcom.ac_if);
        if (virtio_net_link_changed(interface->net) && virtio_net_broken(interface->net) == NULL) {
            look_at_link(interface);
        }
        more = virtio_net_bottom_half(interface->net);
        if (more) {
            let_others_run();
        }
    } while (more && interface->running);
    if (interface->running) {
        virtio_network_attend(&interface->device);
        if (virtio_net_broken(interface->net) != NULL) {
            fail(interface);
        }
    }
}

static bool is_wanted(const struct virtio_bsdnet *interface)
{
    return interface->attached && (interface->arpcom.ac_if.if_flags & IFF_UP) != 0;
}

/* A device that failed is started anew, however often that takes; of one that nobody wants only the
 * memory is taken back. */
static void recover(struct virtio_bsdnet *interface)
{
    if (!is_wanted(interface)) {
        if (interface->net != NULL && !bsdnet_stop(interface)) {
            wait_longer(interface);
        }
    } else if (bsdnet_start(interface)) {
        interface->restarts++;
        printk("vtn%d: the device was restarted\n", interface->arpcom.ac_if.if_unit);
    } else {
        wait_longer(interface);
    }
}

/* A device that was reset by somebody else, or is gone, does not interrupt: it is looked at once a
 * second. So that the device has buffers soon when there are mbufs again, they are asked for at
 * each tick. */
static rtems_interval patience(const struct virtio_bsdnet *interface)
{
    if (interface->running) {
        return interface->dry ? 1 : (rtems_interval)hz;
    }
    return interface->net != NULL || is_wanted(interface) ? interface->retry : RTEMS_NO_TIMEOUT;
}

static void bottom_half(void *argument)
{
    struct virtio_bsdnet *interface = argument;

    for (;;) {
        rtems_event_set events;
        rtems_status_code status = rtems_bsdnet_event_receive(
            WAKE_EVENT, RTEMS_WAIT | RTEMS_EVENT_ANY, patience(interface), &events);

        if (!interface->running) {
            recover(interface);
            continue;
        }
        if (status == RTEMS_TIMEOUT) {
            virtio_net_watch(interface->net);
        }
        serve(interface);
    }
}

/* if_init. */
static void init(void *argument)
{
    (void)bsdnet_start(argument);
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

static bool configure(struct virtio_bsdnet *interface, const struct rtems_bsdnet_ifconfig *config)
{
    uint16_t ring = config->xbuf_count > 0 ? (uint16_t)config->xbuf_count : TX_RING;

    interface->parameters.rx_buffers = config->rbuf_count > 0 ? (uint16_t)config->rbuf_count : 8;
    interface->parameters.tx_ring = ring;
    interface->parameters.send_queue = ring; /* never too short: there are no more packets */
    interface->parameters.features_off = FEATURES_OFF;
    interface->ignore_broadcast = config->ignore_broadcast != 0;
    interface->retry = 1;
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
    int mtu = (int)min(virtio_net_mtu(interface->net), ETHERMTU);

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
    interface->bottom_half = rtems_bsdnet_newproc("vtn", STACK_BYTES, bottom_half, interface);
    wake(interface);
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
        bsdnet_start(interface)) {
        add_interface(interface, config, name);
        return interface;
    }
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
            (void)bsdnet_stop(interface); /* the bottom half tries on */
        }
        wake(interface);
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
