/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts lwIP on the first virtio network device and configures addresses (kernel/network.h). */
#include "kernel/network.h"
#include "core_lock.h"
#include "discovery.h"
#include "kernel/devicetree.h"
#include "kernel/memory.h"
#include "kernel/panic.h"
#include "kernel/print.h"
#include "kernel/standby.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "lwip/dhcp.h"
#include "lwip/ip4_addr.h"
#include "lwip/netif.h"
#include "net/random_seed.h"
#include "net/service.h"
#include "random.h"
#include "virtio/driver_choice.h"
#include "virtio_netif.h"
#include <arch/instructions.h>
#include <string.h>

#define BOTTOM_HALF_PRIORITY 48

/* Written by network_start(); `announced` by lwIP's callback for changes of the interface. */
static struct {
    struct virtio_network_device device;
    struct virtio_netif *interface;
    void (*prepare)(void); /* network_at_start() */
    bool static_address;
    bool announced; /* the IPv4 address was printed */
} network;

static void print_start(struct virtio_netif *interface)
{
    const uint8_t *mac = virtio_netif_interface(interface)->hwaddr;

    print("net: %02x:%02x:%02x:%02x:%02x:%02x virtio-net over %s (%s), features 0x%llx\n", mac[0],
          mac[1], mac[2], mac[3], mac[4], mac[5], network.device.bus, network.device.interrupts,
          (unsigned long long)virtio_netif_features(interface));
}

static void print_memory(void)
{
    struct memory_statistics memory;

    memory_statistics(&memory);
    print("boot: ram %zu bytes in use\n", memory.image_bytes + memory.page_used_bytes);
}

/* Called by lwIP at every change of an address. Core lock held. */
static void interface_changed(struct netif *netif)
{
    char address[IP4ADDR_STRLEN_MAX];
    char mask[IP4ADDR_STRLEN_MAX];
    char gateway[IP4ADDR_STRLEN_MAX];

    if (ip4_addr_isany_val(*netif_ip4_addr(netif))) {
        network.announced = false;
        return;
    }
    if (network.announced) {
        return;
    }
    print("net: address %s mask %s gateway %s\n",
          ip4addr_ntoa_r(netif_ip4_addr(netif), address, sizeof(address)),
          ip4addr_ntoa_r(netif_ip4_netmask(netif), mask, sizeof(mask)),
          ip4addr_ntoa_r(netif_ip4_gw(netif), gateway, sizeof(gateway)));
    if (!network.static_address) {
        print("boot: dhcp after %llu ns\n", (unsigned long long)time_now());
    }
    print_memory();
    network.announced = true;
}

/* Restarts if the device has moved to the other partition. */
static void leave_lost_device(void)
{
    if (standby_has_lost_function()) {
        print("net: the device has moved to the other partition: this one becomes its standby\n");
        machine_restart();
    }
}

static void link_changed(struct netif *netif)
{
    print("net: link %s\n", netif_is_link_up(netif) ? "up" : "down");
    if (!netif_is_link_up(netif)) {
        leave_lost_device();
    }
}

/* Parses "10.0.2.15/24,10.0.2.2", where ",GATEWAY" is optional. Changes `text`. Returns false if it
 * has another form. */
static bool parse_address(char *text, ip4_addr_t *address, ip4_addr_t *mask, ip4_addr_t *gateway)
{
    char *comma = strchr(text, ',');
    char *slash = strchr(text, '/');
    unsigned bits = 0;

    ip4_addr_set_zero(gateway);
    if (comma != NULL) {
        *comma = '\0';
        if (ip4addr_aton(comma + 1, gateway) == 0) {
            return false;
        }
    }
    if (slash == NULL || slash[1] == '\0') {
        return false;
    }
    *slash = '\0';
    for (const char *digit = slash + 1; *digit != '\0'; digit++) {
        if (*digit < '0' || *digit > '9' || bits > 32) {
            return false;
        }
        bits = 10 * bits + (unsigned)(*digit - '0');
    }
    if (bits == 0 || bits > 32 || ip4addr_aton(text, address) == 0) {
        return false;
    }
    ip4_addr_set_u32(mask, lwip_htonl(UINT32_MAX << (32 - bits)));
    return true;
}

static void start_ipv4(struct netif *netif)
{
    char text[64] = "dhcp";
    ip4_addr_t address;
    ip4_addr_t mask;
    ip4_addr_t gateway;

    (void)boot_argument("ip", text, sizeof(text));
    if (strcmp(text, "dhcp") != 0) {
        if (parse_address(text, &address, &mask, &gateway)) {
            network.static_address = true;
            netif_set_addr(netif, &address, &mask, &gateway);
            return;
        }
        print("net: boot argument ip is neither dhcp nor ADDRESS/BITS[,GATEWAY]: dhcp is used\n");
    }
    if (dhcp_start(netif) != ERR_OK) {
        print("net: dhcp cannot be started\n");
    }
}

