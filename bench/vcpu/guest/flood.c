/* SPDX-License-Identifier: BSD-2-Clause */
/* The network, and the port that is flooded. */
#include "kernel/network.h"
#include "kernel/print.h"
#include "kernel/time.h"
#include "lwip/tcpip.h"
#include "lwip/udp.h"
#include "vcpu_bench.h"
#include "virtio_netif.h"
#include <string.h>

#define PORT         5000u
#define FLOOD_FRAMES 200u /* received before the measurement starts */

static int network_vcpu;

static int vcpu_of_thread(const char *name)
{
    return strcmp(name, "net-bottom-half") == 0 ? network_vcpu : 0;
}

static void drop(void *argument, struct udp_pcb *port, struct pbuf *data, const ip_addr_t *address,
                 u16_t from)
{
    (void)argument;
    (void)port;
    (void)address;
    (void)from;
    (void)pbuf_free(data);
}

/* The bottom half checks the datagrams, and drops them. */
static void open_port(void)
{
    struct udp_pcb *port;

    LOCK_TCPIP_CORE();
    port = udp_new();
    if (port == NULL || udp_bind(port, IP4_ADDR_ANY, PORT) != ERR_OK) {
        fail("port");
    }
    udp_recv(port, drop, NULL);
    UNLOCK_TCPIP_CORE();
}

void start_network(int vcpu)
{
    network_vcpu = vcpu;
    vcpu_assign_by_name(vcpu_of_thread);
    if (network_start() != RESULT_OK) {
        fail("network");
    }
    open_port();
    if (thread_set_priority(thread_current(), PRIORITY_ABOVE_NETWORK + 1) != RESULT_OK) {
        fail("priority");
    }
}

uint64_t received_frames(void)
{
    struct virtio_netif_statistics statistics;

    LOCK_TCPIP_CORE();
    virtio_netif_statistics(network_interface(), &statistics);
    UNLOCK_TCPIP_CORE();
    return statistics.driver.rx_frames;
}

void wait_for_flood(void)
{
    print("vcpu: ready for the flood\n");
    while (received_frames() < FLOOD_FRAMES) {
        thread_sleep_until(time_after(NANOSECONDS_PER_MILLISECOND));
    }
}
