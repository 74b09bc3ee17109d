/* SPDX-License-Identifier: BSD-2-Clause */
/* A guest of ./bulkhead bench cost: a thread that sends and receives through a socket. */
#include "bench.h"
#include "kernel/application.h"
#include "kernel/network.h"
#include "kernel/print.h"
#include "lwip/sockets.h"
#include "lwip/tcpip.h"
#include "netif_private.h"
#include "platform_memory.h"
#include "rounds.h"
#include <string.h>

static struct sockaddr_in address_of(const char *address, uint16_t port)
{
    struct sockaddr_in result;

    memset(&result, 0, sizeof(result));
    result.sin_family = AF_INET;
    result.sin_port = lwip_htons(port);
    result.sin_addr.s_addr = ipaddr_addr(address);
    return result;
}

/* Prints the memory used by the driver and by the network port for it, for ./bulkhead size. */
static void print_memory(void)
{
    struct virtio_platform_memory memory;
    struct virtio_netif_statistics statistics;

    virtio_platform_memory(&memory);
    LOCK_TCPIP_CORE();
    virtio_netif_statistics(network_interface(), &statistics);
    UNLOCK_TCPIP_CORE();
    print("cost: driver %zu private, %zu shared, %llu buffers of %zu exposed, packets of %zu\n",
          memory.private_bytes, memory.shared_bytes,
          (unsigned long long)statistics.driver.rx_exposed, RECEIVE_BLOCK_BYTES,
          sizeof(struct virtio_netif_packet));
}

int application_main(void)
{
    struct sockaddr_in own = address_of("0.0.0.0", OWN_PORT);
    struct sockaddr_in bench = address_of(BENCH_ADDRESS, BENCH_PORT);
    int socket;

    if (network_start() != RESULT_OK) {
        return 1;
    }
    print_memory();
    socket = lwip_socket(AF_INET, SOCK_DGRAM, 0);
    if (socket < 0 || lwip_bind(socket, (struct sockaddr *)&own, sizeof(own)) != 0 ||
        lwip_connect(socket, (struct sockaddr *)&bench, sizeof(bench)) != 0) {
        print("cost: no socket\n");
        return 1;
    }
    (void)rounds_serve(socket);
    print("cost: a datagram was not sent, or not received as ordered\n");
    return 1;
}