static void start_addresses(struct virtio_netif *interface)
{
    struct netif *netif = virtio_netif_interface(interface);

    network_lock();
    netif_set_status_callback(netif, interface_changed);
    netif_set_link_callback(netif, link_changed);
    virtio_netif_set_up(interface);
    start_ipv4(netif);
    network_unlock();
}

/* When the polled driver takes the place of the ordinary one. */
static void read_alternative(struct virtio_netif_alternative *alternative)
{
    char text[16] = "";

    (void)boot_argument("net_alternative", text, sizeof(text));
    if (strcmp(text, "polled") == 0) {
        alternative->failures =
            (uint16_t)boot_argument_number("net_failures", 3, 1, VIRTIO_FAILURES_MAX);
        alternative->window = NANOSECONDS_PER_MILLISECOND *
                              boot_argument_number("net_failure_window", 10000, 1, 86400000);
        alternative->period = NANOSECONDS_PER_MICROSECOND *
                              boot_argument_number("net_polled_period", 1000, 50, 1000000);
        alternative->retry =
            NANOSECONDS_PER_MILLISECOND * boot_argument_number("net_retry", 60000, 0, 86400000);
    } else if (text[0] != '\0') {
        print("net: boot argument net_alternative is not polled: the driver is never replaced\n");
    }
}

static void read_parameters(struct virtio_netif_parameters *parameters)
{
    struct virtio_net_parameters *driver = &parameters->driver;

    memset(parameters, 0, sizeof(*parameters));
    driver->rx_buffers = (uint16_t)boot_argument_number("rx_buffers", 0, 1, 1024);
    driver->rx_buffers_max = (uint16_t)boot_argument_number("rx_buffers_max", 0, 1, 1024);
    driver->tx_ring = (uint16_t)boot_argument_number("tx_ring", 256, 2, 1024);
    driver->interrupt_budget = (uint16_t)boot_argument_number("interrupt_budget", 64, 1, 1024);
    driver->deferred = boot_argument_number("net_deferred", 0, 0, 1) != 0;
    if (boot_argument_number("net_measure", 0, 0, 1) != 0) {
        if (!arch_instructions_start()) {
            print("net: this processor's instructions cannot be counted\n");
        }
    }
    driver->features_off = boot_argument_number("features_off", 0, 0, UINT64_MAX);
    parameters->rx_pool = (uint32_t)boot_argument_number("rx_pool", 0, 16, 8192);
    parameters->poll = (uint32_t)boot_argument_number("net_poll", 1000, 0, 1000000);
    parameters->priority = (int)boot_argument_number(
        "net_priority", BOTTOM_HALF_PRIORITY, THREAD_PRIORITY_LOWEST, THREAD_PRIORITY_HIGHEST);
    read_alternative(&parameters->alternative);
}

void network_at_start(void (*prepare)(void))
{
    network.prepare = prepare;
}

enum result network_start(void)
{
    struct virtio_netif_parameters parameters;
    const char *reason = "";

    standby_wait();
    if (virtio_find_network(0, &network.device) != RESULT_OK) {
        leave_lost_device();
        print("net: no virtio network device\n");
        return RESULT_NOT_FOUND;
    }
    random_seed_collect();
    network_random_seed(&network.device, sizeof(network.device));
    virtio_netif_start_lwip();
    read_parameters(&parameters);
    if (parameters.driver.deferred) {
        network.device.deferred = true;
        network_serve_interrupts();
    }
    network.interface = virtio_netif_create(&network.device, &parameters, &reason);
    if (network.interface == NULL) {
        leave_lost_device();
        print("net: the virtio network device cannot be driven: %s\n", reason);
        return RESULT_INVALID;
    }
    network_random_seed(virtio_netif_interface(network.interface)->hwaddr, NETIF_MAX_HWADDR_LEN);
    print_start(network.interface);
    if (network.prepare != NULL) {
        network.prepare();
    }
    start_addresses(network.interface);
    leave_lost_device(); /* before its link came up, so that no change of it tells */
    return RESULT_OK;
}

struct virtio_netif *network_interface(void)
{
    return network.interface;
}

const char *network_bus(void)
{
    return network.interface == NULL ? "" : network.device.bus;
}

const char *network_interrupts(void)
{
    return network.interface == NULL ? "" : network.device.interrupts;
}
