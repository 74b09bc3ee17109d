/* SPDX-License-Identifier: BSD-2-Clause */
/* The device's receive filters: the interface's address, broadcasts, and the multicast groups that
 * lwIP has joined. A device without filters, or with too small ones, delivers more frames. */
#include "core_lock.h"
#include "lwip/etharp.h"
#include "lwip/mld6.h"
#include "netif_private.h"
#include "virtio/net_control.h"
#include <string.h>

static void set_groups(const struct virtio_netif *interface, const struct group_filter *filter)
{
    bool fits = !filter->overflowed && virtio_net_set_filter(interface->net, filter->address, 0,
                                                             filter->count) == VIRTIO_NET_DONE;

    (void)virtio_net_set_receive_mode(interface->net, VIRTIO_NET_ALL_MULTICAST, !fits);
}

/* Makes the Ethernet address of an IPv6 group (RFC 2464, 7). */
static void group_address(const ip6_addr_t *group, uint8_t address[ETH_HWADDR_LEN])
{
    address[0] = 0x33;
    address[1] = 0x33;
    memcpy(&address[2], &group->addr[3], 4);
}

static unsigned find_group(const struct group_filter *filter, const uint8_t address[ETH_HWADDR_LEN])
{
    unsigned at = 0;

    while (at < filter->count && memcmp(filter->address[at], address, ETH_HWADDR_LEN) != 0) {
        at++;
    }
    return at;
}

/* Adds a group to the table. Several groups can have the same address, so each entry counts its
 * groups. */
static void add_group(struct group_filter *filter, const uint8_t address[ETH_HWADDR_LEN])
{
    unsigned at = find_group(filter, address);

    if (at == FILTER_GROUPS_MAX) {
        filter->overflowed = true;
        return;
    }
    if (at == filter->count) {
        memcpy(filter->address[at], address, ETH_HWADDR_LEN);
        filter->users[at] = 0;
        filter->count++;
    }
    filter->users[at]++;
}

static void remove_group(struct group_filter *filter, const uint8_t address[ETH_HWADDR_LEN])
{
    unsigned at = find_group(filter, address);

    if (at < filter->count && --filter->users[at] == 0) {
        filter->count--;
        memcpy(filter->address[at], filter->address[filter->count], ETH_HWADDR_LEN);
        filter->users[at] = filter->users[filter->count];
    }
}

/* lwIP's function to join and leave groups, called with the network lock held. The bottom half
 * sends the command: waiting for the device here would block every other user of the network. */
static err_t filter_group(struct netif *netif, const ip6_addr_t *group,
                          enum netif_mac_filter_action action)
{
    struct virtio_netif *interface = netif->state;
    uint8_t address[ETH_HWADDR_LEN];

    group_address(group, address);
    if (action == NETIF_ADD_MAC_FILTER) {
        add_group(&interface->groups, address);
    } else {
        remove_group(&interface->groups, address);
    }
    if (interface->groups.due == FILTER_UP_TO_DATE) {
        interface->groups.due = FILTER_GROUPS;
        sys_sem_signal(&interface->wake);
    }
    return ERR_OK;
}

void filter_init(struct virtio_netif *interface)
{
    uint8_t address[ETH_HWADDR_LEN];
    ip6_addr_t all_nodes;

    /* Every node is a member of this group without joining it (RFC 4291, 2.7.1). */
    ip6_addr_set_allnodes_linklocal(&all_nodes);
    group_address(&all_nodes, address);
    add_group(&interface->groups, address);
    netif_set_mld_mac_filter(&interface->netif, filter_group);
    filter_restart(interface);
}

void filter_restart(struct virtio_netif *interface)
{
    interface->groups.due = FILTER_ALL;
}

void filter_update(struct virtio_netif *interface)
{
    struct group_filter groups;
    uint8_t address[ETH_HWADDR_LEN];
    uint8_t mac[ETH_HWADDR_LEN];
    bool known;

    if (interface->groups.due == FILTER_UP_TO_DATE) {
        return;
    }
    network_lock();
    groups = interface->groups;
    memcpy(address, interface->netif.hwaddr, ETH_HWADDR_LEN);
    interface->groups.due = FILTER_UP_TO_DATE;
    network_unlock();
    set_groups(interface, &groups);
    if (groups.due != FILTER_ALL) {
        return;
    }
    /* The device must accept frames for the interface's address before promiscuous mode ends. */
    known = virtio_net_mac(interface->net, mac) && memcmp(mac, address, ETH_HWADDR_LEN) == 0;
    if (known || virtio_net_set_mac(interface->net, address) == VIRTIO_NET_DONE) {
        (void)virtio_net_set_receive_mode(interface->net, VIRTIO_NET_PROMISCUOUS, false);
    }
}

void filter_announce(struct virtio_netif *interface)
{
    struct netif *netif = &interface->netif;

    if (!virtio_net_announce_asked(interface->net)) {
        return;
    }
    network_lock();
    if (!ip4_addr_isany(netif_ip4_addr(netif))) {
        (void)etharp_gratuitous(netif);
    }
    mld6_report_groups(netif); /* sends frames from our address, so that switches learn it */
    network_unlock();
}
